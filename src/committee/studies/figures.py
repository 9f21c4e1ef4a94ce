"""Figures of the studies, as files."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from committee.studies.catalogue import get_study
from committee.studies.store import Store


def draw(
    name: str,
    store: Store,
    path: str | os.PathLike[str] | None = None,
    *,
    data: str | None = None,
) -> Path:
    """Draw the figures of a study into one file, and return its path.

    Parameters
    ----------
    name : str
    store : Store
    path : path, optional
        The ending decides the format; NAME.svg unless given.
    data : str, optional
        The folder of data sets, for figures that show a single run.

    Examples
    --------
    >>> import tempfile
    >>> from committee.studies.figures import draw
    >>> from committee.studies.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/studies.sqlite")
    ...     draw("hamers-sine", store, f"{folder}/sine.svg").name
    'sine.svg'
    """
    study = get_study(name)
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError(
            "Figures need matplotlib: pip install 'committee[plot]'."
        ) from None
    target = Path(f"{name}.svg" if path is None else path)
    endings = ("svg", "png", "pdf")
    if target.suffix.lstrip(".") not in endings:
        raise ValueError(
            f"A figure ends in one of {', '.join(endings)}. Got {str(target)!r}."
        )
    with mpl.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "none"}):
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # networks that stop early, once more
            drawn = study.figure(store.results, data)
        facts = {"CreationDate" if target.suffix == ".pdf" else "Date": None}
        drawn.savefig(target, metadata=None if target.suffix == ".png" else facts)
    return target
