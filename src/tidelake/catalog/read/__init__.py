"""What a catalog says: `snapshots` and `tags` tell the moment, `tables` and `files` what was
there.
"""
