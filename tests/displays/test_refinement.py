"""Error against bytes of refined committees, as a picture."""

from dataclasses import fields

import pytest

from committee import RefinementDisplay
from committee.pruning.summary import RefinedSize, Refinement, Summary

pytest.importorskip("matplotlib")


def _twos(record):
    return dict.fromkeys((field.name for field in fields(record)), 2)


def test_points_are_the_sizes_and_the_star_is_the_whole():
    sizes = (
        RefinedSize(10, 140, 12_000.0, 0.25, 0.0, 0.01),
        RefinedSize(5, 70, 6000.0, 0.5, 0.25, 0.02),
    )
    refinement = Refinement(**{**_twos(Refinement), "path": sizes})
    own = {"measure": "error rate", "refinement": refinement, "bytes_before": 1e6}
    errors = {"error_before": 0.25, "error_after": 0.5, "bytes_after": 6000.0}
    ax = RefinementDisplay(Summary(**{**_twos(Summary), **own, **errors})).plot().ax_
    points, taken, whole = ax.lines[0], ax.lines[-3], ax.lines[-2]
    assert points.get_xdata().tolist() == [6000, 12_000]
    assert points.get_ydata().tolist() == [50, 25]
    assert (taken.get_xdata()[0], taken.get_ydata()[0]) == (6000, 50)
    assert (whole.get_xdata()[0], whole.get_ydata()[0]) == (1e6, 25)
    assert [text.get_text() for text in ax.texts] == ["5 / 70", "10 / 140"]
    assert ax.get_ylabel() == "held-out error rate, %"


def test_what_was_not_refined_is_refused():
    with pytest.raises(ValueError, match="Only refined committees"):
        RefinementDisplay.from_estimator(object())
    with pytest.raises(TypeError, match="Got dict"):
        RefinementDisplay({})
