"""The training loop, Adam, early stopping and Ctrl-C."""

import signal

import numpy as np
import pytest

from committee import CommitteeRegressor, NetworkRegressor, Networks
from committee.networks import training
from committee.networks.layers import Layout, SeparateLayers, initial_weights
from committee.networks.training import (
    Adam,
    MemberRows,
    RowOrders,
    StoppingRows,
    TrainingSettings,
    interruptible,
    split_for_stopping,
    stopping_sample,
    train,
)
from committee.networks.training_arrays import Scaling, SquaredError, TrainingArrays

LAYOUT = Layout((2, 6, 1))


def problem(N=120, s=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3)).astype(np.float32)
    X[:, -1] = 1
    y = np.sin(2 * X[:, :1]) + 0.3 * rng.standard_normal((N, 1))
    return TrainingArrays(
        X, y.astype(np.float32), s, SquaredError(), Scaling.of(X), None
    )


def run(
    members,
    *,
    epochs=60,
    patience=3,
    dropout=0.2,
    learning_rate=0.01,
    stop=lambda own: own.stop,
    **settings,
):
    """Train some members, each by its own seed; the rows of a member are its own."""
    randoms = [np.random.default_rng([7, m]) for m in members]
    theta = np.stack([initial_weights(LAYOUT, random) for random in randoms])
    rows = [split_for_stopping(np.arange(120), 0.3, random) for random in randoms]
    rows = [MemberRows(own.train, stop(own)) for own in rows]
    layers = SeparateLayers(LAYOUT, theta, "relu", dropout)
    how = TrainingSettings(
        LAYOUT, "relu", dropout, 32, learning_rate, 0.01, epochs, patience, **settings
    )
    return train(layers, problem(), rows, randoms, how)


def test_one_member_alone_is_the_same_in_the_batch():
    """Bit for bit, with members beside it that stop before and after."""
    together = run(range(6))
    assert len(set(together.n_epochs.tolist())) > 2
    for m in range(6):
        alone = run([m])
        np.testing.assert_array_equal(alone.theta[0], together.theta[m])
        assert alone.n_epochs[0] == together.n_epochs[m]
        assert alone.losses[0] == together.losses[m]


def test_the_weights_are_those_of_the_epoch_with_the_least_loss():
    long = run([0], patience=3)
    n = int(long.n_epochs[0])
    best = run([0], epochs=n - 3, patience=None)
    np.testing.assert_array_equal(best.theta, long.theta)
    assert n < 60
    assert np.isnan(best.losses[0])


def test_a_half_of_the_stopping_rows_has_the_weights_that_it_would_choose():
    """Bit for bit those of a network that is stopped on this half alone."""
    whole = run([0, 1, 2], patience=60)
    assert len(whole.halves) == 2
    for i, theta in enumerate(whole.halves):
        other = run([0, 1, 2], patience=60, stop=lambda own, i=i: own.halves[i])
        np.testing.assert_array_equal(theta, other.theta)
        assert not np.array_equal(theta, whole.theta)


def test_weights_of_rows_are_numbers_of_rows():
    """A batch of all rows has the gradient of rows repeated by their weights."""
    data = problem()
    counts = np.random.default_rng(1).integers(0, 3, 120)
    s = (counts / counts.mean()).astype(np.float32)
    repeated = np.repeat(np.arange(120), counts)
    found = []
    for each, rows in ((problem(s=s), np.arange(120)), (data, repeated)):
        random = np.random.default_rng(3)
        theta = initial_weights(LAYOUT, random)[None]
        layers = SeparateLayers(LAYOUT, theta, "tanh")
        how = TrainingSettings(LAYOUT, "tanh", 0.0, 1000, 0.01, 0.0, 20, None)
        own = [MemberRows(rows.copy(), rows[:0])]
        found.append(train(layers, each, own, [random], how).theta)
    np.testing.assert_allclose(*found, atol=1e-4)


def test_weights_without_bounds_are_refused():
    with pytest.raises(ValueError, match="smaller learning_rate"):
        run([0, 1], learning_rate=1e30)


