"""A trial: a model predicts made-up rows when it is saved, and again when it is loaded.

Checks of arrays cannot cover every attribute of every class. A model that answered before
it was saved, and fails after it was loaded, is damaged or made for other versions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from joblib import parallel_config

from committee.persistence.file_format import ModelFileError

#: Made-up rows, normal with mean zero and variance one.
_ROWS = 50
_METHODS = ("predict", "predict_proba", "predict_interval", "predict_set")


def try_out(model: Any, width: int | None) -> dict[str, list[Any]]:
    """Return the type and the shape of the answer to one row, by method.

    Methods that refuse made-up rows, or answer NaN or infinity, are left out.
    """
    found: dict[str, list[Any]] = {}
    for method in _METHODS:
        try:
            found[method] = _form(model, method, width)
        except Exception:  # noqa: BLE001, S112 - it takes frames, or has no intervals
            continue
    return found


def check_answers(model: Any, description: Mapping[str, Any]) -> None:
    """Raise ModelFileError if a model does not answer as described in the file."""
    width, answers = description.get("n_features"), description.get("answers") or {}
    for method in _METHODS:
        if method in answers and _form(model, method, width) != answers[method]:
            raise ModelFileError(
                f"{method} of the {type(model).__name__} in the file must "
                f"return the type and the shape of a row {answers[method]}."
            )


def _form(model: Any, method: str, width: int | None) -> list[Any]:
    """Return the kind of the answer's dtype, and the shape of its rows.

    Raises ModelFileError if the answer is not finite.
    """
    if width is None:
        raise ModelFileError(
            "It has no n_features_in_, so test rows cannot be generated."
        )
    X = np.random.default_rng(0).normal(size=(_ROWS, width))
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        parallel_config(backend="sequential"),
    ):
        warnings.simplefilter("ignore")
        answer = np.asarray(getattr(model, method)(X))
    if len(answer) != _ROWS or not _is_finite(answer):
        raise ModelFileError(
            f"{method} of the {type(model).__name__} in the file returns "
            f"{len(answer)} predictions for {_ROWS} rows, or non-finite numbers."
        )
    return [answer.dtype.kind, *answer.shape[1:]]


def _is_finite(answer: Any) -> bool:
    """Return True if an answer has no number that is NaN or infinite."""
    return answer.dtype.kind not in "fc" or bool(np.isfinite(answer).all())
