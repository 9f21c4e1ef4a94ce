"""The shell: thin commands, progress on standard error, results on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import committee

if TYPE_CHECKING:
    from rich.table import Table

    from committee.demo import Outcome

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


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the split and members.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Members trained at the same time; -1 for all cores.")
    ] = -1,
) -> None:
    """Prune 25 unlike models and 100 trees on scikit-learn's digits, in a table."""
    from rich.console import Console

    from committee.demo import run_demo

    console = Console()
    console.print(
        "Two committees on scikit-learn's digits: 1,198 rows to learn from, 599 to "
        "test."
    )
    console.print(_table(run_demo(seed=seed, n_jobs=jobs, verbose=True)))
    console.print(
        "The best member is picked in hindsight, on the test rows. Member error and "
        "diversity are squared distances of probabilities."
    )


def _table(outcomes: list[Outcome]) -> Table:
    """Lay the outcomes out, a column for each committee."""
    from rich import box
    from rich.table import Table

    table = Table("", box=box.SIMPLE_HEAD, header_style="bold")
    for o in outcomes:
        table.add_column(o.name, justify="right")
    lines = {
        "members kept": [f"{o.n_kept} of {o.n_members}" for o in outcomes],
        "test error of the best member": [f"{o.best_member:.1%}" for o in outcomes],
        "test error of the plain mean": [f"{o.plain_mean:.1%}" for o in outcomes],
        "test error of the committee": [f"{o.committee:.1%}" for o in outcomes],
        "mean member error": [f"{o.ambiguity.member_error:.3f}" for o in outcomes],
        "- diversity": [f"{o.ambiguity.diversity:.3f}" for o in outcomes],
        "= committee's error": [f"{o.ambiguity.ensemble_error:.3f}" for o in outcomes],
        "predicting is faster by": [f"{o.speed_up:.1f} x" for o in outcomes],
        "seconds to train and prune": [f"{o.seconds:.1f}" for o in outcomes],
    }
    for label, cells in lines.items():
        table.add_row(label, *cells)
    return table
