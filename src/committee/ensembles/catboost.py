"""CatBoost: its rounds, their booster, its trees.

The library is imported only in functions that get one of its models. Models are changed
in their JSON form, which CatBoost reads and writes as a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Losses, Round, Shared, refusal, rounds_roster
from committee.ensembles.training_rows import rows_of_leaves
from committee.ensembles.tree_sum import TreeSum
from committee.ensembles.trees import Node, make_sum, nested_table, refuse_categories

_LOSSES = Losses(
    "loss_function",
    regression={"RMSE", "MAE", "Huber"},
    classification={"Logloss", "MultiClass"},
    unweighable={"Quantile"},
)


class CatBoostRound(Round):
    """A round of a CatBoost model; `model` is one with a single tree and no bias."""

    @staticmethod
    def predict_raw(model: Any, X: Any) -> Any:
        """Return the predictions of a model before its link."""
        return model.predict(X, prediction_type="RawFormulaVal")

    @staticmethod
    def layout(model: Any) -> tuple[Any, ...]:
        """Return the kind, the columns of X, and T."""
        _, bias = model.get_scale_and_bias()
        return type(model), len(model.feature_names_), np.size(bias)

    @staticmethod
    def rebuild(rounds: Sequence[Round], w: FloatArray, start: Any) -> Any:
        """Sum the weighted models, and set the start of the sum."""
        from catboost import sum_models

        shared = rounds[0].shared
        models = [member.model for member in rounds]
        document = _document(sum_models(models, weights=list(shared.n_rounds * w)))
        # The sum has the metadata of every model under a separate name.
        document["model_info"] = _metadata(_document(models[0]))
        document["scale_and_bias"] = [1, np.asarray(start).tolist()]
        booster = _loaded(type(models[0]), document)
        # A model read from a file has no settings; the pickle protocol can set them.
        state = {**booster.__getstate__(), **shared.wrapper.get_params()}
        model = type(booster)()
        model.__setstate__(state)
        return model


def catboost_roster(model: Any) -> Roster:
    """Return models of one tree."""
    document = _document(model)
    classes = _LOSSES.classes(model, _loss(document))
    trees = _trees_of(document)
    M = len(document[trees])
    if M == 0:
        raise ValueError(f"The {type(model).__name__} has no rounds to weigh.")
    others = sorted(document["features_info"].keys() - {"float_features"})
    if others:
        raise refusal(model, "features", others[0], "their splits are not on numbers")
    scale, start = document["scale_and_bias"]
    wrapper = type(model)(**model.get_params())
    shared = Shared(M, np.array(start, dtype=np.float64), classes, wrapper=wrapper)
    document["model_info"] = _metadata(document)
    document["scale_and_bias"] = [scale, [0.0] * len(start)]
    members = [
        CatBoostRound(_loaded(type(model), _cut(document, trees, tree)), shared)
        for tree in document[trees]
    ]
    return rounds_roster(
        members,
        partial(_stages, model, shared),
        partial(rows_of_leaves, partial(_rows_in_leaves, model, document[trees])),
    )


def catboost_trees(model: Any) -> TreeSum:
    """Return the trees as tables of nodes: numbers and missing values only."""
    document = _document(model)
    _LOSSES.check_sum(model, _loss(document))
    if document["features_info"].keys() > {"float_features"}:
        raise refuse_categories(model)
    features = document["features_info"]["float_features"]
    scale, base = document["scale_and_bias"]
    T = len(base)
    tables = []
    for tree in document[_trees_of(document)]:
        if "splits" in tree:
            values = scale * np.reshape(tree["leaf_values"], (-1, T))
            read = partial(_symmetric_node, features, tree["splits"], values)
            tables.append(nested_table((len(tree["splits"]), 0), read, T))
        else:
            tables.append(nested_table(tree, partial(_node, features, scale), T))
    return make_sum(model, tables, base, slope=1.0, n_features=len(features))


def catboost_columns(model: Any) -> dict[str, Any]:
    """Return the number of columns, and the column names of a frame.

    CatBoost names the columns of an array by their numbers. A model that was read from a
    file or a pickle has no attribute with their number.
    """
    names = model.feature_names_
    columns: dict[str, Any] = {"n_features_in_": len(names)}
    if not all(name.isdigit() for name in names):
        columns["feature_names_in_"] = np.array(names, dtype=object)
    return columns


def _stages(model: Any, shared: Shared, X: Any) -> Iterator[FloatArray]:
    """Yield start + M h_m of each round, from one call that finds all leaves."""
    T = len(np.asarray(shared.start))
    values = model.get_scale_and_bias()[0] * model.get_leaf_values().reshape(-1, T)
    ends = np.cumsum(model.get_tree_leaf_counts())
    firsts = ends - model.get_tree_leaf_counts()
    for first, leaves in zip(firsts, model.calc_leaf_indexes(X).T, strict=True):
        yield shared.raw(values[first + leaves])


def _rows_in_leaves(
    model: Any, trees: list[dict[str, Any]], X: Any
) -> Iterator[tuple[IntArray, Any]]:
    """Yield the leaf of each row, and the rows that trained each leaf, by tree.

    Yields nothing for trees that are not symmetric: their leaves have no order in JSON.
    """
    weights = [tree["leaf_weights"] for tree in trees if "leaf_weights" in tree]
    if len(weights) == len(trees):
        for leaf, trained in zip(model.calc_leaf_indexes(X).T, weights, strict=True):
            yield leaf, np.asarray(trained)


def _document(model: Any) -> dict[str, Any]:
    """Return a model as CatBoost writes it to JSON."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def _loaded(kind: type, document: dict[str, Any]) -> Any:
    """Return the model of this kind that the JSON describes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        return kind().load_model(str(path), format="json")


def _cut(document: dict[str, Any], trees: str, tree: Any) -> dict[str, Any]:
    """Return the JSON of a model of one tree, with the borders that it uses."""
    borders = sorted({(s["float_feature_index"], s["border"]) for s in _splits(tree)})
    for split in _splits(tree):
        place = split["float_feature_index"], split["border"]
        split["split_index"] = borders.index(place)
    features = [
        {**feature, "borders": [border for i, border in borders if i == number]}
        for number, feature in enumerate(document["features_info"]["float_features"])
    ]
    return {**document, trees: [tree], "features_info": {"float_features": features}}


def _splits(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the splits of a tree, symmetric or not."""
    yield from tree.get("splits", [])
    if "split" in tree:
        yield tree["split"]
        yield from _splits(tree["left"])
        yield from _splits(tree["right"])


