"""The shell of `tidelake sql`: statements typed on a terminal, one after another.

`loop` asks and answers, `statements` tells where one ends, `commands` are those with a backslash,
`settings` how answers are wanted and `clocks` the moments of reads, `names` and `completion` what
Tab offers, `terminal` the line that is typed, and `pager` shows what is longer than the screen.
"""
