"""Point-in-time joins: `question` is what is asked, `sides` are what is joined, `join` does it."""
