"""Arrow Flight SQL: the lake for any client that speaks it, as ADBC's and JDBC's drivers do.

`server.LakeServer` takes the calls; `messages` are the protocol's words, `catalog` tells what is
there, `statements` keeps what clients have begun, `answers` streams rows, and `callers` says who
asks.
"""
