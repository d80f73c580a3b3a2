"""Queries of strangers run in a process of their own, a cell.

Some of DuckDB's functions make much out of little, and some cannot be interrupted: only the
operating system can hold them to a limit of memory, and only the end of their process stops them.
`engine.CellEngine` is asked, `cell.Cell` is the process, `child` runs in it, `frames` is what they
say to each other.
"""
