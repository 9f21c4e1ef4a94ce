"""What the studies conclude from made-up runs: each rule holds, and can fail."""

import numpy as np
import pytest

from studies.chen_poker import METHODS
from studies.chen_ranks import LINES, PRINTED, STUDY, comparisons
from studies.chen_regression import TREES as REGRESSION
from studies.hamers_coupling import COUPLINGS
from studies.study import Results
from studies.votes import SIZES
from studies.ways import WAYS
from tests.studies.small import claims, made_up, no_results

TREES = ("ep", "ard", "em", "ls", "random", "unpruned")


def tree_numbers(errors):
    """Return numbers in which the methods have these errors on all sets but for noise."""

    def numbers(protocol, cell, run):
        found = {}
        for method, error in zip(TREES, errors, strict=True):
            found |= {
                f"{method}.error": error + 0.001 * run,
                f"{method}.size": error + 0.001 * run,
                f"{method}.seconds": 1 / error,
            }
        return found

    return numbers


@pytest.mark.parametrize(
    ("errors", "bagging", "forest"),
    [
        ((1, 3, 2, 5, 5, 4), "partly", "reproduced"),  # ranks 1, 3, 2, 4
        ((1, 2, 4, 5, 5, 3), "partly", "partly"),  # EM is significantly worse
        ((3, 1, 4, 5, 5, 2), "not", "not"),  # no more than "not significant"
    ],
)
def test_a_difference_that_is_not_significant_is_no_support(errors, bagging, forest):
    found = claims("chen-regression", made_up("chen-regression", tree_numbers(errors)))
    text = "over the 7 sets EP is significantly better than ARD"
    verdicts = {
        key[0].split(":")[0]: claim.verdict
        for key, claim in found.items()
        if text in key[0] and key[1] == "paper"
    }
    assert verdicts == {"bagging": bagging, "random-forest": forest}


def test_a_report_of_trees():
    numbers = tree_numbers((1, 2, 3, 4, 5, 6))
    found = claims("chen-regression", made_up("chen-regression", numbers))
    wins = found["bagging: EP has a lower error than ARD.", "paper"]
    assert wins.verdict == "reproduced"
    assert wins.found == "wins 7, losses 0 (in print 7, 0); by a t-test 7, 0"
    kept = found["random-forest: EP keeps fewer members than ARD.", "held-out"]
    assert kept.verdict == "reproduced"
    assert found["EP takes more time to prune than EM and ARD.", "paper"].found == (
        "in 14 of 14 places"
    )
    few = claims("chen-regression", made_up("chen-regression", numbers, runs=9))
    assert {claim.verdict for claim in few.values()} == {"undecided"}


def test_sets_without_an_error_have_no_place_in_the_relative_figure():
    """EP errs on none of the rows of sinc; there and on plane nor does anything."""

    def numbers(protocol, cell, run):
        errors = {"ep": 2.0, "unpruned": 4.0, "random": 1.0}
        if cell.endswith("/plane"):
            errors = dict.fromkeys(errors, 0.0)
        elif cell.endswith("/sinc"):
            errors["ep"] = 0.0
        found = {f"{name}.error": error for name, error in errors.items()}
        return found | {"ep.size": 9, "random.curve": [errors["random"]] * len(SIZES)}

    *_, table = REGRESSION.report(made_up("chen-regression", numbers))
    found = {(e.line, e.column): e.mean for e in table.entries}
    for ensemble in REGRESSION.ensembles:
        assert found[f"{ensemble}, EP", "ratio"] == pytest.approx((5 * 2 + 1) / 6)
        assert found[f"{ensemble}, EP", "members"] == 9
        for size in ("5 %", "100 %"):
            random = found[f"{ensemble}, Random", size]
            assert random == pytest.approx((6 * 4 + 1) / 7)


