"""Metadata routing: to a committee's members, and to the splitter of a Pool."""

from __future__ import annotations

from typing import Any

from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from committee._typing import Member
from committee._validation import routing_enabled
from committee.ensembles.member_features import OnFeatures


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
