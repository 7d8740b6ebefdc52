"""The few compiled loops. Everything else in cutline is plain Python and NumPy.

A compiled loop takes from other files nothing but arguments: the cache on disk knows when a loop's own file has
changed, not when another one has.
"""