def _trees_of(document: dict[str, Any]) -> str:
    """Return the key of the trees, symmetric ones or not."""
    return "oblivious_trees" if "oblivious_trees" in document else "trees"


def _metadata(document: dict[str, Any]) -> dict[str, Any]:
    """Return the few metadata that predictions need."""
    info = document["model_info"]
    # The text of a model that is read from a file may have both keys.
    loss = info.get("params", {}).get("loss_function", info.get("loss_function", {}))
    return {"loss_function": loss} | {
        k: info[k] for k in info.keys() & {"class_params"}
    }


def _loss(document: dict[str, Any]) -> str:
    loss = _metadata(document)["loss_function"]
    return str((json.loads(loss) if isinstance(loss, str) else loss).get("type"))


def _node(features: Any, scale: float, node: dict[str, Any]) -> Node:
    """Return a node of a tree that is not symmetric."""
    if "split" not in node:
        return Node(value=tuple(scale * np.atleast_1d(node["value"])))
    return _split(features, node["split"], (node["left"], node["right"]))


def _symmetric_node(
    features: Any, splits: Any, values: FloatArray, place: tuple[int, int]
) -> Node:
    """Return a node of a tree that has one split for each level.

    Bit i of a leaf's number is [x > border] of split i. A place is the number of bits
    that are not decided yet, and the leaf number of the others.
    """
    n_open, leaf = place
    if n_open == 0:
        return Node(value=tuple(values[leaf]))
    bit = n_open - 1
    return _split(features, splits[bit], ((bit, leaf), (bit, leaf + 2**bit)))


def _split(features: Any, split: dict[str, Any], children: tuple[Any, Any]) -> Node:
    feature = features[split["float_feature_index"]]
    return Node(
        children=children,
        feature=feature["flat_feature_index"],
        threshold=split["border"],
        missing_left=feature["nan_value_treatment"] != "AsTrue",
    )
