"""What a refined committee knows of itself: costs, errors and residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import BoolArray
from committee.calibration import fit_calibration
from committee.ensembles.member_features import bare_tree
from committee.losses import log_losses
from committee.probabilities import as_probabilities
from committee.pruning.costs import seconds_per_row, stored_bytes
from committee.pruning.refined_trees import Refined, Refiner
from committee.pruning.refinement import RefinedSize, Refinement
from committee.pruning.summary import Summary, disagreement, paired_difference
from committee.uncertainty.held_out_rows import HeldOutResiduals, HeldOutScores


def errors_of(
    refiner: Refiner, refined: Refined
) -> tuple[dict[str, float], float, float]:
    """Return errors by name, after - before, and the standard error of that."""
    rows, honest = refiner.evaluation.rows, refined.honest
    mean = {name: rows.mean(x, honest.counted)[0] for name, x in honest.losses.items()}
    gap = honest.losses["after"] - honest.losses["before"]
    se = rows.mean(gap, honest.counted)[1]
    if not refiner.of_classes:
        # sqrt(a) - sqrt(b) = (a - b) / (sqrt(a) + sqrt(b))
        mean = {name: float(np.sqrt(max(x, 0.0))) for name, x in mean.items()}
        total = mean["after"] + mean["before"]
        se = se / total if total > 0 else 0.0
    return mean, mean["after"] - mean["before"], se


def finished(
    refiner: Refiner, refined: Refined, size: RefinedSize, path: tuple[RefinedSize, ...]
) -> Any:
    """Return the committee with `refinement_`, a summary and its honest residuals."""
    made, honest, data = refined.committee, refined.honest, refiner.data
    error, _, se = errors_of(refiner, refined)
    before = [bare_tree(member).tree_ for member in data.roster.members]
    after = [tree.tree_ for tree in made.members_]
    made.refinement_ = Refinement(
        measure="error rate" if refiner.of_classes else "RMSE",
        n_rows=int(honest.counted.sum()),
        n_members_before=len(before),
        n_members_after=len(after),
        leaves_before=sum(int(tree.n_leaves) for tree in before),
        leaves_after=sum(int(tree.n_leaves) for tree in after),
        depth_before=max(int(tree.max_depth) for tree in before),
        depth_after=max(int(tree.max_depth) for tree in after),
        bytes_before=stored_bytes(data.ensemble),
        bytes_after=size.n_bytes,
        error_before=error["before"],
        error_plain=error["plain"],
        error_after=error["after"],
        difference_se=se,
        n_votes=honest.n_votes,
        least_rows=refined.settings.least,
        ridge=float(refined.settings.ridge * len(after)),
        labels=refined.settings.labels,
        all_rows=refined.settings.all_rows,
        path=path,
    )
    if refiner.of_classes:
        log_loss = _calibrated(refiner, refined)
    else:
        log_loss = {}
        made._held_out_rows = _residuals(refiner, refined)
    made._summary = _summary(refiner, refined, made.refinement_, log_loss)
    return made


def _calibrated(refiner: Refiner, refined: Refined) -> dict[str, float]:
    """Calibrate the committee on honest rows; return log-losses before and after."""
    made, honest, rows = refined.committee, refined.honest, refiner.evaluation.rows
    y, s = rows.y.astype(np.intp), refiner.weight * honest.counted
    output = honest.output["after"]
    p = as_probabilities(output)
    if made.calibration is not None:
        found = fit_calibration(made.calibration, p, y, s, sums=output)
        made._calibration, p = found, found(p, output)
    made._held_out_rows = HeldOutScores.of(p, y, honest.counted, rows.weight)
    before, after = refiner.log_losses_before(), log_losses(p, y)
    gap, se = paired_difference(after, before, s)
    means = (float(np.average(losses, weights=s)) for losses in (before, after))
    names = ("before", "after", "difference", "difference_se")
    return {
        f"log_loss_{name}": value
        for name, value in zip(names, (*means, gap, se), strict=True)
    }


def _residuals(refiner: Refiner, refined: Refined) -> HeldOutResiduals:
    """Return |y - f| on honest rows, of trees like the kept ones."""
    rows, honest = refiner.evaluation.rows, refined.honest
    counted = (
        honest.counted if rows.weight is None else honest.counted & (rows.weight > 0)
    )
    residual = np.abs(honest.output["after"] - refiner.y)[:, 0]
    return HeldOutResiduals.some(residual, honest.spread, counted)


def _summary(
    refiner: Refiner, refined: Refined, found: Refinement, log_loss: dict[str, float]
) -> Summary:
    """Return before and after as `prune` does."""
    honest, rows = refined.honest, refiner.evaluation.rows
    fitted = rows.mean(refiner.losses(refined.fitted), honest.counted)[0]
    share, upper = disagreement(_differs(refiner, refined)[honest.counted])
    X = refiner.evaluation.X
    return Summary(
        measure=found.measure,
        n_rows=found.n_rows,
        n_members_before=found.n_members_before,
        n_members_after=found.n_members_after,
        error_before=found.error_before,
        error_after=found.error_after,
        difference=found.error_after - found.error_before,
        difference_se=found.difference_se,
        cross_fitted=True,
        error_as_weighed=float(fitted if refiner.of_classes else np.sqrt(fitted)),
        loo=None,
        loo_measure="",
        bytes_before=found.bytes_before,
        bytes_after=found.bytes_after,
        seconds_before=seconds_per_row(refiner.data.template.predict, X),
        seconds_after=seconds_per_row(refined.committee.predict, X),
        disagreement=share,
        disagreement_upper=upper,
        oob=rows.held_out is not None,
        is_classifier=refiner.of_classes,
        names_after=refined.committee.roster_.names,
        **log_loss,
    )


def _differs(refiner: Refiner, refined: Refined) -> BoolArray:
    """Whether other classes are predicted, or numbers that are far from each other."""
    before, after = (refined.honest.output[name] for name in ("before", "after"))
    if refiner.of_classes:
        return np.asarray(before.argmax(axis=1) != after.argmax(axis=1))
    rows, counted = refiner.evaluation.rows, refined.honest.counted
    far = np.sqrt(max(rows.mean(refined.honest.losses["before"], counted)[0], 0.0))
    return np.asarray(np.abs(before - after)[:, 0] > far)
