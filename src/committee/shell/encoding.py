"""The columns to predict from: numbers and words, and how members read them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from committee.shell.errors import ShellError, listed
from committee.shell.parsing import pandas

#: Words with more distinct values than this are not given a column for each.
FEW = 20

#: What is said where `row_numbers` finds some.
ROW_NUMBERS = "the first column has no name and numbers the rows: left out."


@dataclass(frozen=True)
class Columns:
    """What a model expects of a table.

    Attributes
    ----------
    names : list of str
        All columns, in the order of the training table.
    words : list of str
        Those that hold text; the others hold numbers.
    left_out : list of str
        Columns of the training table that the model does not look at.

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.encoding import Columns
    >>> frame = pd.DataFrame({"size": [1.0, 2.0], "town": ["Bonn", None]})
    >>> Columns.of(frame).words
    ['town']
    """

    names: list[str]
    words: list[str]
    left_out: list[str]

    @classmethod
    def of(cls, frame: Any) -> Columns:
        """Return the columns of a training table without its target.

        Text that is different in every one of many rows names the row, and is left
        out; so are numbers of rows, which would give away how the table was sorted.
        """
        words = [name for name in frame.columns if is_text(frame[name])]
        left_out = row_numbers(frame) + [
            name for name in words if frame[name].nunique() == len(frame) > FEW
        ]
        return cls.without(left_out, frame.columns, words)

    @classmethod
    def without(
        cls, left_out: list[str], names: Iterable[str], words: list[str]
    ) -> Columns:
        """Return the columns that are not left out, if there are any."""
        kept = [name for name in names if name not in left_out]
        if not kept:
            raise ShellError("The table has no columns to predict from.")
        return cls(kept, [name for name in words if name not in left_out], left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, for the file."""
        return asdict(self)

    def check(self, frame: Any) -> None:
        """Refuse a table that lacks one of these columns, and name those it lacks."""
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            plural = "s" if len(missing) > 1 else ""
            raise ShellError(
                f"The table lacks {len(missing)} column{plural} that the model was "
                f"trained on: {listed(missing)}."
            )

    def take(self, frame: Any) -> Any:
        """Return these columns of a table, in this order, as numbers and text.

        Parameters
        ----------
        frame : DataFrame
            Further columns are ignored.
        """
        self.check(frame)
        words = set(self.words)
        return pandas().DataFrame(
            {
                name: (_as_text if name in words else _as_numbers)(frame[name])
                for name in self.names
            }
        )


def row_numbers(frame: Any) -> list[str]:
    r"""Return the columns without a name that number the rows.

    `DataFrame.to_csv` writes the index in front of the first column, under an empty
    header, which pandas reads as "Unnamed: 0".

    Parameters
    ----------
    frame : DataFrame

    Examples
    --------
    >>> import io
    >>> import pandas as pd
    >>> from committee.shell.encoding import row_numbers
    >>> row_numbers(pd.read_csv(io.StringIO(",size\n0,1.5\n1,2.5\n")))
    ['Unnamed: 0']
    """
    return [
        name
        for name in frame.columns
        if re.fullmatch(r"Unnamed: 0(\.\d+)*", name) and _numbers_rows(frame[name])
    ]


def encoder(frame: Any, columns: Columns, *, for_trees: bool) -> ColumnTransformer:
    """Return an unfitted transformer from the table to numbers.

    Words with few distinct values get a column for each value, and missing is one
    of them. With more than 20 values, trees get a code in alphabetical order, other
    learners a column for the 20 most frequent ones and one for the rest. Values that
    were not there in training are none of them. Trees take numbers as they are,
    missing ones too; for other learners these are the median, and all are scaled.

    Parameters
    ----------
    frame : DataFrame
        From `columns.take`.
    columns : Columns
    for_trees : bool

    Examples
    --------
    >>> import pandas as pd
    >>> from committee.shell.encoding import Columns, encoder
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "town": ["Bonn", None, "Ulm"]})
    >>> columns = Columns.of(frame)
    >>> encoder(frame, columns, for_trees=True).fit_transform(columns.take(frame))
    array([[1., 1., 0., 0.],
           [2., 0., 0., 1.],
           [3., 0., 1., 0.]])
    """
    many = [name for name in columns.words if frame[name].nunique() > FEW]
    few = [name for name in columns.words if name not in many]
    numbers = [name for name in columns.names if name not in columns.words]
    if not for_trees:
        few, many = columns.words, []
    parts = [
        ("numbers", "passthrough" if for_trees else _scaled(), numbers),
        ("few", _one_hot(), few),
        ("many", _codes(), many),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0)


def unseen(transformer: Any, frame: Any) -> dict[str, int]:
    """Return how many values of each text column were not there in training.

    Parameters
    ----------
    transformer : fitted ColumnTransformer
    frame : DataFrame
        From `columns.take`.
    """
    counts = {}
    for _, part, names in getattr(transformer, "transformers_", ()):
        for name, known in zip(names, getattr(part, "categories_", ()), strict=False):
            words = frame[name]
            strange = int((words.notna() & ~words.isin(known)).sum())
            if strange:
                counts[str(name)] = strange
    return counts


def _scaled() -> Any:
    return make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )


def _one_hot() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=FEW + 1,
        sparse_output=False,
    )


def _codes() -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )


def is_text(column: Any) -> bool:
    """Whether a column holds text; booleans with gaps are numbers."""
    types = pandas().api.types
    if types.is_numeric_dtype(column):
        return False
    kind = str(types.infer_dtype(column, skipna=True))
    if kind in ("boolean", "decimal", "empty"):
        return False
    if kind not in ("string", "categorical"):
        raise ShellError(
            f"The column {column.name!r} must hold numbers or text. It holds {kind} "
            "values: turn them into either, or leave them out."
        )
    return True


def _numbers_rows(column: Any) -> bool:
    """Whether a column holds whole numbers from 0, each once, in any order."""
    whole = pandas().api.types.is_integer_dtype(column)
    return bool(whole and column.is_unique and column.min() >= 0)


def _as_text(column: Any) -> Any:
    words = column.map(str, na_action="ignore").astype(object)
    return words.where(column.notna(), np.nan)


def _as_numbers(column: Any) -> Any:
    numbers = pandas().to_numeric(column, errors="coerce").astype(np.float64)
    wrong = (numbers.isna() & column.notna()) | numbers.abs().eq(np.inf)
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise ShellError(
            f"The column {column.name!r} must hold finite numbers or gaps. Row "
            f"{row + 1} has {column.tolist()[row]!r}."
        )
    return numbers
