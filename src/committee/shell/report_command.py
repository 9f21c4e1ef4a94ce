"""committee report: a model and rows in, a page to look at out."""

from __future__ import annotations

from pathlib import Path

from committee.reporting import report as page
from committee.shell.errors import USAGE, ShellError
from committee.shell.model_files import read_model, source_of
from committee.shell.output import Voice
from committee.shell.parts import refuse_spread
from committee.shell.prune_command import target_of
from committee.shell.scoring_rows import labelled_rows
from committee.shell.tables import check_output


def report(
    model: str,
    data: str,
    *,
    output: str,
    target: str | None = None,
    jobs: int = 1,
    voice: Voice,
) -> None:
    """Write a page about a saved ensemble on the rows of a table.

    Parameters
    ----------
    model, data, output : str
        File of the ensemble, table with its target, file of the page.
    target : str, optional
        The column to predict; the one the model was trained for unless given.
    jobs : int, default=1
        Members asked at the same time.
    voice : Voice
    """
    if output == "-":
        raise ShellError("A page goes to a file: give its name with -o.", USAGE)
    refuse_spread(data, "A page")
    check_output(output, inputs=[model, data])
    loaded = read_model(model)
    target = target_of(loaded, target, model)
    X, y = labelled_rows(loaded, data, target, voice)
    data_name = source_of(data, len(y))["file"]
    html = page(
        loaded.estimator,
        X,
        y,
        output,
        title=f"{Path(model).name} on {data_name}",
        notes={"model file": Path(model).name, "data": data_name, "target": target},
        n_jobs=jobs,
    )
    voice.result({"report": output, "rows": len(y), "bytes": len(html.encode())})