def test_an_epoch_has_every_row_once_in_an_order_of_its_own():
    rows = [MemberRows(np.arange(10) + m, np.arange(0)) for m in (0, 5)]
    orders = RowOrders(rows, 4)
    randoms = [np.random.default_rng(m) for m in range(2)]
    epochs = [np.concatenate(list(orders.batches(randoms)), axis=1) for _ in range(2)]
    assert [b.shape for b in orders.batches(randoms)] == [(2, 4), (2, 4), (2, 2)]
    for epoch in epochs:
        assert np.sort(epoch[0]).tolist() == list(range(10))
        assert np.sort(epoch[1]).tolist() == list(range(5, 15))
    assert not np.array_equal(epochs[0], epochs[1])


def test_losses_are_means_over_each_members_own_rows():
    data = problem(400, np.linspace(0.5, 1.5, 400).astype(np.float32))
    rows = [MemberRows(np.arange(1), np.arange(n)) for n in (5, 300)]
    rng = np.random.default_rng(0)
    theta = np.stack([initial_weights(LAYOUT, rng) for _ in range(2)])
    layers = SeparateLayers(LAYOUT, theta, "relu")
    losses = StoppingRows(rows, data).losses(layers, data, joint=False)
    for m, each in enumerate(rows):
        for found, part in zip(losses[:, m], (each.stop, *each.halves), strict=True):
            f = layers.forward(data.X[part][None])[m]
            value = 0.5 * (f - data.Y[part])[:, 0] ** 2
            expected = np.average(value, weights=data.s[part])
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_half_without_rows_has_the_loss_of_all():
    data, rows = problem(), [MemberRows(np.arange(1), np.arange(7, 8))]
    theta = initial_weights(LAYOUT, np.random.default_rng(0))[None]
    layers = SeparateLayers(LAYOUT, theta, "relu")
    whole, first, second = StoppingRows(rows, data).losses(layers, data, joint=False)
    assert whole == first == second


def test_rows_to_be_stopped_on_are_apart_and_not_too_many():
    random = np.random.default_rng(0)
    own = split_for_stopping(np.arange(3, 53), 0.1, random)
    assert len(own.stop) == 5
    assert np.union1d(own.train, own.stop).tolist() == list(range(3, 53))
    assert len(split_for_stopping(np.arange(2), 0.01, random).stop) == 1
    assert len(stopping_sample(np.arange(5000), 1000, random)) == 500
    assert len(stopping_sample(np.arange(5000), 10, random)) == 100
    assert stopping_sample(np.arange(50), 10, random).tolist() == list(range(50))


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


@pytest.fixture(autouse=True)
def handler():
    """Set Python's own handler: tests that run in the background have none."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def _press_after(monkeypatch, n_steps):
    """Send SIGINT to this process after some steps of the training."""
    step, count = training._step, [0]

    def counting(*args):
        count[0] += 1
        if count[0] == n_steps:
            signal.raise_signal(signal.SIGINT)
        step(*args)

    monkeypatch.setattr(training, "_step", counting)


def test_networks_that_are_trained_by_then_are_kept(monkeypatch):
    X = np.random.default_rng(0).standard_normal((128, 3))
    network = NetworkRegressor(4, batch_size=128, max_epochs=10, patience=20)
    # Blocks of one member, of ten steps each.
    monkeypatch.setattr(training, "_CACHE", 1)
    generator = Networks(5)
    committee = CommitteeRegressor(network, generator=generator, random_state=0)
    whole = committee.fit(X, X[:, 0]).members_
    _press_after(monkeypatch, 24)
    with pytest.warns(UserWarning, match="3 of 5 networks are trained, 1 of them") as w:
        committee.fit(X, X[:, 0])
    assert w[0].filename == __file__
    assert [member.n_iter_ for member in committee.members_] == [10, 10, 4]
    np.testing.assert_array_equal(committee.members_[1].coefs_[0], whole[1].coefs_[0])


def test_the_second_one_is_python_s_own(handler):
    with interruptible() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is handler


def test_where_ctrl_c_is_ignored_it_stays_so():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible() as interruption:
        signal.raise_signal(signal.SIGINT)
    assert not interruption.asked
