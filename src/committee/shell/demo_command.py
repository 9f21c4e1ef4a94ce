"""committee demo: two committees on digits, a table and a page."""

from __future__ import annotations

from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from committee.demo import Outcome, run_demo
from committee.shell.options import Demo
from committee.shell.tables import PAGE, check_output


def demo(options: Demo) -> None:
    """Train and prune two committees, and print their errors."""
    check_output(options.output, endings=PAGE)
    outcomes = run_demo(
        seed=options.seed,
        n_jobs=options.jobs,
        verbose=not options.quiet,
        page=options.output,
    )
    if options.as_json:
        results = {o.name: asdict(o) for o in outcomes}
        options.messages.result({"report": options.output, "committees": results})
        return
    print("Two committees on scikit-learn's digits: 1,198 rows to train, 599 to test.")
    Console().print(_table(outcomes))
    print(
        "The best member is chosen on the test rows, in hindsight.\n"
        "Member error and diversity are squared distances of probabilities.\n"
        f"A page about the different models: {options.output}"
    )


def _table(outcomes: list[Outcome]) -> Table:
    """Return a table with a column for each committee."""
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
