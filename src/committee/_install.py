"""The pip command for the packages of an extra."""

from __future__ import annotations

#: The packages of each extra of pyproject.toml. pip finds these names whether or not this
#: library was installed from an index; the name of an extra would need an index.
EXTRAS = {
    "autogluon": ("'autogluon.tabular[lightgbm,xgboost,catboost]'",),
    "onnx": ("skl2onnx", "onnxruntime"),
    "plot": ("matplotlib",),
    "sdp": ("scs",),
    "shell": ("pandas", "pyarrow"),
}


def how_to_install(*extras: str) -> str:
    """Return the command that installs the packages of some extras.

    Examples
    --------
    >>> from committee._install import how_to_install
    >>> how_to_install("shell", "plot")
    'pip install pandas pyarrow matplotlib'
    """
    return " ".join(["pip install", *(p for extra in extras for p in EXTRAS[extra])])
