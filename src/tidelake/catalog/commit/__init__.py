"""One commit: `commit` runs it, `conflict` judges it, `entries` writes its rows."""
