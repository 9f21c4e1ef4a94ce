"""Pictures of the texts: their numbers have known answers, their ink has labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.metrics import roc_auc_score

from committee import MCMCPruner
from studies import figures


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()
    plt.close(figure)


def test_roc_curves_of_members_and_committee(ax, rng):
    positive = np.arange(200) < 80
    f = positive[:, None] + rng.normal(size=(200, 3))
    figures.draw_roc_curves(ax, positive, f, f.mean(axis=1))
    areas = [roc_auc_score(positive, column) for column in f.T]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"{np.mean(areas):.3f} on average, {max(areas):.3f} at best" in texts[1]
    committee = roc_auc_score(positive, f.mean(axis=1))
    assert texts[2].startswith(f"committee: AUC {committee:.3f} ± 0.0")


def test_axes_are_those_of_largest_variance(rng):
    A = rng.normal(size=(5, 5))
    axes, variance = figures.principal_axes(A @ A.T)
    values = np.linalg.eigvalsh(A @ A.T)[::-1]
    assert variance == pytest.approx(values[:2])
    assert axes @ axes.T == pytest.approx(np.eye(2))
    assert np.all(axes[[0, 1], np.abs(axes).argmax(axis=1)] > 0)


def test_ellipses_hold_their_mass():
    variance = np.array([4.0, 1.0])
    for mass in (0.5, 0.95):
        radius = (figures.ellipse(variance, mass).T ** 2 / variance).sum(axis=1)
        assert radius == pytest.approx(chi2.ppf(mass, 2))


def test_draws_lie_around_the_gaussian_of_ep(ax, regression_problem):
    mcmc = MCMCPruner(n_samples=200, n_chains=2, random_state=0)
    figures.draw_posterior(ax, mcmc.fit(*regression_problem))
    _, variance = figures.principal_axes(mcmc.posterior_.cov)
    mean = ax.lines[0].get_xydata()[0]
    assert np.all(np.abs(mean) < np.sqrt(variance))
    assert ax.get_xlabel().startswith("first principal axis")


def test_rows_that_the_first_member_leaves_out_come_first(ax):
    mask = np.array([[False, True], [True, False], [False, True]])
    figures.draw_held_out(ax, mask)
    drawn = ax.images[0].get_array()
    assert drawn.tolist() == [[True, False, False], [False, True, True]]
