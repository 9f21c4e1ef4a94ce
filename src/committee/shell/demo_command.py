"""committee demo: two committees on digits, a table and a page."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from committee._typing import FloatArray
from committee.combiners import EPPruner
from committee.committee import CommitteeClassifier
from committee.diagnostics import ambiguity
from committee.members import Bagging, Pool
from committee.predictions import member_predictions
from committee.pruning.costs import seconds_per_row
from committee.reporting import report
from committee.shell.options import Demo
from committee.shell.tables import PAGE, check_output


def demo(options: Demo) -> None:
    """Train and prune two committees, and print their errors."""
    check_output(options.output, endings=PAGE)
    outcomes = run_demo(
        seed=options.seed,
        n_jobs=options.jobs,
        verbose=not options.quiet,
        page=options.output,
    )
    if options.as_json:
        results = {o["name"]: o for o in outcomes}
        options.messages.result({"report": options.output, "committees": results})
        return
    print("Two committees on scikit-learn's digits: 1,198 rows to train, 599 to test.")
    Console().print(_table(outcomes))
    print(
        "The best member is chosen on the test rows, in hindsight.\n"
        "Member error and diversity are squared distances of probabilities.\n"
        f"A page about the different models: {options.output}"
    )


def _table(outcomes: list[dict[str, Any]]) -> Table:
    """Return a table with a column for each committee."""
    table = Table("", box=box.SIMPLE_HEAD, header_style="bold")
    for o in outcomes:
        table.add_column(o["name"], justify="right")
    for label, text in (
        ("members kept", "{n_kept} of {n_members}"),
        ("test error of the best member", "{best_member:.1%}"),
        ("test error of the plain mean", "{plain_mean:.1%}"),
        ("test error of the committee", "{committee:.1%}"),
        ("mean member error", "{ambiguity.member_error:.3f}"),
        ("- diversity", "{ambiguity.diversity:.3f}"),
        ("= committee's error", "{ambiguity.ensemble_error:.3f}"),
        ("predicting is faster by", "{speed_up:.1f} x"),
        ("seconds to train and prune", "{seconds:.1f}"),
    ):
        table.add_row(label, *(text.format(**o) for o in outcomes))
    return table


# --- the committees -------------------------------------------------------------------


def run_demo(
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
    page: str | None = None,
) -> list[dict[str, Any]]:
    """Train and prune a pool of different models and a bag of trees on digits.

    Parameters
    ----------
    seed : int, default=0
    n_jobs : int, default=None
    verbose : bool, default=False
    page : str, default=None
        File for the report about the pool.

    Returns
    -------
    outcomes : list of dict
        For each committee: `name`, `n_members`, `n_kept`; the test errors `best_member`,
        `plain_mean` and `committee`; the `ambiguity` of the probability vectors on the
        test rows; `speed_up`, the prediction time of all members divided by the time of
        the kept ones; `seconds` of training and weighing.
    """
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    committees = {
        "unlike models": CommitteeClassifier(
            generator=Pool(unlike_models()), combiner=EPPruner()
        ),
        "bagged trees": CommitteeClassifier(
            DecisionTreeClassifier(),
            generator=Bagging(100),
            combiner=EPPruner(),
        ),
    }
    outcomes = []
    for name, committee in committees.items():
        committee.set_params(random_state=seed, n_jobs=n_jobs, verbose=verbose)
        with warnings.catch_warnings():
            # Networks of the pool may stop before they converge.
            warnings.simplefilter("ignore", ConvergenceWarning)
            outcomes.append(_outcome(name, committee, *split))
    if page is not None:
        _, X_test, _, y_test = split
        pool = committees["unlike models"]
        report(pool, X_test, y_test, page, title="Unlike models on digits")
    return outcomes


def unlike_models() -> list[tuple[str, Any]]:
    """Return 25 classifiers of different kinds, with names."""
    scaled = StandardScaler
    return [
        ("logistic", make_pipeline(scaled(), LogisticRegression(max_iter=500))),
        ("logistic-0.01", make_pipeline(scaled(), LogisticRegression(C=0.01))),
        ("ridge", RidgeClassifier()),
        ("sgd", make_pipeline(scaled(), SGDClassifier())),
        ("linear-svm", make_pipeline(scaled(), LinearSVC())),
        ("lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ("qda", QuadraticDiscriminantAnalysis(reg_param=0.1)),
        ("svm", SVC()),
        ("svm-10", SVC(C=10)),
        ("svm-poly", SVC(kernel="poly", degree=2)),
        ("1-neighbour", KNeighborsClassifier(1)),
        ("5-neighbours", KNeighborsClassifier(5)),
        ("15-neighbours", KNeighborsClassifier(15, weights="distance")),
        ("nearest-city-block", KNeighborsClassifier(3, p=1)),
        ("gaussian-nb", GaussianNB(var_smoothing=1e-3)),
        ("bernoulli-nb", BernoulliNB(binarize=8.0)),
        ("multinomial-nb", make_pipeline(MinMaxScaler(clip=True), MultinomialNB())),
        ("tree", DecisionTreeClassifier()),
        ("tree-8", DecisionTreeClassifier(max_depth=8)),
        ("random-tree", ExtraTreeClassifier()),
        ("forest", RandomForestClassifier(50)),
        ("forest-8", RandomForestClassifier(50, max_depth=8)),
        ("extra-trees", ExtraTreesClassifier(50)),
        ("network", make_pipeline(scaled(), MLPClassifier((64,), max_iter=60))),
        ("network-16", make_pipeline(scaled(), MLPClassifier((16,), max_iter=60))),
    ]


def _outcome(
    name: str, committee: CommitteeClassifier, X: Any, X_test: Any, y: Any, y_test: Any
) -> dict[str, Any]:
    """Fit one committee and measure it on the test rows."""
    start = time.perf_counter()
    committee.fit(X, y)
    seconds = time.perf_counter() - start
    # Without a combiner the same seeds give all members, including dropped ones.
    everyone = clone(committee).set_params(combiner=None, verbose=False).fit(X, y)
    F = everyone.member_predictions(X_test)
    assert committee.combiner_ is not None
    w = committee.combiner_.weights_
    codes = committee.classes_.searchsorted(y_test)

    def error(scores: FloatArray) -> float:
        return float((scores.argmax(axis=1) != codes).mean())

    slow, fast = (
        seconds_per_row(partial(member_predictions, members), X_test)
        for members in (everyone.members_, committee.members_)
    )
    return {
        "name": name,
        "n_members": len(w),
        "n_kept": committee.n_members_,
        "best_member": min(error(F[:, m]) for m in range(F.shape[1])),
        "plain_mean": error(F.mean(axis=1)),
        "committee": error(committee.predict_proba(X_test)),
        "ambiguity": ambiguity(F, codes, w / w.sum()),
        "speed_up": slow / fast,
        "seconds": seconds,
    }
