"""Training of one member, or of many in parallel; errors name the member.

Metadata is routed to members, and to the splitter of a Pool.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import has_fit_parameter

from committee._parallel import results_of, track
from committee._typing import Member
from committee._validation import index_params, routing_enabled, safe_indexing
from committee.distributed.chunks import Chunks
from committee.distributed.collections import numbered
from committee.ensembles.member_features import OnFeatures
from committee.members.base import Sample, TrainingData

#: Results that are fetched from Dask by one call, which takes some 10 ms.
_FETCHED_AT_ONCE = 20


class MemberFitError(ValueError):
    """A member could not be trained; `__cause__` is the original exception.

    Attributes
    ----------
    index : int
        Number of the member that failed.
    members : list
        The members trained before it, in order.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from committee import Bagging, CommitteeRegressor, MemberFitError
    >>> committee = CommitteeRegressor(Ridge(alpha=-1.0), generator=Bagging(3))
    >>> try:
    ...     committee.fit([[0.0], [1.0]], [0.0, 1.0])
    ... except MemberFitError as error:
    ...     print(error.index, len(error.members), type(error.__cause__).__name__)
    0 0 InvalidParameterError
    """

    def __init__(self, message: str, index: int, members: list[Member]) -> None:
        super().__init__(message)
        self.index = index
        self.members = members

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs, so that worker processes can raise it."""
        return type(self), (str(self), self.index, self.members)


class _Failure:
    """An exception returned by a worker."""

    def __init__(self, index: int, kind: str, error: Exception) -> None:
        self.index = index
        self.kind = kind
        self.error = _portable(error)


def fit_member(
    estimator: Member,
    data: TrainingData,
    sample: Sample,
    seed: int,
    *,
    keep_seeds: bool = False,
) -> Member:
    """Return a clone of the estimator, trained on the sample.

    Weights are passed as `sample_weight` if the learner takes it. Otherwise counts become
    repeated rows, and weights become a weighted resample. With `keep_seeds`, a
    `random_state` that is set is kept.
    """
    member = clone(estimator)
    set_random_states(member, seed, only_unset=keep_seeds)
    rows, params = sample.rows, params_of_fit(member, data.fit_params)
    if sample.weights is not None:
        if not np.any(sample.weights > 0):
            raise ValueError("None of its rows has a positive sample_weight.")
        if takes_sample_weight(member):
            params["sample_weight"] = _spread(sample, len(data))
            rows = rows[sample.weights > 0]
        else:
            rows = _repeated_rows(sample, seed)
    y = data.y[rows]
    try:
        return member.fit(
            safe_indexing(data.X, rows), y, **index_params(data.X, params, indices=rows)
        )
    except ValueError as error:
        # A learner that needs two classes is replaced by the constant prediction.
        one_class = data.n_classes is not None and np.ptp(y) == 0
        if not (one_class and re.search(r"\bclass(es)?\b", str(error))):
            raise
        constant = DummyClassifier(strategy="most_frequent")
        return constant.fit(safe_indexing(data.X, rows), y)


