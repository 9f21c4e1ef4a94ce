"""Benchmarks are run by hand; here only that each can be called by name."""

import importlib
import os
import pkgutil
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

import benchmarks
from benchmarks import (
    _network_sets,
    _quick,
    arena,
    gates,
    grow,
    intervals,
    networks,
    prune,
    refine,
    report,
    shell,
    ship,
)
from benchmarks.__main__ import main, names
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


def test_an_unknown_part_lists_the_known_ones(monkeypatch, capsys):
    for words in (["--runs", "-3"], ["nonsense"]):
        monkeypatch.setattr("sys.argv", ["benchmarks", "coupled", *words])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        assert "speed" in capsys.readouterr().err


def test_arena_says_what_to_install_before_it_starts(monkeypatch):
    def version(name):
        if name == "cma":
            raise PackageNotFoundError(name)

    monkeypatch.setattr(arena, "version", version)
    with pytest.raises(SystemExit, match=r"needs .*cma: pip install '.\[arena\]'"):
        arena.main([])


def test_a_reader_that_closes_the_pipe_sees_no_traceback():
    command = [sys.executable, "-m", "benchmarks"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = subprocess.run(
            command, cwd=_quick.ROOT, stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_short_forms_are_those_of_benchmarks_that_there_are():
    assert _quick.QUICK.keys() <= set(names())


def test_one_runs_in_its_short_form_and_options_go_on_top(monkeypatch, capsys):
    monkeypatch.setitem(_quick.QUICK, "prune", "--rows 120 --members 4")
    monkeypatch.setattr("sys.argv", ["benchmarks", "prune", "--quick", "--rows", "100"])
    assert main() == 0
    out = capsys.readouterr().out
    assert "100" in out
    assert "120" not in out


def test_all_of_them_are_a_page_that_does_not_name_the_machine(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setitem(_quick.QUICK, "prune", "--rows 100 --members 4")
    monkeypatch.setitem(_quick.QUICK, "serve", "--sets nonsense")
    runs = [
        _quick.Run("prune", 2.3, "a table", failed=False),
        _quick.Run("serve", 0.1, "Traceback of /home/someone", failed=True),
    ]
    monkeypatch.setattr(_quick, "_runs", lambda names: iter(runs))
    page = tmp_path / "benchmarks.md"
    monkeypatch.setattr("sys.argv", ["benchmarks", "all", "--page", str(page)])
    assert main() == 1
    text = page.read_text(encoding="utf-8")
    assert "python -m benchmarks prune --rows 100 --members 4" in text
    assert "a table" in text
    assert "It did not run" in text
    assert platform.node() not in text
    assert "/home" not in text
    assert "serve: failed" in capsys.readouterr().out


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
    intervals.main(["--sets", "diabetes", "--class-sets", "blobs-3", *small])
    out = capsys.readouterr().out
    assert out.count("of 1 ") >= 14
    assert "EP-pruned, scaled" in out
    assert "pool by EP, aps" in out


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


def test_merged_boosters_are_the_weighted_sum(capsys):
    ship.main(["--merge", "--rows", "300", "--sets", "friedman1"])
    row = capsys.readouterr().out.splitlines()[0].split(" | ")
    assert row[0] == "friedman1"
    assert all(float(cell) < 1e-5 for cell in row[1:])


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


def test_the_line_of_autogluon_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon.tabular", None)
    with pytest.raises(SystemExit, match=r"pip install 'autogluon\.tabular"):
        shell.main(["--tables", "heart", "--autogluon"])
