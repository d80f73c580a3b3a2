"""Letting go of snapshots: `choose` which, `unseen` is what nobody sees then, `remove` deletes it,
`leftovers` are the files that are to be swept.
"""
