"""The Delta format: what a log says, and how one is written."""
