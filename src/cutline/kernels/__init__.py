"""The few compiled loops. Everything else in cutline is plain Python and NumPy."""
