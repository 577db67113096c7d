"""The kernel: what is true whoever is asking.

It knows values and decisions. It must never know a file system, a network, a clock, randomness or the product above it:
times and ids are arguments, and whatever has to be performed is yielded as a request for an edge to perform.
"""
