"""What networks predict on rows that they did not train on, nor were stopped for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.networks.inputs import Prepared
from committee.networks.network import Network, outputs
from committee.networks.rows import MemberRows


def predict_held_out(
    members: Sequence[Any],
    networks: Sequence[Any],
    rows: Sequence[MemberRows],
    prepared: Prepared,
    Z: FloatArray,
    empty: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Return F and the mask of the rows that members did not train on.

        t(S) = argmin_t  loss of the weights theta_t on rows S,   t the epochs
        F[n] = f(x_n; theta_t(stop)),       n not in stop = A + B
        F[n] = f(x_n; theta_t(stop - A)),   n in A, and with B in place of A

    The loss at t(stop) is the least of many on these very rows. With 20 rows to be
    stopped on, of 200, squared errors there were 0.76 of those of fresh rows; by the epoch
    of the other half, 0.96 to 1.03 of them.

    Parameters
    ----------
    members : list of M fitted networks
        At theta_t(stop).
    networks : list of M TrainedNetwork
        With the weights at t(stop - B) and t(stop - A), in this order.
    rows : list of M MemberRows
    prepared : Prepared
        What they were trained on.
    Z : array of shape (N, d)
        Checked rows.
    empty : array of shape (N,) or (N, K)
        Predictions of one member have its shape.

    Returns
    -------
    F : array of shape (N, M) or (N, M, K)
    mask : bool array of shape (N, M)
    """
    slabs = np.zeros((len(members), *empty.shape))
    mask = np.ones((len(members), len(Z)), dtype=bool)
    for m, (member, own) in enumerate(zip(members, rows, strict=True)):
        mask[m, own.train] = False
        slabs[m, mask[m]] = member.from_outputs(member.values(Z[mask[m]]))
        halves = reversed(own.halves)
        for half, matrices in zip(halves, networks[m].halves, strict=False):
            slabs[m, half] = _predictions(member, prepared, matrices, Z[half])
    return np.moveaxis(slabs, 0, 1), mask.T


def _predictions(
    member: Network, prepared: Prepared, matrices: Any, Z: FloatArray
) -> Any:
    """Return what the member would predict with other weights."""
    out = outputs(*prepared.in_units_of_rows(matrices), member.activation, Z)
    return member.from_outputs(out)
