"""Whether this machine and its lake can work together: `doctor`."""

from __future__ import annotations

from dataclasses import asdict

import click

from tidelake.cli import render
from tidelake.cli.program import Options, global_options, pass_options

_FAILED = 1


@click.command()
@global_options
@click.pass_context
@pass_options
def doctor(options: Options, context: click.Context) -> None:
    """Check this machine, and its way to the lake.

    Looks at versions, Java, Spark, extras, the catalog, permissions, the store, clocks and free
    space, and says how to fix what is wrong. Under the data path a small file is written, read and
    deleted; nothing else is changed. Ends with 1 if anything fails. `verify` checks the lake
    itself.

    \b
    Example:
        tidelake doctor
        tidelake doctor --json
    """
    from tidelake.cli.checks import lake, machine
    from tidelake.drawing.hints import in_commands

    choice = lake.LakeChoice(options.catalog, options.data_path, options.override_data_path)
    found = []
    for checks in (machine.checks(), lake.checks(choice)):
        for each in checks:
            found.append({**asdict(each), "remedy": in_commands(each.remedy)})
            if not options.as_json:
                _print(found[-1])
    ok = all(each["status"] != "fail" for each in found)
    if options.as_json:
        render.document({"ok": ok, "checks": found})
    if not ok:
        context.exit(_FAILED)


def _print(check: dict[str, str | None]) -> None:
    render.line(f"{check['status']:<4}  {check['name']}: {check['what']}")
    if check["remedy"] and check["status"] != "ok":
        render.line(f"      do: {check['remedy']}")
