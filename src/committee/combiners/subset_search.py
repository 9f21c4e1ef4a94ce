"""Choose a subset of the members: by evolution, by a convex relaxation, or by clusters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import AT_LEAST_ONE, Interval, StrOptions
from committee.combiners.ballots import Ballots, equal_weights, grid
from committee.combiners.base import Combiner
from committee.linalg.programmes import relax_choice, round_choice
from committee.votes import Sums, Votes, in_squared_units


@dataclass(eq=False, repr=False)
class GeneticPruner(Combiner):
    """Evolve weights and keep the members above the mean (GASEN).

        min_w  w'Cw,   w = v / sum v,   v in [0, 1]^M,    C = E'E / N,  E = F - y 1'
        keep m where w_m > 1/M;  they vote as equals

    A population of vectors v evolves. Each parent is the better of two random vectors,
    children are arithmetic or uniform crossovers of two parents, some entries are
    redrawn or shrunk, and the best old and new vectors survive. The first population
    contains the equal weights and every single member, so the evolved weights are at
    least as good as any of these. If the equal votes of the members above the threshold
    are worse than the best single member, only that member is kept.

    For classes C is computed from the probability vectors; with `held_out` it is the
    shrunk C of pairs.

    Parameters
    ----------
    votes : {"equal", "weighted"}, default="equal"
        "weighted" keeps all members with their evolved weights (Yao and Liu).
    threshold : float, default=None
        Weight above which a member is kept, for equal votes. None means 1/M.
    n_generations : int, default=200
    population : int, default=100
        Number of random vectors, in addition to the M + 1 fixed ones at the start.
    random_state : int, RandomState instance or None, default=None
        Controls the population. Pass an int for reproducible results.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_ : array
        Indices of the kept members.
    evolved_ : array of shape (M,)
        The best weights of the last generation; they sum to one.
    error_ : float
        w'Cw of `weights_`, the squared error on the rows of the fit.

    See Also
    --------
    SimplexWeights : The exact minimum of the same objective.

    References
    ----------
    Z.-H. Zhou, J. Wu, W. Tang. Ensembling neural networks: many could be better than
    all. Artificial Intelligence 137, 2002.
    X. Yao, Y. Liu. Making use of population information in evolutionary artificial
    neural networks. IEEE Transactions on Systems, Man, and Cybernetics B 28(3), 1998.

    Examples
    --------
    >>> from committee import GeneticPruner
    >>> F = [[1.0, 0.0, 3.0], [0.0, 1.0, 3.0], [1.0, 0.0, 3.0], [0.0, 1.0, 3.0]]
    >>> pruner = GeneticPruner(random_state=0).fit(F, [0.0, 0.0, 0.0, 0.0])
    >>> pruner.weights_.tolist()
    [0.5, 0.5, 0.0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "votes": [StrOptions({"equal", "weighted"})],
        "threshold": [Interval(Real, 0, 1, closed="left"), None],
        "n_generations": [AT_LEAST_ONE],
        "population": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    takes_chunks: ClassVar[bool] = True
    refits_fast: ClassVar[bool] = False
    _by_member: ClassVar[dict[str, float]] = {"evolved_": 0.0}
    evolved_: FloatArray = field(init=False)
    error_: float = field(init=False)

    _: KW_ONLY
    votes: Literal["equal", "weighted"] = "equal"
    threshold: float | None = None
    n_generations: int = 200
    population: int = 100
    random_state: RandomState = None

    def _weigh(self, votes: Votes) -> FloatArray:
        C, unit = votes.error_correlation()
        M = len(C)
        rng = check_random_state(self.random_state)
        # Random genes belong to ranks, so that the order of F does not matter.
        rank = _ranking(C)
        w = np.empty(M)
        w[rank] = evolve(
            C[np.ix_(rank, rank)], self.population, self.n_generations, rng
        )
        self.evolved_ = w.copy()
        if self.votes == "equal":
            least = 1.0 / M if self.threshold is None else self.threshold
            # Above up to rounding: equal weights are all above their mean.
            kept = np.flatnonzero(w > least * (1 - 1e-9))
            best = int(rank[0])
            w = equal_weights(kept if len(kept) else np.array([best]), M)
            if w @ C @ w > C[best, best]:
                w = equal_weights(np.array([best]), M)
        self.error_ = in_squared_units(w @ C @ w, unit)
        return w


def evolve(
    C: FloatArray, population: int, n_generations: int, rng: np.random.RandomState
) -> FloatArray:
    """Return weights on the simplex with a small w'Cw, by a genetic algorithm."""
    M = len(C)
    V = np.vstack([np.ones((1, M)), np.eye(M), rng.uniform(size=(population, M))])
    errors = _errors(V, C)
    for _ in range(n_generations):
        # Two tournaments of two give the parents of each child.
        pairs = rng.randint(len(V), size=(2, 2, population))
        ahead = errors[pairs[0]] <= errors[pairs[1]]
        a, b = V[np.where(ahead, pairs[0], pairs[1])]
        share = np.where(
            rng.uniform(size=(population, 1)) < 0.5,
            rng.uniform(size=(population, 1)),
            rng.randint(2, size=(population, M)),
        )
        children = share * a + (1 - share) * b
        # About two genes of each are struck: half of them only shrink.
        struck = rng.uniform(size=children.shape) < 2.0 / M
        shrunk = rng.uniform(size=children.shape) < 0.5
        fresh = rng.uniform(size=children.shape)
        fresh = np.where(shrunk, fresh * children, fresh)
        children = np.where(struck, fresh, children)
        children[children.sum(axis=1) <= 0] = 1.0
        V = np.vstack([V, children])
        errors = np.r_[errors, _errors(children, C)]
        fittest = errors.argsort(kind="stable")[:population]
        V, errors = V[fittest], errors[fittest]
    w: FloatArray = V[0] / V[0].sum()
    return w


def _errors(V: FloatArray, C: FloatArray) -> FloatArray:
    """Return w'Cw for each row of V, w = v / sum v."""
    W = V / V.sum(axis=1, keepdims=True)
    errors: FloatArray = np.einsum("im,im->i", W @ C, W)
    return errors


@dataclass(eq=False, repr=False)
class SDPPruner(Combiner):
    """Choose members by a semidefinite relaxation (Zhang, Burer and Street).

        min_z  z'Gz,   sum z = n_members,   z in {0, 1}^M
        G_ii = P(i wrong),   G_ij = (P(j wrong | i wrong) + P(i wrong | j wrong)) / 2

    The diagonal favours accurate members; the other entries favour members that are
    wrong on different rows. With v = 2z - 1 and V = [1; v][1; v]' the programme is
    linear in V; relaxed to V positive semidefinite with a unit diagonal it is convex,
    and its minimum bounds the best choice from below. Random hyperplanes through a
    factor of V give candidate choices. The best one is improved by exchanging two
    members until no exchange helps.

    For regression G = C, the error correlation: z'Cz / n_members^2 is the squared error
    of the committee. With `held_out`, each entry of G is computed on the rows on which
    both members vote; pairs without a common row get the mean of the other pairs.

    The relaxation is solved by SCS, from the extra `sdp`. For M = 100 it needs 2,000 to
    7,000 iterations, of about 2 ms each on one thread.

    Parameters
    ----------
    n_members : int, default=25
        Number of members to keep; all if there are fewer.
    n_roundings : int, default=1000
        Number of random hyperplanes.
    max_iter : int, default=10000
        Maximum number of iterations of SCS. If it stops early, the bound is less tight
        but valid.
    tol : float, default=1e-5
        Relative and absolute tolerance of SCS.
    random_state : int, RandomState instance or None, default=None
        Controls the random hyperplanes. Pass an int for reproducible results.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal weights for the kept members, zero for the others.
    support_ : array
        Indices of the kept members.
    objective_ : float
        z'Gz for the kept members.
    bound_ : float
        Lower bound on z'Gz over all choices of `n_members` members.
    G_ : array of shape (M, M)
        The matrix G, scaled to be finite.
    n_iter_ : int

    References
    ----------
    Y. Zhang, S. Burer, W. N. Street. Ensemble pruning via semi-definite programming.
    Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    Members 0 and 1 are wrong on different rows, 2 is wrong where 0 is:

    >>> import numpy as np
    >>> from committee import SDPPruner
    >>> votes = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
    >>> pruner = SDPPruner(2, random_state=0).fit(np.eye(2)[votes], [0] * 5)
    >>> pruner.support_.tolist()
    [0, 1]
    >>> bool(pruner.bound_ <= pruner.objective_)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "n_roundings": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    takes_chunks: ClassVar[bool] = True
    refits_fast: ClassVar[bool] = False
    objective_: float = field(init=False)
    bound_: float = field(init=False)
    G_: FloatArray = field(init=False)
    n_iter_: int = field(init=False)

    n_members: int = 25
    _: KW_ONLY
    n_roundings: int = 1000
    max_iter: int = 10_000
    tol: float = 1e-5
    random_state: RandomState = None

    def _weigh(self, votes: Votes) -> FloatArray:
        if votes.n_classes is None:
            G, _ = votes.error_correlation()
        else:
            G = shared_errors(Ballots(votes))
        self.G_ = G
        M = len(G)
        if self.n_members >= M:
            self.objective_ = self.bound_ = float(G.sum())
            self.n_iter_ = 0
            return equal_weights(np.arange(M), M)
        rng = check_random_state(self.random_state)
        rank = _ranking(G)
        ranked = G[np.ix_(rank, rank)]
        relaxed = relax_choice(ranked, self.n_members, self.tol, self.max_iter)
        chosen = round_choice(relaxed.V, ranked, self.n_members, self.n_roundings, rng)
        self.objective_ = float(ranked[np.ix_(chosen, chosen)].sum())
        self.bound_ = min(relaxed.bound, self.objective_)
        self.n_iter_ = relaxed.n_iter
        return equal_weights(np.sort(rank[chosen]), M)


def _ranking(C: FloatArray) -> IntArray:
    """Return the members by error: one order for all orders in which they may come.

    Errors that differ by a part of 1e-10 are equal; then the sum of a column decides.
    """
    with np.errstate(divide="ignore"):
        error = grid(np.log(np.maximum(np.diag(C), 0.0)))
    return np.lexsort((grid(C.sum(axis=0) / (np.diag(C).max() or 1.0)), error))


def shared_errors(ballots: Ballots) -> FloatArray:
    """Return G: how often a member is wrong, and how often where another one is."""
    both, alone, met = ballots.total(_shared_sums)
    share = np.divide(both, alone, out=np.zeros_like(both), where=alone > 0)
    G: FloatArray = (share + share.T) / 2
    off = ~np.eye(len(G), dtype=bool)
    if np.any((met > 0) & off):
        G[(met <= 0) & off] = G[(met > 0) & off].mean()
    G[~off] = ballots.errors()
    return G


def _shared_sums(ballots: Ballots) -> Sums:
    """Return the weight of rows: both wrong; i wrong and j votes; both vote.

    Where all vote the latter two are the same for all j, and have one column.
    """
    s, masked = ballots.s[:, None], ballots.votes.masked
    voting = ballots.voting if masked else np.ones_like(s)
    wrong = ballots.wrong * s
    return Sums((ballots.wrong.T @ wrong, wrong.T @ voting, (voting * s).T @ voting))


class ClusterPruner(Combiner):
    """Cluster the members by their predictions and keep the best of each cluster.

        d_ij^2 = mean_n |f_i(x_n) - f_j(x_n)|^2 = C_ii + C_jj - 2 C_ij

    The distance between two members is the distance between their predictions, which
    equals the distance between their errors. It needs only the error correlation C
    (with `held_out`, the shrunk C of pairs). Each cluster is represented by its most
    accurate member: the fewest wrong votes for classification, and the smallest squared
    error for regression and among ties.

    Parameters
    ----------
    n_members : int, default=25
        Number of clusters and of members to keep; all if there are fewer. The two
        nearest clusters, by the mean distance between their members, are merged until
        this number is left.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal weights for the representatives, zero for the others.
    support_ : array
        Indices of the representatives.
    labels_ : array of shape (M,)
        Cluster of each member; clusters are numbered by their first member.

    References
    ----------
    G. Giacinto, F. Roli, G. Fumera. Design of effective multiple classifier systems
    by clustering of classifiers. ICPR, 2000.

    Examples
    --------
    >>> from committee import ClusterPruner
    >>> F = [[1.0, 5.1, 1.1, 5.0], [2.0, 0.1, 2.1, 0.0], [3.0, 4.1, 3.1, 4.0]]
    >>> pruner = ClusterPruner(2).fit(F, [1.0, 2.0, 3.0])
    >>> pruner.labels_.tolist(), pruner.support_.tolist()
    ([0, 1, 0, 1], [0, 3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
    }

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"labels_": -1}
    labels_: IntArray

    def __init__(self, n_members: int = 25) -> None:
        self.n_members = n_members

    def _weigh(self, votes: Votes) -> FloatArray:
        C, _ = votes.error_correlation()
        M = len(C)
        # Members that differ by rounding alone are equal: their number decides.
        C = np.round(C / (float(np.diag(C).max()) or 1.0), 12)
        # The best first: it is the representative of its cluster.
        keys = [np.diag(C)]
        if votes.n_classes is not None:
            keys.append(grid(Ballots(votes).errors()))
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
        d = np.diag(C)
        D = np.sqrt(np.maximum(d[:, None] + d - 2 * C, 0.0))
        np.fill_diagonal(D, 0.0)
        tree = AgglomerativeClustering(
            self.n_members, metric="precomputed", linkage="average"
        )
        return np.asarray(tree.fit_predict(D), dtype=np.intp)
