"""What networks for numbers and for classes share: settings, training, weights."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import (
    Interval,
    StrOptions,
    check_sample_weight,
)
from committee.networks.blocks import Block, Kind, TrainedNetwork, train_block
from committee.networks.embeddings import piecewise_linear, quantile_edges
from committee.networks.inputs import Prepared, prepare
from committee.networks.layout import Layout
from committee.networks.native import native_network
from committee.networks.rows import MemberRows, split_for_stopping
from committee.networks.training import Settings

_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")


def outputs(
    coefs: Sequence[FloatArray],
    intercepts: Sequence[FloatArray],
    activation: str,
    Z: FloatArray,
) -> FloatArray:
    """Return the outputs (N, out) of a plain network."""
    h = Z
    for i, (W, b) in enumerate(zip(coefs, intercepts, strict=True)):
        if i:
            h = np.maximum(h, 0.0, out=h) if activation == "relu" else np.tanh(h, out=h)
        h = h @ W
        h += b
    return h


def _refuse_categories(X: Any) -> None:
    """Refuse frames whose columns are no numbers, though they may look like some."""
    kinds = [str(kind) for kind in getattr(X, "dtypes", [])]
    strange = [
        k
        for k in kinds
        if k.lower().startswith(("category", "categorical", "enum", "str"))
    ]
    if strange:
        raise ValueError(
            f"Networks take columns of numbers. Got {len(strange)} of {strange[0]}: put "
            "make_column_transformer((OneHotEncoder(), [...]), remainder=...) in front, "
            "in a pipeline around the committee."
        )


class Network(BaseEstimator):
    """What networks for numbers and for classes share."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": ["array-like", _AT_LEAST_ONE],
        "activation": [StrOptions({"relu", "tanh"})],
        "embedding": [StrOptions({"piecewise-linear"}), None],
        "n_bins": [_AT_LEAST_ONE],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [_AT_LEAST_ONE],
        "max_epochs": [_AT_LEAST_ONE],
        "patience": [_AT_LEAST_ONE, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    coefs_: list[FloatArray]
    intercepts_: list[FloatArray]
    edges_: list[FloatArray] | None

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (50, 50),
        *,
        activation: str = "relu",
        embedding: str | None = None,
        n_bins: int = 8,
        learning_rate: float = 0.01,
        weight_decay: float = 0.01,
        dropout: float = 0.0,
        batch_size: int = 32,
        max_epochs: int = 200,
        patience: int | None = 15,
        validation_fraction: float = 0.1,
        random_state: RandomState = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.embedding = embedding
        self.n_bins = n_bins
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def checked(self, X: Any, *, reset: bool) -> FloatArray:
        """Return X as an array; with `reset`, learn its columns and their bins."""
        _refuse_categories(X)
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        if reset:
            self.edges_ = None
            if self.embedding is not None:
                self.edges_ = quantile_edges(X, self.n_bins)
        return X if self.edges_ is None else piecewise_linear(X, self.edges_)

    def kind(self, prepared: Prepared, **options: Any) -> Kind:
        """Return what networks of a problem have in common; see `Settings`."""
        given: Any = self.hidden_layer_sizes
        hidden = (given,) if isinstance(given, Integral) else tuple(given)
        if not all(isinstance(size, Integral) and int(size) >= 1 for size in hidden):
            raise ValueError(
                "hidden_layer_sizes must hold numbers of units, each at least 1. Got "
                f"{self.hidden_layer_sizes!r}."
            )
        settings = Settings(
            int(self.batch_size),
            float(self.learning_rate),
            float(self.weight_decay),
            int(self.max_epochs),
            self.patience,
            **options,
        )
        layout = Layout((prepared.n_columns, *map(int, hidden), prepared.n_outputs))
        return Kind(layout, self.activation, float(self.dropout), settings)

    def hold(self, prepared: Prepared, network: TrainedNetwork) -> Self:
        """Keep a network that was trained on a prepared problem."""
        self.coefs_, self.intercepts_ = prepared.in_units_of_rows(network.matrices)
        self.n_iter_ = network.n_epochs
        self.validation_loss_ = network.loss
        return self

    def _fit(
        self, Z: FloatArray, y: Any, n_classes: int | None, sample_weight: Any
    ) -> Self:
        """Train on checked rows and targets."""
        check_consistent_length(Z, y)
        s = check_sample_weight(sample_weight, Z)
        prepared = prepare(Z, y, n_classes, s)
        counted = np.arange(len(Z)) if s is None else np.flatnonzero(s > 0)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        for_rows, for_training = np.random.SeedSequence(int(seed)).spawn(2)
        rows = self.own_rows(counted, np.random.default_rng(for_rows))
        block = Block(np.arange(1), [rows], [for_training])
        (network,) = train_block(self.kind(prepared), prepared.problem, block)
        assert network is not None
        return self.hold(prepared, network)

    def own_rows(self, rows: IntArray, random: np.random.Generator) -> MemberRows:
        """Return rows to train on, and with a patience some to be stopped on."""
        if self.patience is None:
            return MemberRows(rows, rows[:0])
        if len(rows) < 2:
            raise ValueError(
                f"Early stopping needs 2 rows (n_samples={len(rows)}): one to train on "
                "and one to look at. Give more rows, or patience=None."
            )
        return split_for_stopping(rows, float(self.validation_fraction), random)

    def values(self, Z: FloatArray) -> FloatArray:
        """Return the outputs (N, out) of checked rows."""
        return outputs(self.coefs_, self.intercepts_, self.activation, Z)

    def _outputs(self, X: Any) -> FloatArray:
        check_is_fitted(self, "coefs_")
        return self.values(self.checked(X, reset=False))

    def to_sklearn(self) -> Any:
        """Return scikit-learn's network with the same predictions.

        Returns
        -------
        network : MLPRegressor or MLPClassifier
            An embedding becomes its first layer, of relu units, and so needs
            `activation="relu"`.
        """
        check_is_fitted(self, "coefs_")
        return native_network(self)

    _as_native = to_sklearn
