"""The lab: what a context policy would have done to recorded sessions, and at what price.

It knows recordings, policies and prices. It must never know a provider, a socket or a key: the lab cannot spend money.
"""
