"""Random histories of a lake: changed step by step by Tidelake and DuckDB, and held against a plain
model of it after each step.

`trial` runs a history; `actions` has the changes, `kinds` the types of columns, `model` a lake as a
child would build it, `check` the comparison; `machine` is a trial for Hypothesis, which it needs.
"""
