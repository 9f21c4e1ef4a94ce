"""What of a committee goes into copies, pickles and files, and comes back from them."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from committee._typing import BoolArray

#: Whether the members of the whole path go along: set by `save` on its own copy.
WHOLE_PATH = "_whole_path"
#: A booster that is rebuilt on first use, and what only concerns one copy.
_LEFT_OUT = ("_whole", WHOLE_PATH)


class SavedState(BaseEstimator):
    """A committee leaves rows behind, and packs what is large."""

    def __getstate__(self) -> Any:
        """Return the attributes; the mask has a bit an entry, the path no rows."""
        state: Any = super().__getstate__()
        whole = state.get(WHOLE_PATH, False)
        state = {name: value for name, value in state.items() if name not in _LEFT_OUT}
        if state.get("held_out_") is not None:
            state["held_out_"] = packed(state["held_out_"])
        if "path_" in state:
            state["path_"] = state["path_"].for_copy(self, whole=whole)
        return state

    def __setstate__(self, state: Any) -> None:
        """Restore the attributes, also those of older files."""
        if isinstance(state.get("held_out_"), dict):
            state = {**state, "held_out_": unpacked(**state["held_out_"])}
        super().__setstate__(state)
        if "path_" in state:
            self.path_.bind(self)

    def __copy__(self) -> Self:
        """Return another committee with the same attributes, rows of the path included."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other


def packed(mask: BoolArray) -> dict[str, Any]:
    """Return a mask as its shape and its bits.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.saved_state import packed, unpacked
    >>> packed(np.eye(3, dtype=bool))
    {'shape': (3, 3), 'bits': array([136, 128], dtype=uint8)}
    >>> unpacked(**packed(np.eye(2, dtype=bool)))
    array([[ True, False],
           [False,  True]])
    """
    return {"shape": mask.shape, "bits": np.packbits(mask)}


def unpacked(shape: tuple[int, ...], bits: Any) -> BoolArray:
    """Return the mask again."""
    size = math.prod(shape)
    if min(shape) < 0 or len(bits) != -(-size // 8):
        raise ValueError(f"A mask of shape {shape} does not have {8 * len(bits)} bits.")
    return np.unpackbits(bits, count=size).astype(bool).reshape(shape)
