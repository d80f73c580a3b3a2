"""Fewer files and less past: `compact`, `expire`, `cleanup`."""