def set_random_states(
    estimator: Member, seed: int, *, only_unset: bool = False
) -> None:
    """Set every `random_state` of the estimator and its parts, each to its own seed."""
    rng = np.random.RandomState(seed)
    names = [
        name
        for name, value in sorted(estimator.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state"))
        and (value is None or not only_unset)
    ]
    if names:
        states = rng.randint(np.iinfo(np.int32).max, size=len(names))
        estimator.set_params(**dict(zip(names, map(int, states), strict=True)))


def run_parallel(
    jobs: Iterable[tuple[Any, ...]],
    total: int,
    *,
    label: str = "training",
    n_jobs: int | None,
    verbose: bool,
) -> Iterator[Any]:
    """Yield the results of independent (function, *args) jobs, in order.

    Each result is a tuple whose first entry is the fitted member. A job that fails
    raises MemberFitError, which contains the members trained before.
    """
    feed = _Feed(jobs)
    results = results_of((delayed(_guarded)(i, *job) for i, job in feed), n_jobs)
    yield from _checked(results, feed, total, label, verbose)


def run_in_turn(
    jobs: Iterable[tuple[Any, ...]], total: int, *, label: str, verbose: bool
) -> Iterator[Any]:
    """Yield results like `run_parallel`, one job after the other."""
    feed = _Feed(jobs)
    results = (_guarded(i, *job) for i, job in feed)
    yield from _checked(results, feed, total, label, verbose)


class Configured:
    """A function that runs on a worker with the scikit-learn settings of this process."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.config = get_config()

    def __call__(self, *args: Any) -> Any:
        """Call the function with these settings."""
        with config_context(**self.config):
            return self.function(*args)


def begin_on_chunks(
    function: Any, estimator: Member, data: Chunks, *args: Any, verbose: bool
) -> Chunks:
    """Start function(estimator, v_c, i, *args) for the i-th of some chunks.

    Each job runs on a worker that has its chunk, and its result stays there.
    """
    numbers, job = numbered(len(data)), Configured(function)
    tasks = numbers.map(_guarded, job, estimator, data, numbers, *args)
    return tasks.kept(verbose=verbose)


def run_on_chunks(begun: Chunks, *, label: str, verbose: bool) -> Iterator[Any]:
    """Yield results of `begin_on_chunks` like `run_parallel`."""
    size = 1 if verbose else _FETCHED_AT_ONCE
    starts = range(0, len(begun), size)
    feed = _Feed((Chunks(begun.parts[start : start + size]),) for start in starts)
    results = (result for _, (some,) in feed for result in some.values())
    yield from _checked(results, feed, len(begun), label, verbose)


class _Feed:
    """Numbered jobs, until `stopped` is set."""

    def __init__(self, jobs: Iterable[tuple[Any, ...]]) -> None:
        self.jobs = jobs
        self.stopped = False

    def __iter__(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        for index, job in enumerate(self.jobs):
            if self.stopped:
                return
            yield index, job


def _checked(
    results: Iterator[Any], feed: _Feed, total: int, label: str, verbose: bool
) -> Iterator[Any]:
    """Yield results; raise MemberFitError for the first failure."""
    finished: list[Member] = []
    for result in track(results, total, label, verbose):
        if isinstance(result, _Failure):
            # Running jobs end, and no new ones start.
            feed.stopped = True
            for _ in results:
                pass
            raise MemberFitError(
                f"Member {result.index} of {total} ({result.kind}) failed to fit: "
                f"{type(result.error).__name__}: {result.error} "
                f"({len(finished)} finished members are kept in the 'members' "
                "attribute of this exception.)",
                result.index,
                finished,
            ) from result.error
        finished.append(result[0])
        yield result


def _guarded(index: int, function: Any, *args: Any) -> Any:
    """Run a job; return an exception instead of raising it in the worker."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 (it is raised again, with its index)
        return _Failure(index, type(args[0]).__name__, error)


def _portable(error: Exception) -> Exception:
    """Return the exception if it can be pickled, otherwise one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 (whatever stops it, the text gets through)
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _spread(sample: Sample, n_rows: int) -> Any:
    """Return weights of all N rows, zero outside the sample."""
    assert sample.weights is not None
    full = np.zeros(n_rows)
    full[sample.rows] = sample.weights
    return full


def _repeated_rows(sample: Sample, seed: int) -> Any:
    """Return rows repeated by their counts, or drawn in proportion to weights."""
    assert sample.weights is not None
    if sample.weights.dtype.kind == "i":
        return np.repeat(sample.rows, sample.weights.astype(np.intp))
    p = sample.weights / sample.weights.sum()
    return np.random.RandomState(seed).choice(sample.rows, size=len(p), p=p)


def router_of(committee: Any) -> MetadataRouter:
    """Return the metadata router of a committee, for its members and its splitter."""
    router = MetadataRouter(owner=committee).add_self_request(committee)
    mapping = MethodMapping().add(caller="fit", callee="fit")
    for i, estimator in enumerate(committee._estimators()):
        router.add(**{f"estimator_{i}": estimator}, method_mapping=mapping)
    splitter = _splitter(committee)
    if splitter is not None:
        to_split = MethodMapping().add(caller="fit", callee="split")
        router.add(splitter=splitter, method_mapping=to_split)
    return router


def checked_metadata(committee: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata given to `fit`; raise TypeError if nothing requests it.

    As in scikit-learn's searches, `groups` are passed to a splitter that requests them
    even if metadata routing is disabled.
    """
    if not given:
        return {}
    if routing_enabled():
        process_routing(committee, "fit", **given)
        return given
    if set(given) == {"groups"}:
        asks = get_routing_for_object(_splitter(committee))
        if asks.consumes("split", ["groups"]):
            return given
        raise TypeError(
            "fit() got groups, but no splitter that takes them: set "
            "generator=Pool(..., cv=GroupKFold()) or another splitter that does."
        )
    raise TypeError(
        f"fit() got {sorted(given)}. Members get further arguments through metadata "
        "routing: call sklearn.set_config(enable_metadata_routing=True) and "
        "set_fit_request(...) on the estimator."
    )


def _splitter(committee: Any) -> Any:
    """Return the splitter of the generator, or None."""
    return getattr(getattr(committee, "generator", None), "splitter", None)


def params_of_fit(member: Member, given: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that the member requests for `fit`."""
    return _requested(_innermost(member), "fit", given)


def params_of_split(splitter: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that the splitter requests for `split`, such as groups."""
    return _requested(splitter, "split", given)


def _requested(taker: Any, method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata that an object requests for one of its methods."""
    if not given:
        return {}
    mapping = MethodMapping().add(caller="fit", callee=method)
    router = MetadataRouter(owner=taker).add(taker=taker, method_mapping=mapping)
    return dict(router.route_params(caller="fit", params=given).taker[method])


def takes_sample_weight(member: Member) -> bool:
    """Return True if `fit` takes sample_weight, or with metadata routing requests it."""
    member = _innermost(member)
    if routing_enabled():
        routing = get_routing_for_object(member)
        return bool(routing.consumes("fit", ("sample_weight",)))
    return bool(has_fit_parameter(member, "sample_weight"))


def _innermost(member: Member) -> Member:
    """Return the estimator inside wrappers that change features."""
    while isinstance(member, OnFeatures):
        member = member.estimator
    return member
