"""Benchmarks are run by hand; here only that each can be called by name."""

import importlib
import pkgutil

import benchmarks
from benchmarks import (
    _network_sets,
    gates,
    grow,
    intervals,
    networks,
    prune,
    refine,
    report,
)
from benchmarks.__main__ import main
from committee import Networks

NAMES = [
    module.name
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if not module.name.startswith("_")
]


def test_each_has_a_main():
    for name in NAMES:
        assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_an_unknown_name_lists_the_known_ones(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "nonsense"])
    assert main() == 2
    assert "generate" in capsys.readouterr().out


def test_those_of_shipping_growing_and_reporting_are_among_them():
    assert {"serve", "grow", "report"} <= set(NAMES)


def test_growing_is_shown_beside_fixed_numbers(capsys):
    grow.main(["--sets", "diabetes", "--seeds", "1", "--members", "60"])
    out = capsys.readouterr().out
    assert 'stop="evidence"' in out
    assert out.count("diabetes") == 3


def test_pruning_is_compared_with_one_fit(capsys):
    prune.main(["--rows", "100", "--members", "5"])
    assert capsys.readouterr().out.count("prune and summary") == 2


def test_a_report_is_timed_and_weighed(capsys):
    report.main(["--rows", "300", "--members", "5"])
    out = capsys.readouterr().out
    assert "two classes" in out
    assert "regression" in out
    assert out.count("300") == 2


def test_gates_are_compared_with_static_weights(capsys):
    gates.main(["--sets", "piecewise", "--splits", "1", "--rows", "500"])
    out = capsys.readouterr().out
    assert out.count("SoftmaxGate") == 3
    assert "knora-e" in out


def test_intervals_have_a_coverage_for_every_line(capsys):
    small = ["--splits", "1", "--rows", "60", "--members", "8"]
    intervals.main(["--sets", "diabetes", *small])
    out = capsys.readouterr().out
    assert out.count("of 1 ") >= 8
    assert "EP-pruned, scaled" in out


def test_refined_trees_are_shown_beside_all_choices(capsys):
    refine.main(
        [
            *("--sets", "diabetes", "breast cancer", "--splits", "1", "--trees", "12"),
            *("--members", "4", "--choices"),
        ]
    )
    out = capsys.readouterr().out
    assert "EP filled, refined: at or below all" in out
    assert "of the gap between plain and all" in out


def test_networks_are_timed_beside_scikit_learns(capsys, monkeypatch):
    monkeypatch.setattr(networks, "SIZES", [(100, 3, 2)])
    networks.main(["--members", "3", "--rivals", "2", "--repeats", "1", "--sets"])
    out = capsys.readouterr().out
    assert "100 x 3, 200" in out
    assert "100 x 3, 32" in out


def test_networks_are_compared_with_other_ensembles(capsys, monkeypatch):
    monkeypatch.setattr(_network_sets, "N_RIVALS", 2)
    made = {
        "all": ({"max_epochs": 3}, Networks(3)),
        "shared": ({"max_epochs": 3}, Networks(2, share="adapters")),
    }
    monkeypatch.setattr(_network_sets, "committees", lambda: made)
    networks.main(["--batches", "--sets", "wine", "--splits", "1"])
    out = capsys.readouterr().out
    for method in ("MLP committee", "random forest", "networks, all, EP", "shared"):
        assert method in out