def test_printed_scores_give_the_printed_ranks_but_for_one():
    table, tests, *_ = STUDY.report(no_results())
    off = {(e.line, e.column) for e in table.entries if abs(e.difference) > 6e-5}
    assert off == {("regression-random-forest", "EM")}
    off = {(e.line, e.column) for e in tests.entries if abs(e.difference) > 6e-3}
    assert off == {("regression-random-forest", "EM - EP")}
    text = "EP has the best mean rank of EP, ARD, EM and the unpruned ensemble."
    found = claims("chen-ranks", no_results())
    assert found[text, PRINTED].verdict == "reproduced"


def test_our_runs_are_ranked_once_all_sets_are_there():
    line, (trees, ensemble) = next(iter(LINES.items()))
    numbers = {"ep.error": 1, "ard.error": 2, "em.error": 3, "unpruned.error": 4}
    cells = [f"{ensemble}/{name}" for name in trees.sets]
    runs = {("paper", cell): dict.fromkeys(range(10), numbers) for cell in cells}
    full = Results({}, lambda name: Results(runs, no_results))
    ranks = comparisons(full)[line, "paper"].mean_ranks
    np.testing.assert_array_equal(list(ranks.values()), [1, 2, 3, 4])
    runs.popitem()
    assert (line, "paper") not in comparisons(full)


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.06, "reproduced"), (0.92, "reproduced"), (1.2, "not")]
)
def test_as_good_as_mcmc_is_within_a_tenth(ratio, verdict):
    """In print the errors on sinc are 6 % apart: the paper must pass its own rule."""

    def numbers(protocol, cell, run):
        errors = {"ep-printed.error": ratio, "mcmc.error": 1.0, "unpruned.error": 2.0}
        sizes = {"ep-printed.size": 8, "mcmc.size": 7}
        return errors | sizes | {"ep-printed.seconds": 1.0, "mcmc.seconds": 20.0}

    found = claims("chen-mcmc", made_up("chen-mcmc", numbers))
    text = "EP is about as good as MCMC."
    assert found[text, "paper"].verdict == verdict
    text = "EP keeps about as many members as MCMC."
    assert found[text, "paper"].verdict == "reproduced"
    text = "MCMC takes many times longer than EP."
    assert found[text, "paper"].verdict == "reproduced"


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ((-1, -1, -1), "reproduced"),
        ((-1, 0.1, 0.1), "partly"),
        ((0.1, 0.1, 0.1), "not"),
        ((-1, -1, 1), "not"),
    ],
)
def test_significantly_worse_on_one_set_is_not_partly(gaps, verdict):
    gap = dict(zip(("sinc", "synth", "banana"), gaps, strict=True))

    def numbers(protocol, cell, run):
        noise = 0.3 if run % 2 else -0.3  # standard error 0.1 of ten runs
        error = 5.0 + gap[cell] + noise
        return {"ep.error": error, "unpruned.error": 5.0, "ep.size": 3}

    (claim, _) = claims("chen-synthetic", made_up("chen-synthetic", numbers)).values()
    assert claim.verdict == verdict


@pytest.mark.parametrize(
    ("seconds", "errors", "verdicts"),
    [
        ((9, 0.1), {"ep": 20.0, "ep12": 10.0}, ["reproduced"] * 3),
        ((9.9, 1.0), {"ep": 29.0, "cp": 28.0}, ["partly", "reproduced", "partly"]),
        ((11, 0.1), {"ep": 31.0, "ep12": 10.0}, ["not", "reproduced", "not"]),
    ],
)
def test_poker(seconds, errors, verdicts):
    """Less time by two standard errors; EP with 12 members decides nothing."""

    def numbers(protocol, cell, run):
        found = {f"{m}.error": errors.get(m, 30.0) for m in METHODS}
        found |= {f"{m}.total_seconds": 10.0 for m in METHODS}
        mean, spread = seconds
        total = mean + (spread if run % 2 else -spread)
        return found | {"ep.size": 12, "ep.total_seconds": total}

    found = claims("chen-poker", made_up("chen-poker", numbers))
    assert [c.verdict for c in found.values() if c.protocol == "paper"] == verdicts


