"""How to get the packages of an extra, wherever this library came from."""

from __future__ import annotations

#: The packages of each extra of pyproject.toml. Their names work from a checkout and
#: from an index alike; that of an extra only where pip finds this library.
EXTRAS = {
    "dask": ("'dask[array,dataframe]'", "distributed"),
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
