"""Ctrl-C: what is trained is kept, and a warning says so."""

import signal

import numpy as np
import pytest

from committee import CommitteeRegressor, NetworkRegressor, Networks
from committee.networks import training
from committee.networks.interruption import interruptible


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
    generator = Networks(5, max_bytes=1)
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
