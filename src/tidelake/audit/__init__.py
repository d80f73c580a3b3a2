"""Who did what to a lake: its commits, and what leaves none, in one line of time.

`trail` puts them together; `values` says what an event is. What leaves no commit is kept by
`catalog/audit.py`.
"""
