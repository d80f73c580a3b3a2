"""Tenants: several users of one lake who cannot see each other.

A tenant is a name. Its tables are in ordinary schemas, `name` and `name__x`, whose files lie below
`tenants/name/`, so DuckDB sees them as it sees any. `values` says what a tenant is, `records` keeps
them, `manage` makes and drops them, `usage` counts what they have, `quota` holds commits to it,
`database_role` gives them logins to the catalog's database.
"""
