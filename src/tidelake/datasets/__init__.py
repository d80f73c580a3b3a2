"""Data sets that stay: frozen ones, and clones of tables.

`recipe` says how rows are found at both moments, `freeze` keeps them as a table that nobody changes
and writes down what they were, `data_set` is the handle that readers have, `clone` makes a table of
another one as it was.
"""
