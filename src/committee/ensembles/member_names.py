"""Names of members: given with them, or made of their kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.pipeline import Pipeline

from committee._typing import Member


def with_names(
    ensemble: Mapping[str, Member] | Sequence[Any],
) -> tuple[list[Member], list[str] | None]:
    """Return the members of a list, of (name, estimator) pairs or of a dict.

    The names are None where no member has been given one; otherwise the others get
    those of their kinds.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> from committee.ensembles.member_names import with_names
    >>> with_names([("small", Ridge(0.1)), Ridge(9.0), Ridge(99.0), Lasso()])[1]
    ['small', 'Ridge-1', 'Ridge-2', 'Lasso']
    >>> with_names({"a": Ridge()})[1], with_names([Ridge()])[1]
    (['a'], None)
    """
    entries: list[Any] = list(
        ensemble.items() if isinstance(ensemble, Mapping) else ensemble
    )
    members = [entry[1] if _is_pair(entry) else entry for entry in entries]
    return members, names_of(entries) if any(map(_is_pair, entries)) else None


def names_of(entries: Sequence[Any]) -> list[str]:
    """Return the given names of estimators and (name, estimator) pairs, all different.

    The others have the names of their classes, behind a pipeline that of its last step,
    with a number where there are several.
    """
    kinds = [None if _is_pair(entry) else kind_of_member(entry) for entry in entries]
    names = []
    for i, (entry, kind) in enumerate(zip(entries, kinds, strict=True)):
        if kind is None:
            names.append(str(entry[0]))
        elif kinds.count(kind) > 1:
            names.append(f"{kind}-{kinds[: i + 1].count(kind)}")
        else:
            names.append(kind)
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(
            "Members need names of their own. Got several of the name "
            f"{', '.join(map(repr, twice))}."
        )
    return names


def kind_of_member(member: Member) -> str:
    """Return the class of a member, or of the last step of its pipeline."""
    while isinstance(member, Pipeline):
        member = member.steps[-1][1]
    return type(member).__name__


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2
