"""The numbers of a summary, and how it prints."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestRegressor

from committee import prune
from committee.held_out import HeldOutPredictions
from committee.losses import measure_of, paired_difference
from committee.pruning.summary import (
    RefinedSize,
    Refinement,
    Summary,
    compared_errors,
    disagreement,
)
from committee.votes import Votes


def test_errors_of_two_predictions_by_hand():
    """They differ where they are a whole error of the first apart; one has four rows."""
    F = np.array([[1.0, 1.5], [-1.0, 1.0], [1.0, 1.0], [-1.0, -3.0], [7.0, 9.0]])
    votes = Votes(F, np.zeros(5), None, None)
    before, after = (
        HeldOutPredictions.of_weights(votes, votes.filled, w) for w in np.eye(2)
    )
    before = replace(before, counted=np.arange(5) < 4)
    found = compared_errors(before, after, after, measure_of(None, of_classes=False))
    later, gap = np.sqrt(13.25 / 4), np.array([1.25, 0.0, 0.0, 8.0])
    assert (found["n_rows"], found["disagreement"]) == (4, 0.5)
    assert found["error_before"] == 1.0
    assert found["error_after"] == found["error_as_weighed"] == pytest.approx(later)
    assert found["difference"] == pytest.approx(later - 1)
    # d sqrt(a) = da / (sqrt(a) + sqrt(b))
    se = np.sqrt(((gap - gap.mean()) ** 2).sum()) / 4 / (later + 1)
    assert found["difference_se"] == pytest.approx(se)


@pytest.mark.parametrize(("k", "n"), [(0, 20), (3, 20), (19, 20), (20, 20)])
def test_the_bound_is_that_of_clopper_and_pearson(k, n):
    """At the bound p, P(at most k of n) is 5 %; with k = n there is none."""
    share, upper = disagreement(np.arange(n) < k)
    assert share == k / n
    if k == n:
        assert upper == 1.0
    else:
        assert binom.cdf(k, n, upper) == pytest.approx(0.05, rel=1e-6)


def test_the_difference_is_paired(rng):
    """A shift common to both models does not count into the standard error."""
    before = rng.normal(size=400)
    after = before + rng.normal(scale=0.1, size=400)
    mean, se = paired_difference(after, before, None)
    assert mean == pytest.approx((after - before).mean())
    assert se == pytest.approx((after - before).std() / np.sqrt(400))


def test_weights_are_numbers_of_rows(rng):
    before, after = rng.normal(size=(2, 5))
    s = np.array([1, 2, 0, 1, 3])
    mean, _ = paired_difference(after, before, s)
    assert mean == pytest.approx(np.repeat(after - before, s).mean())


NUMBERS = {
    "measure": "error rate",
    "n_rows": 1000,
    "n_members_before": 500,
    "n_members_after": 20,
    "error_before": 0.1,
    "error_after": 0.09,
    "difference": -0.01,
    "difference_se": 0.005,
    "cross_fitted": True,
    "error_as_weighed": 0.08,
    "loo": 0.095,
    "loo_measure": "error rate",
    "bytes_before": 50_000_000,
    "bytes_after": 2_000_000,
    "seconds_before": 1e-4,
    "seconds_after": 4e-6,
    "disagreement": 0.03,
    "disagreement_upper": 0.04,
    "oob": False,
    "log_loss_before": 0.3,
    "log_loss_after": 0.2,
    "log_loss_difference": -0.1,
    "log_loss_difference_se": 0.02,
}


def test_it_prints_as_a_table():
    summary = Summary(**NUMBERS)
    text = str(summary)
    for part in (
        "500",
        "20",
        "10 %    9 %  -1 ± 0.5 points",
        "0.3    0.2  -0.1 ± 0.02",
        "50 MB",
        "2 MB",
        "4 %",
        "below 4 %",
        "if no member was trained on these",
        "each\nwas predicted by members that were chosen without it.",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) < 90
    assert summary.to_dict()["bytes_after"] == 2_000_000
    # Errors that pruning went by are told apart, and only on request.
    for error in ("8 %", "9.5 %"):
        assert error not in text
        assert error in summary.details()
    assert summary.details().count("too small") == 2


def test_it_says_if_no_member_was_left_out(rng):
    """Greedy selection takes each of six trees that are equally good."""
    X = rng.normal(size=(400, 3))
    y = X.sum(axis=1) + rng.normal(size=400)
    forest = RandomForestRegressor(6, random_state=0).fit(X[:200], y[:200])
    small = prune(forest, X[200:], y[200:], combiner="greedy")
    assert small.n_members_ == 6
    assert "none left out" in str(small.summary())
    assert "none left out" not in str(Summary(**NUMBERS))
    one = {"n_members_before": 1, "n_members_after": 1}
    assert "none left out" not in str(Summary(**{**NUMBERS, **one}))


def refinement(**changes):
    sizes = (
        RefinedSize(5, 70, 6000.0, 0.15, 0.05, 0.0125),
        RefinedSize(20, 140, 12_000.0, 0.09, -0.01, 0.005),
    )
    known = {"leaves_before": 2000, "leaves_after": 140, "depth_before": 20}
    known |= {"depth_after": 7, "error_plain": 0.125, "least_rows": 4}
    known |= {"error_refined": 0.145}
    known |= {"ridge": 3.0, "labels": 0.5, "path": sizes}
    return Refinement(**{**known, **changes})


def test_refined_trees_print_leaves_errors_and_sizes_and_are_json():
    summary = Summary(**NUMBERS, refinement=refinement())
    text = str(summary)
    for part in ("2,000     140", "12.5 %", "12 kB", "against the whole"):
        assert part in text
    assert "stay as they were" not in text
    assert "taken" in text
    as_json = json.loads(json.dumps(summary.to_dict()))
    assert as_json["refinement"]["path"][0]["n_members"] == 5


def test_it_says_where_nothing_was_refitted():
    found = refinement(ridge=float("inf"), path=())
    text = str(Summary(**NUMBERS, refinement=found))
    assert "stay as they were" in text
    assert "14.5 %" in text
    assert "taken" not in text


def test_a_notebook_shows_the_rows_of_print():
    found = refinement()
    summary = Summary(**NUMBERS, names_after=["<b>", "c"], refinement=found)
    html = summary._repr_html_()
    lines = [
        re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in html.split("</tr>")
    ]
    shown = [[cell for cell in line if cell] for line in lines if line]
    printed = [re.split(r" {2,}", line.strip()) for line in str(summary).splitlines()]
    for cells in shown:
        assert [cell.strip() for cell in cells] in printed
    assert len(shown) == 1 + len(summary.rows()) + 1 + len(found.path)
    assert "<p>kept: &lt;b&gt;, c</p>" in html
    assert "<script" not in html
    assert "color:inherit" in html
