"""Tab in your shell: `completion`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import global_options

_VARIABLE = "_TIDELAKE_COMPLETE"
_SHELLS = ("bash", "fish", "zsh")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@global_options
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets Tab complete names.

    Print the script that lets Tab complete commands, tables, columns and tags.

    \b
    Example:
        tidelake completion bash
        tidelake completion bash >> ~/.bashrc
        tidelake completion zsh >> ~/.zshrc
        tidelake completion fish > ~/.config/fish/completions/tidelake.fish
    """
    from click.shell_completion import get_completion_class

    written = get_completion_class(shell)
    assert written is not None
    render.line(written(context.find_root().command, {}, "tidelake", _VARIABLE).source())
