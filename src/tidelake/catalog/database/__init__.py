"""Databases that hold catalogs. `database` is the door that the rest of the catalog uses, `address`
finds the database that is meant, and each kind of database is a folder: `sqlite`, `duckdb`,
`postgresql`, `mysql`. Nothing outside of these folders asks which kind it is talking to.

To add one:
- make a folder with a `Backend` in its `__init__`. `backend` says what one must answer;
- `dialect`: a class that is a `Dialect`. What has no value in `Dialect` must be given one (mypy
  insists), the rest is DuckLake's way for a database with few types of its own;
- `connections`: transactions, as `Connections` and `Session` in `backend` describe them. For a
  server begin with `ServerDatabase`, in `server`;
- `failures`: what its driver raises, as a `Failure`. A change that may be tried again, because
  another writer was faster or nobody knows whether it landed, is a `lost_race`;
- list it in `backends`, its driver in the extras of `pyproject.toml` and in OWNERS of
  `tests/test_architecture.py`, and its address in the docs.
Then give the tests a server of it (`tests/servers`): those that take every database should pass.
"""
