"""The shell: every record of options is a command, which is imported when it is run."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import committee
from committee.shell.messages import (
    USAGE,
    ShellError,
    check_input,
    explained,
    leaving_at_once,
    listed,
)
from committee.shell.options import COMMANDS, Options

#: A wrong call, wherever this release of typer has it.
_UsageError: type[Any] = inspect.getmro(typer.BadParameter)[1]


class _Shell(TyperGroup):
    """Commands whose errors are one sentence, those of the call too."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command and leave with its status."""
        with explained():
            try:
                status = super().main(*args, **settings | {"standalone_mode": False})
            except _UsageError as error:
                raise _wrong_call(error) from None
            sys.exit(status or 0)


app = typer.Typer(
    name="committee",
    cls=_Shell,
    help="The whole life of an ensemble: generate, weigh, prune, look inside, ship.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app()


def _wrong_call(error: Any) -> ShellError:
    """Return what was wrong, and where the options are listed."""
    message = error.format_message()
    stop = "" if message.endswith((".", "?")) else "."
    command = "committee" if error.ctx is None else error.ctx.command_path
    return ShellError(f"{message}{stop} See '{command} --help'.", USAGE)


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
    """Show the help where there is no command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
        raise typer.Exit(USAGE)


def _add_command(kind: type[Options]) -> None:
    """Make a command of a record: `Train` runs `shell.train_command.train`."""
    name = kind.__name__.lower()

    def run(context: typer.Context, **values: Any) -> None:
        options = kind(**values)
        with explained(debug=options.debug, quiet=options.quiet):
            _refuse_more(context.args)
            check_input(values.get("data"))
            with leaving_at_once():
                module = import_module(f"committee.shell.{name}_command")
            getattr(module, name)(options)

    # typer reads the options off the signature, in this order.
    context, *_ = inspect.signature(run, eval_str=True).parameters.values()
    common = inspect.signature(Options).parameters
    own = {
        n: p for n, p in inspect.signature(kind).parameters.items() if n not in common
    }
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [context, *own.values(), *common.values()]
    )
    settings = {"allow_extra_args": "data" in own}
    app.command(name, help=kind.__doc__, context_settings=settings)(run)


def _refuse_more(files: list[str]) -> None:
    """Refuse further files, into which a shell turns a pattern without quotes."""
    if files:
        raise ShellError(
            f"DATA is one file or one pattern, and {listed(files, limit=3)} came "
            "after it: put a pattern in quotes, such as 'rows/*.csv'.",
            USAGE,
        )


for _kind in COMMANDS:
    _add_command(_kind)
