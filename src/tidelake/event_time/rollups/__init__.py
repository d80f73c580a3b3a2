"""States kept for reads as of a moment: `make` them, `keep_up` with expiry, `records` in the
catalog.
"""
