"""Backups: the whole catalog as one file that is a lake itself, and the lake's files if asked.

`make` writes one, `manifest` says what is in it, `bring_back` makes a lake of it again, in an empty
database of any kind, and `rewind` has its tables be what they were at a moment.
"""
