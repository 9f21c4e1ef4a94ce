"""The shell: every record of options is a command, which is imported when it is run."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Annotated, Any

import typer

import committee
from committee.shell.errors import USAGE, ShellError, explained, listed
from committee.shell.options import COMMANDS, Options

app = typer.Typer(
    name="committee",
    help="The whole life of an ensemble: generate, weigh, prune, look inside, ship.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; the console script's entry point."""
    app()


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"committee {committee.__version__}")
        raise typer.Exit


@app.callback()
def _options(
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
    """Hold the options that come before a command."""


def _add_command(kind: type[Options]) -> None:
    """Make a command of a record: `Train` runs `shell.train_command.train`."""
    name = kind.__name__.lower()

    def run(context: typer.Context, **values: Any) -> None:
        options = kind(**values)
        with explained(debug=options.debug, quiet=options.quiet):
            _refuse_more(context.args)
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
