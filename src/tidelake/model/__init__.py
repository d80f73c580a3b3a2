"""Frozen values and arithmetic: no I/O, no clock."""
