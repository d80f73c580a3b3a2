"""Delta logs beside tables: `agenda` says what is to be published, `compose` makes the commit,
`publish` puts it there; `status` and `diff` tell how far a log is behind.
"""
