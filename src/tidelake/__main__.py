"""`python -m tidelake` is the `tidelake` command."""

from tidelake.cli import main

main(prog_name="tidelake")
