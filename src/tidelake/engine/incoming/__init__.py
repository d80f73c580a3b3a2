"""Data that is handed over: `bring` takes any kind of it, `conform` makes it fit a table's
columns.
"""
