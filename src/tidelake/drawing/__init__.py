"""How things draw themselves, in notebooks and terminals: `sheet` says what is to be seen, `html`
and `terminal` show it, `timeline` and `rectangles` are pictures. Nothing here reads anything."""
