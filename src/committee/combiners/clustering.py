"""Keep one representative of each cluster of like members."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import Interval, StrOptions
from committee.combiners.ballots import Ballots, grid
from committee.combiners.base import Combiner
from committee.combiners.selection import equal_weights
from committee.votes import Votes


class ClusterPruner(Combiner):
    """Cluster the members by their predictions and keep the best of each cluster.

        d_ij^2 = mean_n |f_i(x_n) - f_j(x_n)|^2 = C_ii + C_jj - 2 C_ij

    The distance of two members is that of their predictions, which is also that of
    their errors: y cancels. It needs only the error correlation C, the shrunk one of
    pairs with `held_out`. The representative of a cluster is its most accurate
    member: of fewest wrong votes for classes (of those, and for regression, of least
    squared error).

    Parameters
    ----------
    n_members : int, default=25
        Number of clusters. All members are kept where there are no more than that;
        fewer than that where k-means finds fewer different members.
    method : {"agglomerative", "k-means"}, default="agglomerative"
        "agglomerative" joins the two nearest clusters, by the mean distance of their
        members, until `n_members` are left (Giacinto and Roli). "k-means" is that of
        the members as points with these distances (Lazarevic and Obradovic).
    random_state : int, RandomState instance or None, default=None
        Starts of k-means.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal for the representatives.
    support_ : array
        The representatives.
    labels_ : array of shape (M,)
        Cluster of each member; clusters are numbered by their first member.

    References
    ----------
    G. Giacinto, F. Roli, G. Fumera. Design of effective multiple classifier systems
    by clustering of classifiers. ICPR, 2000.
    A. Lazarevic, Z. Obradovic. Effective pruning of neural network classifier
    ensembles. IJCNN, 2001.

    Examples
    --------
    >>> from committee import ClusterPruner
    >>> F = [[1.0, 5.1, 1.1, 5.0], [2.0, 0.1, 2.1, 0.0], [3.0, 4.1, 3.1, 4.0]]
    >>> pruner = ClusterPruner(2).fit(F, [1.0, 2.0, 3.0])
    >>> pruner.labels_.tolist(), pruner.support_.tolist()
    ([0, 1, 0, 1], [0, 3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"agglomerative", "k-means"})],
        "random_state": ["random_state"],
    }

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"labels_": -1}
    labels_: IntArray

    def __init__(
        self,
        n_members: int = 25,
        *,
        method: Literal["agglomerative", "k-means"] = "agglomerative",
        random_state: RandomState = None,
    ) -> None:
        self.n_members = n_members
        self.method = method
        self.random_state = random_state

    def _weigh(self, problem: Votes) -> FloatArray:
        C, _ = problem.error_correlation()
        M = len(C)
        # Members that differ by rounding alone are equal: their number decides.
        C = np.round(C / (float(np.diag(C).max()) or 1.0), 12)
        # The best first: it is the representative of its cluster.
        keys = [np.diag(C)]
        if problem.n_classes is not None:
            keys.append(grid(Ballots(problem).errors()))
        rank = np.lexsort(keys)
        found = np.arange(M)
        if self.n_members < M:
            found[rank] = self._cluster(C[np.ix_(rank, rank)])
        _, first, inverse = np.unique(found, return_index=True, return_inverse=True)
        self.labels_ = first.argsort().argsort()[inverse]
        _, best = np.unique(self.labels_[rank], return_index=True)
        return equal_weights(rank[best], M)

    def _cluster(self, C: FloatArray) -> IntArray:
        """Return a cluster number for each member."""
        if self.method == "agglomerative":
            d = np.diag(C)
            D = np.sqrt(np.maximum(d[:, None] + d - 2 * C, 0.0))
            np.fill_diagonal(D, 0.0)
            tree = AgglomerativeClustering(
                self.n_members, metric="precomputed", linkage="average"
            )
            return np.asarray(tree.fit_predict(D), dtype=np.intp)
        values, vectors = np.linalg.eigh(C)
        # Eigenvalues at the level of rounding would separate twins.
        values[values < 1e-11 * values.max()] = 0.0
        # Points whose scalar products are C, and whose distances are those of errors.
        points = np.round(vectors * np.sqrt(values), 9)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        with warnings.catch_warnings():
            # Fewer different members than clusters: fewer representatives.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means = KMeans(self.n_members, n_init=10, random_state=seed).fit(points)
        return np.asarray(means.labels_, dtype=np.intp)
