"""Whether a lake is whole: `verify` runs the `checks` of the catalog, `deep` reads the files as
well.
"""
