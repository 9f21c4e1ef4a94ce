"""committee report: a model and rows in, an HTML page out."""

from __future__ import annotations

from pathlib import Path

from committee.reporting import report as write_page
from committee.shell.options import Report
from committee.shell.table_model import read_model_and_rows, source_name
from committee.shell.tables import PAGE, check_output


def report(options: Report) -> None:
    """Write a page about a saved ensemble on the rows of a table."""
    check_output(options.output, inputs=[options.model, options.data], endings=PAGE)
    model, X, y = read_model_and_rows(options)
    file, data = Path(options.model).name, source_name(options.data)
    html = write_page(
        model.estimator,
        X,
        y,
        options.output,
        title=f"{file} on {data}",
        notes={"model file": file, "data": data, "target": str(model.target)},
        n_jobs=options.jobs,
    )
    options.messages.result(
        {"report": options.output, "rows": len(y), "file_bytes": len(html.encode())}
    )
