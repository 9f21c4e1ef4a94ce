"""Generated F that try to break a combiner: hypothesis strategies."""

import warnings

import numpy as np
from hypothesis import strategies as st

SCALES = st.sampled_from([1e-150, 1e-20, 1e-3, 1.0, 1e6, 1e150])
COLUMNS = st.sampled_from(
    ["random", "constant", "zero", "target", "opposite", "duplicate", "huge", "tiny"]
)


def votes(codes, K=2):
    """Return one-hot votes for the given class codes."""
    return np.eye(K)[codes]


@st.composite
def hostile_regression(draw):
    N, columns = (
        draw(st.integers(1, 30)),
        draw(st.lists(COLUMNS, min_size=1, max_size=8)),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = draw(SCALES) * draw(st.sampled_from([0.0, 1.0, 1.0])) * rng.normal(size=N)
    F = np.empty((N, len(columns)))
    for j, kind in enumerate(columns):
        noise = rng.normal(size=N)
        F[:, j] = {
            "random": noise,
            "constant": np.full(N, 3.0),
            "zero": np.zeros(N),
            "target": y,
            "opposite": -y,
            "duplicate": F[:, j - 1] if j else noise,
            "huge": 1e150 * noise,
            "tiny": 1e-150 * noise,
        }[kind]
    return F, y, _mask(draw, rng, F), _weights(draw, rng, N)


@st.composite
def hostile_votes(draw):
    N, M, K = draw(st.integers(1, 30)), draw(st.integers(1, 8)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, draw(st.sampled_from([1, K])), size=N)
    codes = rng.integers(0, K, size=(N, M))
    skill = draw(st.sampled_from(["random", "right", "wrong", "one class", "twins"]))
    if skill == "right":
        codes[:, 0] = y
    elif skill == "wrong":
        codes = np.repeat((y[:, None] + 1) % K, M, axis=1)
    elif skill == "one class":
        codes[:] = 0
    elif skill == "twins":
        codes = np.repeat(codes[:, :1], M, axis=1)
    F = votes(codes, K) * draw(st.sampled_from([1.0, 1e-150, 1e150]))
    return F, y, _mask(draw, rng, F), _weights(draw, rng, N)


def _mask(draw, rng, F):
    share = draw(st.sampled_from([None, 0.1, 0.5, 0.9]))
    if share is None:
        return None
    mask = rng.random(F.shape[:2]) < share
    mask.flat[draw(st.integers(0, mask.size - 1))] = True
    return mask


def _weights(draw, rng, N):
    kind = draw(st.sampled_from([None, "whole", "light", "zeros"]))
    if kind is None:
        return None
    s = {
        "whole": rng.integers(1, 5, size=N).astype(float),
        "light": 1e-6 * rng.random(N),
        "zeros": rng.integers(0, 2, size=N).astype(float),
    }[kind]
    s[0] = max(s[0], 1e-7)
    return s


def fit_or_refuse(combiner, F, y, held_out, s, *, ignore=()):
    """Fit with finite weights, or refuse by a ValueError; never a warning.

    Returns whether it was fitted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in ignore:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "Sample weights count", UserWarning)
        try:
            combiner.fit(F, y, held_out=held_out, sample_weight=s)
        except np.linalg.LinAlgError:
            raise
        except ValueError:
            return False
    assert np.all(np.isfinite(combiner.weights_))
    assert len(combiner.weights_) == F.shape[1]
    return True