def test_boston():
    def numbers(protocol, cell, run):
        ours = {"uncoupled": 2 * run + 20, "zero": run, "train": run, "test": run}
        ours |= {"centres": run - 0.01 * (run + 1), "box": run, "apart": run}
        layers = {f"{n}.{name}": v for n in ("eq6", "eq7") for name, v in ours.items()}
        return layers | {"lssvm": run + 9}

    found = claims("hamers-boston", made_up("hamers-boston", numbers))
    verdicts = [c.verdict for c in found.values() if c.protocol == "paper"]
    layer = ["not", "reproduced", "not", "reproduced", "reproduced"]
    assert verdicts == [*layer, *layer, "reproduced"]


def test_the_unit_of_boston_cancels():
    """Errors c times as large have the ratios of the printed table all the same."""
    medians = {
        ("nox-8", "test"): 1.0, ("nox-8", "uncoupled"): 1.16, ("nox-8", "train"): 1.2,
        ("nox-16", "test"): 1.02, ("nox-16", "uncoupled"): 1.6, ("nox-16", "train"): 1.78,
        ("medv-8", "test"): 1.0, ("medv-8", "uncoupled"): 1.22, ("medv-8", "train"): 1.23,
        ("medv-16", "test"): 1.1, ("medv-16", "uncoupled"): 1.66, ("medv-16", "train"): 1.55,
    }  # fmt: skip

    def numbers(protocol, cell, run):
        found = {"lssvm": 0.1}
        for layer in ("eq6", "eq7"):
            found |= dict.fromkeys((f"{layer}.{n}" for n in ("zero", "centres")), 0.3)
            for name in ("test", "uncoupled", "train"):
                spread = 1 + 0.001 * (run - 4.5)
                found[f"{layer}.{name}"] = 0.17 * medians[cell, name] * spread
        return found

    found = claims("hamers-boston", made_up("hamers-boston", numbers))
    for layer in ("eq. 6", "eq. 7"):
        text = f"{layer}: the medians are those of the table, as ratios to its 1.00."
        assert found[text, "paper"].found.startswith("16 of 16 places")
        assert found[text, "paper"].verdict == "reproduced"


def test_couplings():
    """Medians; a run that is nearly singular has no bound."""

    def numbers(protocol, cell, run):
        errors = [abs(np.log10(nu / 0.1)) if nu > 0 else 4.0 for nu in COUPLINGS]
        errors[COUPLINGS.index(-0.1)] = 3.0 if run < 6 else None
        errors[COUPLINGS.index(-0.01)] = 3.0 if run < 4 else None
        return {"error": errors, "minimum": [float(nu >= 0) for nu in COUPLINGS]}

    found = claims("hamers-coupling", made_up("hamers-coupling", numbers))
    claim = found[
        "Boston: a small negative coupling lowers the error as well.", "paper"
    ]
    assert "nox-8 0: 4, -0.1: 3, -0.01: inf" in claim.found
    assert claim.verdict == "partly"
    verdicts = [c.verdict for c in found.values() if c.protocol == "paper"]
    assert verdicts == ["partly", "partly", "not", *["reproduced"] * 2, "not"]


def test_chain():
    def numbers(protocol, cell, run):
        gap = 0.01 * (run % 2) - 0.004
        gap += 0.1 if protocol == "held-out" else 0.0
        return {"ring": 1.0, "chain": 1.0 + gap, "difference": gap}

    found = claims("hamers-chain", made_up("hamers-chain", numbers))
    by_protocol = {c.protocol: c for c in found.values()}
    assert by_protocol["paper"].verdict == "reproduced"
    assert by_protocol["held-out"].verdict == "not"
    assert "nox-8 +0.1 ± 0.2 %" in by_protocol["paper"].found


