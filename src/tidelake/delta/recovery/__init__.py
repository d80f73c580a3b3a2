"""A lake again, from the Delta logs of its mirrors, in a catalog that has none.

`lost` finds the tables, `past` what each version of a log did, `life` which rows of files were
there when; `replay` makes snapshots of that, `run` does it all.
"""
