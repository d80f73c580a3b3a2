"""Changes of tables: `rows` come, change and go, `merge` does all of it, `definitions` change what
a table is.
"""
