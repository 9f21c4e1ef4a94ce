"""NetworkRegressor and NetworkClassifier: one network as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import AT_LEAST_ONE, Interval, StrOptions
from committee.networks.layers import Layout
from committee.networks.training import (
    Block,
    MemberRows,
    TrainedNetwork,
    TrainingSettings,
    split_for_stopping,
    train_block,
)
from committee.networks.training_arrays import (
    TrainingArrays,
    standardise,
)
from committee.targets import ClassTargets, FitsArrays, NumberTargets


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
    """Raise ValueError if a data frame has columns of categories or text."""
    kinds = [str(kind) for kind in getattr(X, "dtypes", [])]
    strange = [
        k
        for k in kinds
        if k.lower().startswith(("category", "categorical", "enum", "str"))
    ]
    if strange:
        raise ValueError(
            f"Networks need numeric columns. Got {len(strange)} columns of type "
            f"{strange[0]}: encode them in a pipeline around the committee, with "
            "make_column_transformer((OneHotEncoder(), [...]), remainder=...)."
        )


@dataclass(eq=False, repr=False)
class Network(FitsArrays):
    """Options, training and weights of networks for numbers and for classes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "hidden_layer_sizes": ["array-like", AT_LEAST_ONE],
        "activation": [StrOptions({"relu", "tanh"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [AT_LEAST_ONE],
        "max_epochs": [AT_LEAST_ONE],
        "patience": [AT_LEAST_ONE, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    coefs_: list[FloatArray] = field(init=False)
    intercepts_: list[FloatArray] = field(init=False)

    hidden_layer_sizes: int | Sequence[int] = (50, 50)
    _: KW_ONLY
    activation: str = "relu"
    learning_rate: float = 0.01
    weight_decay: float = 0.01
    dropout: float = 0.0
    batch_size: int = 32
    max_epochs: int = 200
    patience: int | None = 15
    validation_fraction: float = 0.1
    random_state: RandomState = None

    def _check_X(self, X: Any, *, reset: bool) -> FloatArray:
        """Return X as an array; with `reset`, store its columns."""
        _refuse_categories(X)
        return validate_data(self, X, dtype=np.float64, reset=reset)  # type: ignore[no-any-return]

    def training_settings(
        self, arrays: TrainingArrays, *, coupling: float = 0.0, weighted: bool = True
    ) -> TrainingSettings:
        """Return layers and options for these arrays.

        Raise ValueError if `hidden_layer_sizes` does not hold positive integers.
        """
        given: Any = self.hidden_layer_sizes
        hidden = (given,) if isinstance(given, Integral) else tuple(given)
        if not all(isinstance(size, Integral) and int(size) >= 1 for size in hidden):
            raise ValueError(
                "hidden_layer_sizes must contain numbers of units, each at least 1. "
                f"Got {self.hidden_layer_sizes!r}."
            )
        n_columns, n_outputs = arrays.X.shape[1] - 1, arrays.Y.shape[1]
        return TrainingSettings(
            Layout((n_columns, *map(int, hidden), n_outputs)),
            self.activation,  # type: ignore[arg-type]
            float(self.dropout),
            int(self.batch_size),
            float(self.learning_rate),
            float(self.weight_decay),
            int(self.max_epochs),
            self.patience,
            coupling=coupling,
            weighted=weighted,
        )

    def hold(self, arrays: TrainingArrays, network: TrainedNetwork) -> Self:
        """Store a trained network, in the units of the rows and targets."""
        self.coefs_, self.intercepts_ = arrays.in_units_of_rows(network.matrices)
        self.n_iter_ = network.n_epochs
        self.validation_loss_ = network.loss
        return self

    def _fit(
        self, Z: FloatArray, y: Any, n_classes: int | None, s: FloatArray | None
    ) -> Self:
        """Train on checked rows, targets and weights."""
        arrays = standardise(Z, y, n_classes, s)
        counted = np.arange(len(Z)) if s is None else np.flatnonzero(s > 0)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        for_rows, for_training = np.random.SeedSequence(int(seed)).spawn(2)
        rows = self.own_rows(counted, np.random.default_rng(for_rows))
        block = Block(np.arange(1), [rows], [for_training])
        (network,) = train_block(self.training_settings(arrays), arrays, block)
        return self.hold(arrays, network)

    def own_rows(self, rows: IntArray, random: np.random.Generator) -> MemberRows:
        """Return training rows, and validation rows if there is a patience."""
        if self.patience is None:
            return MemberRows(rows, rows[:0])
        if len(rows) < 2:
            raise ValueError(
                f"Early stopping needs 2 rows (n_samples={len(rows)}): one for "
                "training and one for validation. Pass more rows, or patience=None."
            )
        return split_for_stopping(rows, float(self.validation_fraction), random)

    def _scores(self, X: Any) -> FloatArray:
        """Return the outputs, (N, 1) or (N, K)."""
        check_is_fitted(self, "coefs_")
        Z = self._check_X(X, reset=False)
        return outputs(self.coefs_, self.intercepts_, self.activation, Z)

    def to_sklearn(self) -> Any:
        """Return scikit-learn's network with the same predictions.

        Returns
        -------
        network : MLPRegressor or MLPClassifier
        """
        check_is_fitted(self, "coefs_")
        coefs, intercepts = list(self.coefs_), list(self.intercepts_)
        hidden = tuple(W.shape[1] for W in coefs[:-1])
        options = {"hidden_layer_sizes": hidden, "activation": self.activation}
        if not is_classifier(self):
            return _holding(
                MLPRegressor(**options), self, coefs, intercepts, "identity"
            )
        model = MLPClassifier(**options)
        model.classes_ = self.classes_
        model._label_binarizer = LabelBinarizer().fit(self.classes_)
        if len(self.classes_) > 2:
            return _holding(model, self, coefs, intercepts, "softmax")
        # One output for two classes: the difference of ours.
        coefs[-1] = coefs[-1][:, 1:] - coefs[-1][:, :1]
        intercepts[-1] = intercepts[-1][1:] - intercepts[-1][:1]
        return _holding(model, self, coefs, intercepts, "logistic")

    _as_native = to_sklearn


class NetworkRegressor(NumberTargets, Network):
    """A neural network for regression; `Networks` trains many of them at once.

        f(x) = W_L g(... g(W_1 x + b_1) ...) + b_L,    minimising the squared error

    by Adam with decoupled weight decay, in single precision. Columns and targets are
    standardised for training, and the weights converted back to the original units:
    `coefs_` and `intercepts_` have the same meaning as in `MLPRegressor`. Training stops
    `patience` epochs after the smallest loss on validation rows, and restores the weights of
    that epoch. Missing values raise an error: impute them in a pipeline, and encode
    categories with `OneHotEncoder`.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(50, 50)
    activation : {"relu", "tanh"}, default="relu"
        g.
    learning_rate : float, default=0.01
    weight_decay : float, default=0.01
        Every step subtracts learning_rate x weight_decay of the weights; intercepts do
        not decay.
    dropout : float, default=0.0
        Probability that a hidden unit is dropped in a step.
    batch_size : int, default=32
    max_epochs : int, default=200
    patience : int or None, default=15
        Number of epochs without a lower loss after which training stops. None runs
        `max_epochs` epochs on all rows.
    validation_fraction : float, default=0.1
        Fraction of the rows used as validation rows.
    random_state : int, RandomState instance or None, default=None
        Controls the initial weights, the order of the rows and the validation rows.
        Pass an int for reproducible results.

    Attributes
    ----------
    coefs_ : list of arrays of shape (in, out)
    intercepts_ : list of arrays of shape (out,)
    n_iter_ : int
        Number of epochs run.
    validation_loss_ : float
        Smallest loss on the validation rows, for a standardised target; NaN without any.
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import NetworkRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = NetworkRegressor(random_state=0).fit(X, y)
    >>> network.score(X, y) > 0.4
    True
    >>> [W.shape for W in network.coefs_]
    [(10, 50), (50, 50), (50, 1)]
    """


class NetworkClassifier(ClassTargets, Network):
    """A neural network for classification; `Networks` trains many of them at once.

        p(x) = softmax(W_L g(... g(W_1 x + b_1) ...) + b_L),    minimising the log-loss

    Parameters
    ----------
    hidden_layer_sizes, activation, learning_rate, weight_decay :
        As for `NetworkRegressor`.
    dropout, batch_size, max_epochs, patience, validation_fraction, random_state :
        As for `NetworkRegressor`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    coefs_, intercepts_, n_iter_, n_features_in_ :
        As for `NetworkRegressor`.
    validation_loss_ : float
        Smallest log-loss on the validation rows; NaN without any.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import NetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> NetworkClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the softmax of the outputs (N, K)."""
        p: FloatArray = softmax(scores, axis=1)
        return p


def _holding(
    model: Any,
    network: Any,
    coefs: list[FloatArray],
    intercepts: list[FloatArray],
    output: str,
) -> Any:
    """Set the fitted attributes of scikit-learn's network and return it."""
    model.coefs_, model.intercepts_ = coefs, intercepts
    model.n_layers_ = len(coefs) + 1
    model.n_outputs_ = coefs[-1].shape[1]
    model.out_activation_ = output
    model.n_iter_, model.t_ = network.n_iter_, 0
    model.loss_ = model.best_loss_ = float(np.nan_to_num(network.validation_loss_))
    model.n_features_in_ = network.n_features_in_
    if hasattr(network, "feature_names_in_"):
        model.feature_names_in_ = network.feature_names_in_
    return model
