"""The store: one append-only, sealed chain of raw records for each identity.

Everything above reads and writes through `store.store.Store`; everything derived can be rebuilt.
"""
