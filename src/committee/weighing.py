"""From trained members to weights: all at once, or in batches as evidence rises."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from committee._typing import FloatArray, Member, Output
from committee.combiners import Combiner
from committee.combiners.ep_pruner import EvidencePruner
from committee.ensembles.forests import is_tree
from committee.members import Generation, Generator, TrainingData
from committee.members.base import Asked, BatchedGenerator, GenerateOptions
from committee.predictions import predict_all

#: Members that are trained between two computations of the evidence.
BATCH = 20
#: A batch must raise the log evidence by this much, "strong" on the scale of Kass
#: and Raftery (1995): odds of 20 to 1.
STRONG = 3.0
#: Number of consecutive batches without such a rise after which training ends.
PATIENCE = 2


def weigh(
    combiner: Combiner | None,
    generation: Generation,
    rows: TrainingData,
    *,
    output: Output,
    n_jobs: int | None,
    needs_F: bool = False,
) -> tuple[Combiner | None, FloatArray, FloatArray | None]:
    """Fit a clone of the combiner on the generation's F, or on F of the given rows.

    Without a combiner the weights are the generator's, or else equal.

    Returns
    -------
    combiner : fitted Combiner or None
    weights : array of shape (M,)
    F : array of shape (N, M) or (N, M, K), or None
        None if neither the combiner nor `needs_F` needs predictions.
    """
    M, F = len(generation.members), generation.F
    learns = combiner is not None and combiner.needs_rows
    if F is None and (learns or needs_F):
        F = predict_all(
            generation.members,
            rows.X,
            classes=rows.classes,
            output=output,
            n_jobs=n_jobs,
        )
    if combiner is None:
        own = generation.weights
        return None, np.full(M, 1.0 / M) if own is None else own, F
    combiner = copy_for_members(combiner, generation.members, output)
    if learns:
        mask, s = generation.held_out, rows.sample_weight
        combiner.fit(F, rows.y, held_out=mask, sample_weight=s)
    else:
        shape = () if rows.n_classes is None else (rows.n_classes,)
        combiner.fit(np.zeros((1, M, *shape)), np.zeros(1))
    if generation.names is not None:
        combiner.member_names_ = generation.names
    return combiner, combiner.weights_, F


def copy_for_members(
    combiner: Combiner, members: list[Member], output: Output
) -> Combiner:
    """Return an unfitted copy of a combiner for these members.

    With pool="auto" trees are averaged, so that they stay a forest, and so are scores.
    """
    if output != "soft" or all(is_tree(member) for member in members):
        return combiner.copy_for("votes")
    made: Combiner = clone(combiner)
    return made


def grow(
    generator: Any,
    estimator: Member,
    data: TrainingData,
    combiner: Combiner,
    *,
    rows: TrainingData | None = None,
    **options: Any,
) -> tuple[Generation, Combiner]:
    """Train members in batches until new ones no longer raise the evidence.

        stop when  log p(y | F_1..m) <= best so far + 3  for two batches in a row

    Parameters
    ----------
    generator : generator
        It trains its members one by one, or independently of each other.
    estimator : scikit-learn estimator
    data : TrainingData
    combiner : combiner
        `EPPruner` or `ARDPruner`; it is cloned.
    rows : TrainingData, default=None
        Rows to weigh on that no member is trained on. None: for each member the rows that
        it leaves out.
    **options
        Passed to the generator.

    Returns
    -------
    generation : Generation
        The members trained so far, at most as many as `generator` has.
    combiner : Combiner
        Fitted on all of them.
    """
    _refuse_others(generator, combiner, rows)
    weighing = data if rows is None else rows
    combiner = clone(combiner)
    best, failures, members = -np.inf, 0, []
    parts: list[FloatArray] = []
    masks: list[Any] = []
    options["held_out"] = rows is None
    asked = Asked(estimator, data, BATCH, GenerateOptions(**options))
    for batch in generator.batches(asked):
        members += batch.members
        if rows is None:
            parts.append(batch.F)
        else:
            how = {"classes": rows.classes, "output": generator.output}
            parts.append(predict_all(batch.members, rows.X, **how))
        masks.append(batch.held_out)
        F = np.concatenate(parts, axis=1)
        held_out = None if masks[0] is None else np.concatenate(masks, axis=1)
        fitted = combiner.fit(
            F, weighing.y, held_out=held_out, sample_weight=weighing.sample_weight
        )
        combiner = fitted.copy_for(fitted.pool_)
        evidence = float(fitted.path_.log_evidence.max())
        failures = 0 if evidence > best + STRONG else failures + 1
        best = max(best, evidence)
        if failures == PATIENCE:
            break
    return Generation(members, F, held_out), fitted


def _refuse_others(
    generator: Generator, combiner: Combiner, rows: TrainingData | None
) -> None:
    """Raise before any work for generators and combiners that cannot grow."""
    if not isinstance(generator, BatchedGenerator):
        raise TypeError(
            'stop="evidence" needs a generator that trains any number of members, such '
            f"as Bagging or AdaBoost. Got {type(generator).__name__}."
        )
    if rows is None and not generator.leaves_rows_out:
        raise ValueError(
            f"{type(generator).__name__} leaves no rows out, and on training rows the "
            "evidence is not informative: pass a fraction of the rows to weigh on, "
            "such as weigh_on=0.25."
        )
    if not isinstance(combiner, EvidencePruner):
        raise TypeError(
            'stop="evidence" needs a combiner that computes the evidence: EPPruner or '
            f"ARDPruner. Got {type(combiner).__name__}."
        )
