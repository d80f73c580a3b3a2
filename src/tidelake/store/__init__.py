"""Bytes at URIs; knows nothing of snapshots or SQL."""
