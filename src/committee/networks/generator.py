"""`Networks`: M neural networks trained together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import delayed

from committee._parallel import bar_with_text, results_of
from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee._validation import AT_LEAST_ONE, Interval, StrOptions
from committee.members.base import (
    Asked,
    BatchedGenerator,
    GenerateOptions,
    Generation,
    Sample,
    TrainingData,
    draw_seeds,
)
from committee.members.resampling import Bagging, CrossSplits, MiniBatches
from committee.networks.network import (
    Network,
    NetworkClassifier,
    NetworkRegressor,
    outputs,
)
from committee.networks.training import (
    Block,
    MemberRows,
    TrainedNetwork,
    blocks_of,
    interruptible,
    stopping_sample,
    train_block,
)
from committee.networks.training_arrays import TrainingArrays, standardise

#: Two streams of random numbers for each member.
_OF_ROWS, _OF_TRAINING = 0, 1


@dataclass(eq=False, repr=False)
class Networks(BatchedGenerator):
    """Train M neural networks as one tensor.

        h_k = g(x W_k + b_k),  k = 1..M:   all M by one batched product of matrices

    Every member has its own initial weights, order of rows, sample and early stopping.
    It is stopped and weighed on rows that it does not train on. Because these rows choose
    the epoch, each half of them is predicted with the weights of the epoch that the other
    half would choose. The same seed gives the same members for any M and any `n_jobs`:
    the first ten of a hundred equal those of `Networks(10)`. Columns and targets are
    standardised once, on all rows.

    The committee's `estimator` is a `NetworkRegressor` or `NetworkClassifier`; default
    settings are used without one. The first Ctrl-C ends the training after the current
    epoch, keeps the members trained so far, and warns.

    Parameters
    ----------
    n_members : int, default=100
    data : {"all", "bagging", "cross-splits", "mini-batches"}, default="all"
        Training rows of a member: all rows except its `validation_fraction`, a bootstrap
        sample, all parts of a random split except one, or one part. It is stopped on some
        of the other rows, and weighed on all of them.
    n_splits : int, default=10
        Number of parts of a split.
    share : {"adapters"}, default=None
        Share the weights of the hidden layers between members; each member has its own
        adapter and head: h_k = g(((x * r_k) W) * s_k + b_k). All members train on the
        same rows, and the loss of their mean prediction decides when to stop. Needs
        data="all". A member's `coefs_` are W * (r_k s_k').
    coupling : float, default=0.0
        nu >= -1 of the term nu/2 sum_k (f_k - f_mean)^2 in the loss, where f are numbers
        or class probabilities. As in `CoupledKernelRegressor`, nu > 0 makes members agree
        and nu < 0 makes them disagree (negative correlation learning). At nu = -1 the
        squared error depends on the mean of the members only. All members train on the
        same rows, as with `share`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor, EPPruner, NetworkRegressor, Networks
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = CommitteeRegressor(
    ...     NetworkRegressor(hidden_layer_sizes=20, max_epochs=50),
    ...     generator=Networks(20, data="bagging"),
    ...     combiner=EPPruner(),
    ...     random_state=0,
    ... ).fit(X, y)
    >>> committee.n_members_ < 20
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "data": [StrOptions({"all", "bagging", "cross-splits", "mini-batches"})],
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "share": [StrOptions({"adapters"}), None],
        "coupling": [Interval(Real, -1, None, closed="left")],
    }

    n_members: int = 100
    _: KW_ONLY
    data: str = "all"
    n_splits: int = 10
    share: str | None = None
    coupling: float = 0.0

    @property
    def joint(self) -> bool:
        """True if members are trained jointly, on the same rows."""
        return self.share is not None or self.coupling != 0.0

    def has_unseen_rows(self, estimator: Member | None) -> bool:
        """Return True unless members train on all rows, without early stopping."""
        return self.data != "all" or getattr(estimator, "patience", 1) is not None

    def default_member(self, tree: Any) -> Member:
        """Return the default estimator: a network of the same task as the default tree."""
        return NetworkClassifier() if is_classifier(tree()) else NetworkRegressor()

    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of `size`."""
        estimator, data, size, options = asked
        self._validate_params()
        self._check(estimator, data, size, options.held_out)
        root = int(draw_seeds(check_random_state(options.random_state), 1)[0])
        template = clone(estimator)
        Z = template._check_X(data.X, reset=True)
        arrays = standardise(Z, data.y, data.n_classes, data.sample_weight)
        for start in range(0, self.n_members, size):
            numbers = np.arange(start, min(start + size, self.n_members))
            rows = self._rows(template, data, numbers, root)
            found = self._train(template, arrays, rows, numbers, root, options)
            members = [
                _member(template, arrays, data, network, _seed(root, numbers[i]))
                for i, network in found.items()
            ]
            networks = list(found.values())
            stopped = _interrupted(networks, len(rows))
            known: Any = ()
            if options.held_out:
                rows, empty = [rows[i] for i in found], data.empty_predictions()
                known = predict_held_out(members, networks, rows, arrays, Z, empty)
            yield Generation(members, *known)
            if stopped:
                return

    def _check(
        self, estimator: Any, data: TrainingData, size: int, held_out: bool
    ) -> None:
        """Raise if the estimator or the options cannot be trained together."""
        if not isinstance(estimator, Network):
            raise TypeError(
                "Networks trains NetworkRegressor and NetworkClassifier. Got "
                f"{type(estimator).__name__}. RandomInits and Bagging take any estimator; "
                "put a pipeline around the committee."
            )
        estimator._validate_params()
        if data.fit_params:
            raise ValueError(
                "Networks passes only sample_weight to its members. Got "
                f"{sorted(data.fit_params)}."
            )
        if self.joint and self.data != "all":
            raise ValueError(
                "With share or coupling all members train on the same rows: set "
                f'data="all". Got {self.data!r}.'
            )
        if self.joint and size < self.n_members:
            raise ValueError(
                "With share or coupling all members are trained jointly, not in batches: "
                'leave out stop="evidence".'
            )
        if held_out and self.data == "all" and estimator.patience is None:
            raise ValueError(
                'data="all" and patience=None leave no rows out to weigh members on: set '
                'a patience, data="bagging", or a fraction as weigh_on.'
            )

    def _rows(
        self, template: Network, data: TrainingData, numbers: IntArray, root: int
    ) -> list[MemberRows]:
        """Return the training and validation rows of some members."""
        s = data.sample_weight
        counted = np.arange(len(data)) if s is None else np.flatnonzero(s > 0)
        if self.data == "all":
            drawn_by = np.zeros_like(numbers) if self.joint else numbers
            return [
                template.own_rows(counted, _random(root, m, _OF_ROWS)) for m in drawn_by
            ]
        sampler = self._sampler()
        # The first seeds are the same for any number of members.
        of_rows = np.random.SeedSequence(root)
        seeds = of_rows.generate_state(sampler.n_seeds()).astype(np.intp)
        found = []
        for m in numbers:
            sample = sampler.sample(int(m), data, seeds)
            train, left_out = _train_and_left_out(sample, counted)
            random = _random(root, m, _OF_ROWS)
            stop = stopping_sample(left_out, len(train), random)
            if template.patience is not None and not len(stop):
                raise ValueError(
                    f"Member {m} trains on all {len(counted)} rows "
                    f"(n_samples={len(counted)}) and has none left for early stopping: "
                    "pass more rows, or patience=None."
                )
            found.append(MemberRows(train, stop))
        return found

    def _train(
        self,
        template: Network,
        arrays: TrainingArrays,
        rows: list[MemberRows],
        numbers: IntArray,
        root: int,
        options: GenerateOptions,
    ) -> dict[int, TrainedNetwork]:
        """Return the trained networks, without those that Ctrl-C kept from starting."""
        settings = template.training_settings(
            arrays, coupling=float(self.coupling), weighted=self.data != "bagging"
        )
        seeds = [_sequence(root, m, _OF_TRAINING) for m in numbers]
        found: dict[int, TrainedNetwork] = {}
        if self.joint:
            blocks = [Block(np.arange(len(rows)), rows[:1], seeds, bool(self.share))]
        else:
            blocks = blocks_of(settings, rows, seeds, n_jobs=options.n_jobs)
        bar = bar_with_text(len(rows), "training", options.verbose)
        with interruptible() as interruption, bar as advance:

            def report(epoch: int, running: int, loss: float) -> None:
                advance(0, f"epoch {epoch}, held-out loss {loss:.4g}")

            how = interruption, report if options.verbose else None
            calls = (
                delayed(train_block)(settings, arrays, block, *how) for block in blocks
            )
            results = results_of(calls, options.n_jobs, prefer="threads")
            for block, networks in zip(blocks, results, strict=True):
                # After Ctrl-C, a block that has not begun has no networks.
                found.update(zip(block.members.tolist(), networks, strict=False))
                advance(len(networks), "")
        return dict(sorted(found.items()))

    def _sampler(self) -> Any:
        """Return the generator that draws rows like this one."""
        if self.data == "bagging":
            return Bagging(self.n_members)
        kind = CrossSplits if self.data == "cross-splits" else MiniBatches
        return kind(self.n_splits, -(-self.n_members // self.n_splits))

    @available_if(  # type: ignore[untyped-decorator]
        lambda self: self.data in ("bagging", "mini-batches") and not self.joint
    )
    def of_chunk(self, n_members: int, n_rows: int, total: int) -> Any:
        """Return the generator of the members of one chunk of the rows."""
        return self._sampler().of_chunk(n_members, n_rows, total)


def _sequence(root: int, member: Any, purpose: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(root, spawn_key=(int(member), purpose))


def _random(root: int, member: Any, purpose: int) -> np.random.Generator:
    return np.random.default_rng(_sequence(root, member, purpose))


def _seed(root: int, member: Any) -> int:
    """Return the `random_state` of a member."""
    return int(_sequence(root, member, _OF_TRAINING).generate_state(1)[0] >> 1)


def _train_and_left_out(sample: Sample, counted: IntArray) -> tuple[IntArray, IntArray]:
    """Return the training rows, repeated by their counts, and all other rows."""
    train = sample.rows
    if sample.weights is not None and sample.weights.dtype.kind == "i":
        train = np.repeat(train, sample.weights.astype(np.intp))
    train = train[np.isin(train, counted)]
    return train, np.setdiff1d(counted, train)


def _member(
    template: Network,
    arrays: TrainingArrays,
    data: TrainingData,
    network: Any,
    seed: int,
) -> Network:
    """Return a trained network as a fitted estimator."""
    member: Network = clone(template).set_params(random_state=seed)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(template, name):
            setattr(member, name, getattr(template, name))
    if data.n_classes is not None:
        member.classes_ = np.arange(data.n_classes)
    return member.hold(arrays, network)


def _interrupted(networks: list[TrainedNetwork], asked: int) -> bool:
    """Return whether Ctrl-C came, and warn about the members it affected."""
    cut = [network.n_epochs for network in networks if not network.finished]
    if len(networks) == asked and not cut:
        return False
    if not networks:
        raise KeyboardInterrupt
    short = f", {len(cut)} of them for no more than {max(cut)} epochs," if cut else ""
    warnings.warn(
        f"Ctrl-C ended the training: {len(networks)} of {asked} networks are "
        f"trained{short} and kept.",
        stacklevel=8,  # the line that called fit
    )
    return True


def predict_held_out(
    members: Sequence[Any],
    networks: Sequence[Any],
    rows: Sequence[MemberRows],
    arrays: TrainingArrays,
    Z: FloatArray,
    empty: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Return F and the mask of the rows that members did not train on.

        t(S) = argmin_t  loss of the weights theta_t on rows S,   t the epochs
        F[n] = f(x_n; theta_t(stop)),       n not in stop = A + B
        F[n] = f(x_n; theta_t(stop - A)),   n in A, and with B in place of A

    The loss at t(stop) is the least of many on the same rows, and so too small. With 20
    validation rows of 200, squared errors on them were 0.76 of the errors on fresh rows;
    with the epoch of the other half they were 0.96 to 1.03.

    Parameters
    ----------
    members : list of M fitted networks
        At theta_t(stop).
    networks : list of M TrainedNetwork
        `halves` holds the weights at t(stop - B) and t(stop - A), in this order.
    rows : list of M MemberRows
    arrays : TrainingArrays
        The arrays of the training.
    Z : array of shape (N, d)
        Checked rows.
    empty : array of shape (N,) or (N, K)
        An array with the shape of one member's predictions.

    Returns
    -------
    F : array of shape (N, M) or (N, M, K)
    mask : bool array of shape (N, M)
    """
    slabs = np.zeros((len(members), *empty.shape))
    mask = np.ones((len(members), len(Z)), dtype=bool)
    for m, (member, own) in enumerate(zip(members, rows, strict=True)):
        mask[m, own.train] = False
        slabs[m, mask[m]] = _predictions(
            member, networks[m].matrices, arrays, Z[mask[m]]
        )
        halves = reversed(own.halves)
        for half, matrices in zip(halves, networks[m].halves, strict=False):
            slabs[m, half] = _predictions(member, matrices, arrays, Z[half])
    return np.moveaxis(slabs, 0, 1), mask.T


def _predictions(
    member: Any, matrices: Any, arrays: TrainingArrays, Z: FloatArray
) -> FloatArray:
    """Return predictions (N,) or probabilities (N, K) of a member with these weights."""
    out = outputs(*arrays.in_units_of_rows(matrices), member.activation, Z)
    return member._probabilities(out) if is_classifier(member) else out[:, 0]
