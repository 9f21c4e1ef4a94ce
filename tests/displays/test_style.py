"""Axes, names and text that all displays share."""

import builtins
import subprocess
import sys

import pytest

from committee import (
    AmbiguityDisplay,
    CriticalDifferenceDisplay,
    EPPruner,
    KappaErrorDisplay,
    PruningPathDisplay,
    ReduceErrorPruner,
    ReliabilityDisplay,
    WeightsDisplay,
)
from committee.displays import style


@pytest.mark.parametrize(
    "name", ["$x_1$", "a_b", "<script>alert(1)</script>", "\\$", "$", "50 % of $"]
)
def test_text_of_the_data_is_shown_as_it_is(name, ax):
    text = ax.text(0, 0, style.literal(name))
    shown, is_math = text._preprocess_math(text.get_text())
    assert (shown, is_math) == (name, False)


def test_long_names_are_cut_and_lines_joined():
    assert style.literal("a\nb  c") == "a b c"
    assert style.literal("x" * 100) == "x" * 31 + "…"


def test_names_are_numbers_unless_given():
    assert style.check_names(None, 3, "members") == ["0", "1", "2"]
    with pytest.raises(ValueError, match=r"each of the 3 members. Got 2"):
        style.check_names(["a", "b"], 3, "members")


def test_thinning_keeps_both_ends():
    assert style.thin(3, 5).tolist() == [0, 1, 2]
    kept = style.thin(1000, 10)
    assert len(kept) == 10
    assert (kept[0], kept[-1]) == (0, 999)


def test_a_twin_is_made_once(ax):
    assert style.twin_axes(ax, "a") is style.twin_axes(ax, "a")
    assert style.twin_axes(ax, "a") is not style.twin_axes(ax, "b")


def test_new_figures_and_given_axes(ax):
    display = WeightsDisplay([1.0])
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert display.plot().ax_ is not ax


def pruning_path(F, y):
    path = EPPruner().fit(F, y).path_
    return PruningPathDisplay.from_path(path, F_test=F, y_test=y)


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (AmbiguityDisplay.from_predictions, {"lw": 1}),
        (lambda F, y: CriticalDifferenceDisplay(F[0, :40, 1], 0.1), {"color": "red"}),
        (KappaErrorDisplay.from_predictions, {"alpha": 0.5}),
        (pruning_path, {"lw": 1}),
        (lambda F, y: WeightsDisplay(F[0, :, 1]), {"marker": "s"}),
    ],
)
def test_few_and_many_members_are_drawn_twice_on_given_axes(
    make, option, many, ax, drawn
):
    display = make(*many)
    drawn(display.plot(ax))
    drawn(display.plot(ax, **option))


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    def no_matplotlib(name, *args, _import=builtins.__import__, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return _import(name, *args, **kwargs)

    display = WeightsDisplay([1.0])
    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r"pip install matplotlib\.$"):
        display.plot()


def test_matplotlib_comes_with_the_first_plot():
    code = (
        "import sys, committee\n"
        "display = committee.WeightsDisplay([0.5, 0.5])\n"
        "assert 'matplotlib' not in sys.modules\n"
        "display.plot()\n"
        "assert 'matplotlib' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("size", [(12, 7), (9, 6)])
def test_panels_of_a_grid_keep_their_room(size, binary_problem):
    """Legends stay within the figure, and no panel shrinks for one."""
    import matplotlib.pyplot as plt

    F, y = binary_problem
    figure, axes = plt.subplots(2, 3, figsize=size, layout="constrained")
    for pruner, panel in zip((EPPruner(), ReduceErrorPruner()), axes[0], strict=False):
        path = pruner.fit(F, y).path_
        PruningPathDisplay.from_path(path, F_test=F, y_test=y, ax=panel)
    AmbiguityDisplay.from_predictions(F, y, ax=axes[0, 2])
    KappaErrorDisplay.from_predictions(F, y, ax=axes[1, 0])
    ReliabilityDisplay.from_predictions(F.mean(axis=1), y, ax=axes[1, 1])
    WeightsDisplay.from_estimator(EPPruner().fit(F, y), ax=axes[1, 2])
    figure.canvas.draw()
    for ax in axes.flat:
        box = ax.get_position()
        assert box.width > 0.16
        assert box.height > 0.2
        legend = ax.get_legend()
        if legend is not None:
            extent = legend.get_window_extent()
            assert extent.x0 >= 0
            assert extent.x1 <= figure.bbox.x1
            assert extent.y1 <= figure.bbox.y1 + 1


def test_a_name_that_no_panel_holds_squeezes_nothing():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(6, 2), layout="constrained")
    axes[0].plot([0, 1], [0, 1], label="a name that is far too long " * 3)
    style.legend_above(axes[0])
    figure.canvas.draw()
    assert axes[0].get_position().width > 0.2
