"""The command line: each record of options is a command, imported when it runs."""

from __future__ import annotations

import inspect
import sys
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import committee
from committee.shell.messages import (
    USAGE,
    UsageError,
    check_input,
    explained,
    leaving_at_once,
)
from committee.shell.options import COMMANDS, Options

#: Base class of typer's errors of usage, whose place depends on the release.
_WrongCall: type[Any] = inspect.getmro(typer.BadParameter)[1]


class _Shell(TyperGroup):
    """Commands that report every error, including usage errors, in one line."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command and exit with its status."""
        with explained():
            try:
                status = super().main(*args, **settings | {"standalone_mode": False})
            except _WrongCall as error:
                raise _wrong_call(error) from None
            sys.exit(status or 0)


app = typer.Typer(
    name="committee",
    cls=_Shell,
    help="Combine, prune and ship ensembles of models.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app()


def _wrong_call(error: Any) -> UsageError:
    """Return the message of typer, with the command that lists the options."""
    message = error.format_message()
    stop = "" if message.endswith((".", "?")) else "."
    command = "committee" if error.ctx is None else error.ctx.command_path
    return UsageError(f"{message}{stop} See '{command} --help'.")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"committee {committee.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Show the help if the command is missing."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(USAGE)


def _add_command(kind: type[Options]) -> None:
    """Add the command of a record: `Train` runs `shell.train_command.train`."""
    name = kind.__name__.lower()

    def run(**values: Any) -> None:
        options = kind(**values)
        with explained(debug=options.debug, quiet=options.quiet):
            check_input(values.get("data"))
            with leaving_at_once():
                module = import_module(f"committee.shell.{COMMANDS[kind]}_command")
            getattr(module, name)(options)

    # typer reads the options from the signature, in this order: the command's own first.
    common = [f.name for f in fields(Options)]
    mine = sorted(fields(kind), key=lambda f: f.name in common)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(field) for field in mine]
    )
    app.command(name, help=kind.__doc__)(run)


def _parameter(field: Field[Any]) -> inspect.Parameter:
    """Return a field of a record as typer takes it."""
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=empty if field.default is MISSING else field.default,
        annotation=Annotated[field.type, field.metadata["typer"]],
    )


for _kind in COMMANDS:
    _add_command(_kind)
