"""Adam in few passes against the printed algorithm."""

import numpy as np

from committee.networks.adam import Adam


def test_steps_are_those_of_the_printed_algorithm():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((2, 5))
    decayed = np.array([1, 1, 0, 1, 0])
    adam = Adam(theta, learning_rate=0.01, decay=0.3, decayed=decayed)
    plain, m, v = theta.copy(), 0.0, 0.0
    for t in range(1, 8):
        g = rng.standard_normal(theta.shape) * 10.0**-t
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        mhat, vhat = m / (1 - 0.9**t), v / (1 - 0.999**t)
        plain -= 0.01 * 0.3 * decayed * plain
        plain -= 0.01 * mhat / (np.sqrt(vhat) + 1e-8)
        adam.update(theta, g.copy())
        np.testing.assert_allclose(theta, plain, rtol=1e-12, atol=1e-14)


def test_members_that_are_kept_have_their_own_moments():
    theta = np.ones((3, 4))
    g = np.arange(12.0).reshape(3, 4) + 1
    whole = Adam(theta, learning_rate=0.1, decay=0.0, decayed=np.ones(4))
    whole.update(theta, g.copy())
    some = theta[[0, 2]]
    whole.keep([0, 2])
    whole.update(some, g[[0, 2]].copy())
    alone = Adam(np.ones((2, 4)), learning_rate=0.1, decay=0.0, decayed=np.ones(4))
    again = np.ones((2, 4))
    for _ in range(2):
        alone.update(again, g[[0, 2]].copy())
    np.testing.assert_array_equal(some, again)
