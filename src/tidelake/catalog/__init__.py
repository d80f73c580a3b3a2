"""The only package with catalog SQL: a DuckLake 1.0 catalog in any of four databases."""
