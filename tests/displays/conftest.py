"""No window opens, and no figure outlives its test."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def drawn():
    """A function that draws a display for good, where most warnings would come."""

    def draw(display):
        assert display.ax_.figure is display.figure_
        display.figure_.canvas.draw()
        return display

    return draw


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


@pytest.fixture(params=[3, 500], ids=["M=3", "M=500"])
def n_members(request):
    return request.param


@pytest.fixture
def many(n_members):
    """F (60, M, 2) of probabilities and codes y, for few and for many members."""
    rng = np.random.default_rng(n_members)
    y = np.resize([0, 1], 60)
    p = 1 / (1 + np.exp(-(2 * y[:, None] - 1 + 1.5 * rng.normal(size=(60, n_members)))))
    return np.stack([1 - p, p], axis=2), y
