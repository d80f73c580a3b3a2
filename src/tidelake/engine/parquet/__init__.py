"""Parquet files: `writer` makes them, `footer` reads what they say of themselves, `register` takes
those of others, `deletions` and `delete_files` say which of their rows are gone.
"""
