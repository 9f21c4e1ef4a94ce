"""A combiner may be given by its name."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import numpy as np

from committee._format import close_to
from committee._typing import RandomState
from committee.combiner_names import COMBINERS


def as_combiner(combiner: Any, random_state: RandomState = None) -> Any:
    """Return a combiner itself, or that of a name with its default settings.

    Parameters
    ----------
    combiner : combiner, str or None
    random_state : int, RandomState or None
        Seeds a combiner that was given by name and draws numbers; whoever gives a
        combiner has seeded it as they like.

    Examples
    --------
    >>> from committee.combiners.by_name import as_combiner
    >>> as_combiner("ep")
    EPPruner()
    >>> as_combiner("random", 3)
    RandomPruner(random_state=3)
    """
    if not isinstance(combiner, str):
        return combiner
    made = resolve_name(f"committee.combiners:{COMBINERS[_known(combiner)]}")()
    if "random_state" in made.get_params(deep=False):
        if isinstance(random_state, np.random.RandomState):
            random_state = int(random_state.randint(np.iinfo(np.int32).max))
        made.set_params(random_state=random_state)
    return made


def _known(name: str) -> str:
    """Return a name that is known, or say which are."""
    if name in COMBINERS:
        return name
    # Of what people type, class names and underscores are the most likely.
    by_class = {kind.lower(): short for short, kind in COMBINERS.items()}
    near = by_class.get(name.lower())
    meant = f" Did you mean {near!r}?" if near else ""
    raise ValueError(
        "combiner must be a combiner, such as EPPruner(), or one of the names "
        f"{', '.join(COMBINERS)}. Got {name!r}."
        f"{meant or close_to(name.replace('_', '-'), list(COMBINERS))}"
    )
