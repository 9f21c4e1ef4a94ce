"""The one call: its parts agree, its form does not matter, it prints well."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import committee
from committee.compare import (
    Comparison,
    bonferroni_dunn,
    compare,
    friedman,
    iman_davenport,
    nemenyi,
    rank_methods,
    signed_rank,
)

NAMES = ["ep", "ard", "em", "unpruned"]


@pytest.fixture
def errors(rng):
    """Ten data sets; the first method is best, the last one worst."""
    return rng.normal(size=(10, 4)) * 0.5 + np.arange(4) * 0.4


def test_the_module_is_at_hand_without_an_import_of_its_own():
    assert committee.compare.compare is compare


def test_against_a_control_each_number_is_that_of_its_function(errors):
    result = compare(pd.DataFrame(errors, columns=NAMES), control="ep")
    ranks = rank_methods(errors)
    mean = ranks.mean(axis=0)
    assert result.mean_ranks == dict(zip(NAMES, mean, strict=True))
    assert result.friedman_p == friedman(ranks).p
    assert result.iman_davenport_p == iman_davenport(ranks).p
    assert result.critical_difference == bonferroni_dunn(10, 4, 0.10)
    assert list(result.differences) == NAMES[1:]
    assert result.differences["em"] == mean[2] - mean[0]
    assert result.significant["unpruned"] is True
    assert result.signed_rank_p["ard"] == signed_rank(errors[:, 1], errors[:, 0])
    assert sum(result.by_mean["em"]) == 10
    assert (result.by_ttest, result.by_rank_sum) == (None, None)


def test_without_a_control_all_pairs_are_compared(errors):
    result = compare(errors)
    assert result.critical_difference == nemenyi(10, 4, 0.10)
    assert list(result.significant) == [
        (i, j) for i in range(4) for j in range(i + 1, 4)
    ]
    assert result.significant[0, 3] is True
    assert result.by_mean[0, 3] == compare(errors, control=3).by_mean[0]


def test_holm_adjusts_the_normal_tail_of_the_differences(errors):
    """The smallest of three p-values is multiplied by three."""
    result = compare(errors, control=0)
    largest = max(result.differences, key=result.differences.get)
    z = result.differences[largest] / np.sqrt(4 * 5 / (6 * 10))
    assert result.holm_p[largest] == pytest.approx(3 * 2 * stats.norm.sf(z))


def test_holm_finds_all_that_bonferroni_dunn_finds(errors):
    """The critical difference is where 2 (k - 1) sf(z) reaches alpha."""
    result = compare(errors, control=0)
    for method, significant in result.significant.items():
        assert not significant or result.holm_p[method] <= result.alpha


def test_accuracies_give_the_same_as_errors(errors):
    low, high = compare(errors, 0), compare(-errors, 0, lower_is_better=False)
    assert dataclasses.replace(high, lower_is_better=True) == low


def test_the_order_of_methods_and_data_sets_does_not_matter(errors):
    frame = pd.DataFrame(errors, columns=NAMES)
    result = compare(frame, "em")
    other = compare(frame.iloc[::-1, [2, 0, 3, 1]], "em")
    for name in ("mean_ranks", "differences", "holm_p", "signed_rank_p"):
        assert getattr(other, name) == pytest.approx(getattr(result, name))
    assert other.by_mean == result.by_mean
    assert other.friedman_p == pytest.approx(result.friedman_p)


def test_ranks_do_not_change_with_a_monotone_scale_on_each_data_set(errors):
    scaled = np.exp(errors * np.arange(1, 11)[:, None])
    assert compare(scaled, 0).mean_ranks == compare(errors, 0).mean_ranks
    assert compare(scaled, 0).by_mean == compare(errors, 0).by_mean


def test_runs_are_ranked_by_their_means_and_tested_one_data_set_at_a_time(rng):
    runs = rng.normal(size=(6, 3, 20)) + np.array([0.0, 0.1, 2.0])[:, None]
    result = compare(runs, control=0)
    assert result.mean_ranks == compare(runs.mean(axis=2), control=0).mean_ranks
    assert result.by_ttest[2] == result.by_rank_sum[2] == (0, 6, 0)
    assert result.by_ttest[1].ties > 0
    stricter = compare(runs, control=0, run_alpha=1e-12)
    assert stricter.by_ttest[1] == (0, 0, 6)
    mapping = {i: dict(enumerate(row)) for i, row in enumerate(runs)}
    assert compare(mapping, control=0) == result
    assert "by t-test" in str(result)


def test_methods_that_are_equal_everywhere_do_not_differ():
    result = compare(np.ones((5, 3)), control=1)
    assert result.friedman_p == result.iman_davenport_p == 1
    assert set(result.mean_ranks.values()) == {2.0}
    assert not any(result.significant.values())
    assert set(result.holm_p.values()) == set(result.signed_rank_p.values()) == {1.0}
    assert result.by_mean[0] == (0, 0, 5)
    assert "no difference was found" in str(result)


def test_two_methods_on_two_data_sets_are_enough():
    result = compare([[1.0, 2.0], [1.0, 2.0]], control=0)
    assert result.mean_ranks == {0: 1.0, 1: 2.0}
    assert result.friedman_p == pytest.approx(stats.chi2.sf(2, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": "EP"}, r"one of the methods \['ep', 'ard', 'em', 'unpruned'\]"),
        ({"alpha": 0}, "alpha must be a significance level between 0 and 1. Got 0"),
        ({"alpha": 10}, "alpha must be a significance level"),
        ({"run_alpha": 95}, "run_alpha must be a significance level"),
    ],
)
def test_options_that_make_no_sense_say_so(errors, options, message):
    with pytest.raises(ValueError, match=message):
        compare(pd.DataFrame(errors, columns=NAMES), **options)


def test_it_is_frozen_and_survives_a_pickle(errors):
    result = compare(errors, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.alpha = 0.5
    assert pickle.loads(pickle.dumps(result)) == result


def test_the_printed_table_has_the_best_first_and_a_verdict(errors):
    frame = pl.DataFrame(dict(zip(NAMES, errors.T, strict=True)))
    lines = str(compare(frame, control="ep")).splitlines()
    assert lines[0] == "4 methods on 10 data sets; rank 1 has the lowest score."
    assert lines[2] == "Critical difference to ep: 1.23 (Bonferroni-Dunn)."
    assert lines[4].split()[:4] == ["method", "mean", "rank", "minus"]
    ranks = [float(line.split()[1]) for line in lines[5:]]
    assert ranks == sorted(ranks)
    (worst,) = (line for line in lines if line.startswith("unpruned"))
    assert " worse " in worst
    assert len({len(line) for line in lines[4:] if line[:2] != "ep"}) == 1


def test_without_a_control_the_table_says_who_beats_whom(errors):
    text = str(compare(pd.DataFrame(errors, columns=NAMES)))
    assert "(Nemenyi)" in text
    rows = dict(line.split(maxsplit=1) for line in text.splitlines()[5:])
    assert "unpruned" in rows["ep"]
    assert "ep" in rows["unpruned"]


def test_the_frame_has_the_numbers_of_the_table(errors):
    result = compare(pd.DataFrame(errors, columns=NAMES), control="ep")
    frame = result.to_frame()
    assert frame.index.name == "method"
    assert frame["mean rank"].to_dict() == result.mean_ranks
    assert frame.loc["em", "Holm p"] == result.holm_p["em"]
    assert frame.drop("ep")["w-l-t"].map(str).to_dict() == {
        method: str(count) for method, count in result.by_mean.items()
    }


def test_without_pandas_the_frame_says_what_to_do(errors, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        compare(errors, 0).to_frame()


def test_a_comparison_is_what_compare_returns(errors):
    assert isinstance(compare(errors), Comparison)
