"""The face: `connect` gives a `lake`, which gives a `table` or a `transaction`; a `scan` reads."""
