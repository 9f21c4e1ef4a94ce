"""Progress bars on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def track(items: Iterable[T], total: int, label: str, shown: bool) -> Iterator[T]:
    """Yield the items; if `shown`, with a progress bar and the remaining time."""
    if not shown:
        yield from items
        return
    from rich.progress import TimeRemainingColumn

    with progress_bar(TimeRemainingColumn(elapsed_when_finished=True)) as bar:
        yield from bar.track(items, total=total, description=label)


def progress_bar(*columns: Any, **options: Any) -> Any:
    """Return a progress bar of rich on standard error, with further columns."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    first = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*first, *columns, console=Console(stderr=True), **options)


def step_printer() -> Callable[[Any], None]:
    """Return a callback that prints the steps of a pruning path."""
    print("  size   LOO error   log evidence", file=sys.stderr)

    def show(step: Any) -> None:
        print(
            f"{step.size:6d}{step.loo_error:12.5g}{step.log_evidence:15.7g}",
            file=sys.stderr,
        )

    return show


@contextmanager
def bar_with_text(
    total: int, label: str, shown: bool
) -> Iterator[Callable[[int, str], None]]:
    """Yield advance(n, text); if `shown`, it moves a bar by n and displays the text."""
    if not shown:
        yield lambda n, text: None
        return
    from rich.progress import TextColumn

    with progress_bar(TextColumn("{task.fields[text]}")) as bar:
        task = bar.add_task(label, total=total, text="")
        yield lambda n, text: bar.update(task, advance=n, text=text)
