"""Benchmarks are run by hand; here only that each can be called by name."""

import importlib
import pkgutil

import pytest

import benchmarks
from benchmarks.__main__ import main

NAMES = [
    module.name
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if not module.name.startswith("_")
]


@pytest.mark.parametrize("name", NAMES)
def test_has_a_main(name):
    assert callable(importlib.import_module(f"benchmarks.{name}").main)


def test_an_unknown_name_lists_the_known_ones(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["benchmarks", "nonsense"])
    assert main() == 2
    assert "generate" in capsys.readouterr().out