@pytest.mark.parametrize(
    ("auc", "verdict"), [(0.8, "reproduced"), (0.72, "partly"), (0.7, "not")]
)
def test_classification(auc, verdict):
    def numbers(protocol, cell, run):
        noise = 0.001 * run
        return {
            "coupled.error": 0.1 + noise,
            "uncoupled.error": 0.1 + noise if cell == "adult-sparse" else 0.3 + noise,
            "coupled.auc": auc + noise,
            "uncoupled.auc": 0.7 + 0.5 * noise,
        }

    found = claims("hamers-classification", made_up("hamers-classification", numbers))
    verdicts = [c.verdict for c in found.values() if c.protocol == "paper"]
    assert verdicts[:2] == ["reproduced", "reproduced"]
    assert verdicts[2] == verdict or auc == 0.7


@pytest.mark.parametrize(("bias", "verdict"), [(1.5, "reproduced"), (0.5, "not")])
def test_bias_is_what_averaging_leaves_and_not_the_error_of_members(bias, verdict):
    def numbers(protocol, cell, run):
        found = {}
        for name in WAYS:
            batches = name == "MiniBatches"
            squared, diversity = (bias, 2.0) if batches else (1.0, 0.5)
            found |= {
                f"{name}.error": squared,
                f"{name}.member": squared + diversity,
                f"{name}.diversity": diversity,
                f"{name}.size": 40 if name == "CrossSplits" else 30,
                f"{name}.seconds": 6.0,
            }
        return found

    found = claims("chapter-generators", made_up("chapter-generators", numbers))
    text = "On small data sets, mini-batches have too large a bias."
    assert found[text, "held-out"].verdict == verdict
    text = "Cross-splitting is faster than bagging: a member sees fewer rows."
    assert found[text, "held-out"].verdict == "reproduced"
    assert "150 ms against 200 ms" in found[text, "held-out"].found


@pytest.mark.parametrize(
    ("size", "verdict"), [(4.0, "reproduced"), (6.5, "partly"), (9.0, "not")]
)
def test_support_models_are_as_few_as_in_print(size, verdict):
    """4 of 10 and 5 of 100 in print, and half as many more at most: 6 and 7.5."""

    def numbers(protocol, cell, run):
        return {f"{k}.size": size for k in ("uncoupled", "coupled")}

    found = claims("hamers-classification", made_up("hamers-classification", numbers))
    text = (
        "Eq. 7 keeps 4 of 10 members, and about 5 % of 100 (by votes on all training "
        "rows)."
    )
    assert found[text, "paper"].verdict == verdict


def test_stability_is_a_smaller_spread_and_loo_is_judged_beside_the_test_error():
    """EM spreads by 5 and 6 %, EP by 1 less than that, the printed sequence as much.

    On training rows LOO is half of the test error and falls where it rises.
    """

    def numbers(protocol, cell, run):
        em = 5.0 + run % 2
        spreads = {"em.spread": em, "ep.spread": em - 1.0, "ep-printed.spread": em}
        share, correlation = (0.5, -0.9) if protocol == "paper" else (0.95, 0.6)
        for method in ("ep", "ep-printed"):
            spreads |= {
                f"{method}.loo": share * 20,
                f"{method}.test": 20.0,
                f"{method}.correlation": correlation,
            }
        return spreads

    found = claims("chen-stability", made_up("chen-stability", numbers))
    verdicts = {key: claim.verdict for key, claim in found.items()}
    for protocol, told in (("paper", "not"), ("held-out", "reproduced")):
        assert verdicts["EM is sensitive to its start.", protocol] == "reproduced"
        assert verdicts["EP is more stable than EM.", protocol] == "reproduced"
        assert verdicts["EP as printed is more stable than EM.", protocol] == "not"
        for method in ("EP", "EP as printed"):
            along = f"{method}: LOO follows the test error along the path."
            large = f"{method}: LOO is as large as the test error."
            assert {verdicts[along, protocol], verdicts[large, protocol]} == {told}
