"""The shell: thin commands, progress on standard error, results on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import committee
from committee.shell import (
    inspect_command,
    predict_command,
    prune_command,
    report_command,
    train_command,
)
from committee.shell import options as opt
from committee.shell.errors import explained
from committee.shell.output import Voice
from committee.shell.parts import refuse_more

if TYPE_CHECKING:
    from rich.table import Table

    from committee.demo import Outcome

app = typer.Typer(
    name="committee",
    help="The whole life of an ensemble: generate, weigh, prune, look inside, ship.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
#: Files that a pattern without quotes became are refused in our own words.
_MORE = {"allow_extra_args": True}


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


@app.command(context_settings=_MORE)
def train(
    context: typer.Context,
    data: opt.ManyData,
    target: opt.Target,
    output: opt.ModelOutput,
    members: opt.Members = 100,
    generator: opt.Generator = "bagging",
    combiner: opt.Combiner = "ep",
    estimator: opt.Estimator = "tree",
    task: opt.Task = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    scheduler: opt.Scheduler = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Train a committee on a table, and save it with its reading of the columns."""
    with explained(debug=debug, quiet=quiet):
        refuse_more(context.args)
        recipe = train_command.Recipe(
            members, generator, combiner, estimator, task, seed, jobs
        )
        voice = Voice(quiet=quiet, as_json=as_json)
        train_command.train(
            data,
            target=target,
            output=output,
            recipe=recipe,
            scheduler=scheduler,
            voice=voice,
        )


@app.command(context_settings=_MORE)
def prune(
    context: typer.Context,
    model: opt.Model,
    data: opt.ManyData,
    output: opt.ModelOutput,
    target: opt.OwnTarget = None,
    oob: opt.Oob = False,
    max_members: opt.MaxMembers = None,
    max_bytes: opt.MaxBytes = None,
    max_seconds_per_row: opt.MaxSeconds = None,
    within_se: opt.WithinSe = None,
    combiner: opt.Combiner = "ep",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    scheduler: opt.Scheduler = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Keep the members that matter, and say what that costs and gains."""
    with explained(debug=debug, quiet=quiet):
        refuse_more(context.args)
        prune_command.prune(
            model,
            data,
            output=output,
            target=target,
            combiner=combiner,
            oob=oob,
            limits={
                "max_members": max_members,
                "max_bytes": max_bytes,
                "max_seconds_per_row": max_seconds_per_row,
                "within_se": within_se,
            },
            seed=seed,
            jobs=jobs,
            scheduler=scheduler,
            voice=Voice(quiet=quiet, as_json=as_json),
        )


@app.command(context_settings=_MORE)
def predict(
    context: typer.Context,
    model: opt.Model,
    data: opt.ManyData,
    output: opt.TableOutput = "-",
    proba: opt.Proba = False,
    jobs: opt.Jobs = 1,
    scheduler: opt.Scheduler = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Predict the rows of a table; its columns may stand in any order."""
    with explained(debug=debug, quiet=quiet):
        refuse_more(context.args)
        voice = Voice(quiet=quiet, as_json=as_json)
        predict_command.predict(
            model,
            data,
            output=output,
            proba=proba,
            jobs=jobs,
            scheduler=scheduler,
            voice=voice,
        )


@app.command()
def inspect(
    model: opt.Model,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Say what a model file holds: members, weights, columns, versions."""
    with explained(debug=debug, quiet=quiet):
        inspect_command.inspect(model, voice=Voice(quiet=quiet, as_json=as_json))


@app.command()
def report(
    model: opt.Model,
    data: opt.Data,
    output: opt.PageOutput,
    target: opt.OwnTarget = None,
    jobs: opt.Jobs = 1,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Write a page about a model on rows it has not seen: one HTML file."""
    with explained(debug=debug, quiet=quiet):
        voice = Voice(quiet=quiet, as_json=as_json)
        report_command.report(
            model, data, output=output, target=target, jobs=jobs, voice=voice
        )


@app.command()
def demo(
    output: opt.PageOutput = "committee-demo.html",
    seed: Annotated[int, typer.Option(help="Seed of the split and members.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Members trained at the same time; -1 for all cores.")
    ] = -1,
) -> None:
    """Prune 25 unlike models and 100 trees on digits: a table, and a page."""
    from rich.console import Console

    from committee.demo import run_demo
    from committee.shell.tables import check_output

    console = Console()
    with explained():
        check_output(output)
        console.print(
            "Two committees on scikit-learn's digits: 1,198 rows to learn from, 599 to "
            "test."
        )
        outcomes = run_demo(seed=seed, n_jobs=jobs, verbose=True, page=output)
        console.print(_table(outcomes))
        console.print(
            "The best member is picked in hindsight, on the test rows. Member error "
            "and diversity are squared distances of probabilities."
        )
        typer.echo(f"More about the unlike models, for a browser: {output}")


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
