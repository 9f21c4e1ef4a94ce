"""A network as scikit-learn's own, with the same predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import LabelBinarizer

from committee._typing import FloatArray
from committee.networks.embeddings import relu_layer


def native_network(network: Any) -> Any:
    """Return an `MLPRegressor` or `MLPClassifier` with the weights of a network.

    Two classes have one output there: the difference of ours.
    """
    coefs, intercepts = list(network.coefs_), list(network.intercepts_)
    if network.edges_ is not None:
        coefs, intercepts = _with_embedding(network, coefs, intercepts)
    hidden = tuple(W.shape[1] for W in coefs[:-1])
    options = {"hidden_layer_sizes": hidden, "activation": network.activation}
    if not is_classifier(network):
        return _holding(MLPRegressor(**options), network, coefs, intercepts, "identity")
    model = MLPClassifier(**options)
    model.classes_ = network.classes_
    model._label_binarizer = LabelBinarizer().fit(network.classes_)
    if len(network.classes_) > 2:
        return _holding(model, network, coefs, intercepts, "softmax")
    coefs[-1] = coefs[-1][:, 1:] - coefs[-1][:, :1]
    intercepts[-1] = intercepts[-1][1:] - intercepts[-1][:1]
    return _holding(model, network, coefs, intercepts, "logistic")


def _with_embedding(
    network: Any, coefs: list[FloatArray], intercepts: list[FloatArray]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the network with its embedding as a first layer."""
    if network.activation != "relu":
        raise ValueError(
            "An embedding is a layer of relu units, and scikit-learn's networks have "
            f'one activation for all layers: train with activation="relu". Got '
            f"{network.activation!r}; committee.save keeps it."
        )
    A, a, B = relu_layer(network.edges_)
    return [A, B @ coefs[0], *coefs[1:]], [a, *intercepts]


def _holding(
    model: Any,
    network: Any,
    coefs: list[FloatArray],
    intercepts: list[FloatArray],
    output: str,
) -> Any:
    """Return scikit-learn's network as if it had been trained."""
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
