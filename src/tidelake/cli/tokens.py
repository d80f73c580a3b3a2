"""Who may come in: `tokens`."""

from __future__ import annotations

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options
from tidelake.model.namespace import ROLES

_FILE = "tidelake-tokens.toml"

file_option = click.option(
    "--file", "path", metavar="FILE", default=_FILE, show_default=True, help="Where tokens are."
)


@click.group()
def tokens() -> None:
    """Make and remove tokens for `serve`.

    Tokens for `serve`: the file keeps hashes of them, and only its owner can read it.

    \b
    Example:
        tidelake tokens add ann --role write
        tidelake tokens list
    """


@tokens.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="read", show_default=True)
@click.option("--tenant", metavar="NAME", help="The tenant whose lake the token opens.")
@file_option
@global_options
@pass_options
def add(options: Options, name: str, role: str, tenant: str | None, path: str) -> None:
    """Make a token, and print it this once.

    Make a token NAME and print it: this once, since nobody can tell it again.

    \b
    Example:
        tidelake tokens add ann --role write
        tidelake tokens add dashboard --tenant acme --file tokens.toml
    """
    from tidelake.web.access import TokenFile, new_token

    text, record = new_token(name, role, tenant)
    TokenFile(path).add(record)
    if options.as_json:
        render.document({"name": name, "role": role, "tenant": tenant, "token": text})
    else:
        render.line(text)


@tokens.command()
@click.argument("name")
@file_option
@global_options
@pass_options
def remove(options: Options, name: str, path: str) -> None:
    """Forget a token. A server that runs shuts it out at once.

    \b
    Example:
        tidelake tokens remove ann
    """
    from tidelake.web.access import TokenFile

    TokenFile(path).remove(name)
    if options.as_json:
        render.document({"removed": name})
    else:
        render.line(f"removed token {name}")


@tokens.command("list")
@file_option
@global_options
@pass_options
def show_all(options: Options, path: str) -> None:
    """List tokens: names, roles and tenants.

    \b
    Example:
        tidelake tokens list
    """
    from tidelake.web.access import TokenFile

    found = TokenFile(path).records().values()
    if options.as_json:
        known = [{"name": r.name, "role": r.role, "tenant": r.tenant} for r in found]
        render.document({"tokens": known})
    else:
        render.grid(["token", "role", "tenant"], [[r.name, r.role, r.tenant] for r in found])
