"""The lab on many machines: sessions from wherever they lie, worked through by the workers of a Dask cluster.

It knows a scheduler's address and storage. It must never compute a figure, which the lab does on the worker as it does
here; nor know a provider or a key of one: it reaches the scheduler and the storage that it is given, and nothing else.
"""
