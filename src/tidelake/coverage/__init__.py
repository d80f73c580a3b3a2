"""Which time buckets each entity has: `declare` a series; a `question` becomes an `answer` by way
of `lookup`, which reads `records` and fills in what is missing `from_rows`; `overlap` guards
appends.
"""
