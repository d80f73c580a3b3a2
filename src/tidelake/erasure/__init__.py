"""The right to be forgotten: rows leave every snapshot, and all that was made of them.

`run` is the whole of it: `survey` finds what there is of a table, `task` writes files without the
rows, and proves it, `fingerprints` follows what `verify` has kept, `leftovers` looks at files that
no snapshot has, `swap` is the one commit, and `finish` what comes after it. What was done is kept
in `catalog/erasures.py`, as a chain of notes.
"""
