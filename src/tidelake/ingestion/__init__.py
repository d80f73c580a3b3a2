"""Files that come: each is taken once, and remembered in the commit that has its rows.

`run` goes from patterns to commits: `discover` lists files, `records` knows which were taken,
`shape` makes or widens the table, `task` reads files and writes the lake's (here, or on Spark's
executors), `quarantine` keeps what could not be read.
"""
