"""Small forests and the problem of refining them."""

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from committee.ensembles import roster_of
from committee.refining import Nodes
from committee.refining.problem import Problem


def forest_of(of_classes, n_trees=6, N=120):
    if of_classes:
        X, y = make_classification(N, 6, n_informative=4, n_classes=3, random_state=0)
        return RandomForestClassifier(n_trees, random_state=0).fit(X, y), X, y
    X, y = make_friedman1(N, random_state=0)
    return RandomForestRegressor(n_trees, random_state=0).fit(X, y), X, y


def nodes_of(forest):
    trees = [tree.tree_ for tree in forest.estimators_]
    return Nodes(trees, [tree.value[:, 0, :] for tree in trees])


def problem_of(of_classes, **options):
    forest, X, y = forest_of(of_classes, **options)
    nodes, k = nodes_of(forest), len(forest.estimators_)
    return Problem(
        nodes,
        np.full(k, 1 / k),
        forest.apply(X) + nodes.start[:-1],
        np.eye(3)[y] if of_classes else y[:, None],
        np.ones(len(y)),
        roster_of(forest).held_out(len(y)),
    )
