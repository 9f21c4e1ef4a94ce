"""What refining cost and gained, as a table."""

import json
from dataclasses import fields

from committee.pruning import Refinement


def test_it_prints_counts_and_errors_and_is_json():
    numbers = dict.fromkeys((field.name for field in fields(Refinement)), 2.0)
    counts = {name: 2 for name in numbers if name.startswith(("n_", "leav", "dep"))}
    one = Refinement(**{**numbers, **counts, "measure": "RMSE", "error_after": 1.25})
    text = str(one)
    assert "1.25" in text
    assert "100 %" in text
    assert json.loads(json.dumps(one.to_dict()))["error_after"] == 1.25
