"""What refining cost and gained, as a table."""

import json
from dataclasses import fields

from committee.pruning import Refinement
from committee.pruning.refinement import RefinedSize


def test_it_prints_counts_errors_and_sizes_and_is_json():
    numbers = dict.fromkeys((field.name for field in fields(Refinement)), 2.0)
    counts = {name: 2 for name in numbers if name.startswith(("n_", "leav", "dep"))}
    sizes = (
        RefinedSize(5, 70, 6000.0, 1.5, 0.25, 0.125),
        RefinedSize(10, 140, 12_000.0, 1.25, 0.0, 0.125),
    )
    own = {"measure": "RMSE", "error_after": 1.25, "path": sizes}
    one = Refinement(**{**numbers, **counts, **own})
    text = str(one)
    assert "1.25" in text
    assert "100 %" in text
    assert "12 kB" in text
    assert "stay as they were" not in text
    as_json = json.loads(json.dumps(one.to_dict()))
    assert as_json["error_after"] == 1.25
    assert as_json["path"][0]["n_members"] == 5


def test_it_says_where_nothing_was_refitted():
    numbers = dict.fromkeys((field.name for field in fields(Refinement)), 2)
    own = {"measure": "error rate", "ridge": float("inf"), "path": ()}
    assert "stay as they were" in str(Refinement(**{**numbers, **own}))
