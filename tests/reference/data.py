"""The real data sets, where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def load_or_skip(name):
    """Return the arrays of COMMITTEE_DATA/name.npz, or skip the test."""
    path = Path(os.environ.get("COMMITTEE_DATA", BESIDE)) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{name}.npz is not at hand; set COMMITTEE_DATA to its folder")
    with np.load(path) as archive:
        return dict(archive)
