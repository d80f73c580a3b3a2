"""An open lake, as features see it: `session` is one, with a `view` of what is there and `caches`
of what is known; `drafting` is that of a transaction, `landing` commits it, `replay` does a write
again when somebody came first. `planning` turns what is asked into a plan, `staging` puts rows
where the commit will find them. `features` are what a lake has beside DuckLake: `hooks` of
commits, `formats` of mirrors.
"""
