"""Games as data: every end of tic-tac-toe, and poker hands labelled by rule."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray

#: Rows, columns and diagonals of the board 0..8.
LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8],
     [2, 4, 6]]
)  # fmt: skip


def tic_tac_toe() -> tuple[FloatArray, IntArray]:
    """Return every board that a game can end with; 1 where x, who begins, has won.

    Fields are 1 for x, -1 for o and 0 for blank. Of the 958 boards x has won 626; the
    labels have no noise.
    """
    open_boards = np.zeros((1, 9))
    ended = []
    for ply in range(9):
        moves = open_boards[:, None, :] + np.eye(9) * (1 if ply % 2 == 0 else -1)
        legal = open_boards == 0  # (B, 9): a move to field j makes moves[b, j]
        boards = np.unique(moves[legal], axis=0)
        over = _won(boards, 1) | _won(boards, -1)
        ended.append(boards[over])
        open_boards = boards[~over]
    X = np.concatenate([*ended, open_boards])  # what is open after 9 moves is drawn
    return X, _won(X, 1).astype(np.intp)


def file_order(X: FloatArray) -> IntArray:
    """Return the order in which UCI's file has the boards of `tic_tac_toe`.

    Those that x has won come first, then those that o has won, then draws; in each the
    fields decide from the first to the last, x before o before blank.
    """
    result = np.select([_won(X, 1), _won(X, -1)], [0, 1], 2)
    fields = np.select([X == 1, X == -1], [0, 1], 2)
    return np.lexsort([*fields.T[::-1], result])


def _won(boards: FloatArray, player: int) -> BoolArray:
    """Tell the boards on which the player holds a line."""
    held: BoolArray = (boards[:, LINES] == player).all(axis=2).any(axis=1)
    return held


#: Names of the classes 0..9 of `label_hands`.
HANDS = (
    "nothing", "pair", "two pairs", "three of a kind", "straight", "flush",
    "full house", "four of a kind", "straight flush", "royal flush",
)  # fmt: skip


def deal_hands(n: int, rng: np.random.Generator) -> IntArray:
    """Deal n hands of five different cards: S1, C1, ..., S5, C5.

    Suits are 1..4, ranks 1..13 with the ace as 1; the order of the cards is random.
    """
    dealt: list[IntArray] = []
    for held in range(5):
        card = rng.integers(0, 52 - held, size=n)
        # The card-th of those that are left: step over the dealt ones in order.
        for other in np.sort(np.array(dealt).reshape(held, n), axis=0):
            card += card >= other
        dealt.append(card)
    cards = np.stack(dealt, axis=1)
    return np.stack([cards // 13 + 1, cards % 13 + 1], axis=2).reshape(n, 10)


def label_hands(X: IntArray) -> IntArray:
    """Return the class 0..9 of each hand, from nothing to the royal flush.

    The number of pairs of cards of one rank tells the kinds apart: 1 is a pair, 2 two
    pairs, 3 three of a kind, 4 a full house, 6 four of a kind.

    Parameters
    ----------
    X : array of shape (N, 10)
        Hands as `deal_hands` returns them.
    """
    X = np.asarray(X)
    suits, ranks = X[:, ::2].T, X[:, 1::2].T
    twins = sum((ranks[i] == ranks[j]).astype(np.intp) for i, j in _PAIRS)
    lowest, highest = ranks.min(axis=0), ranks.max(axis=0)
    different = twins == 0
    # Five different ranks with an ace (1) and a sum of 47 are 10, J, Q, K, A.
    royal = different & (lowest == 1) & (ranks.sum(axis=0, dtype=np.intp) == 47)
    straight = royal | (different & (highest - lowest == 4))
    flush = (suits == suits[0]).all(axis=0)
    kinds: IntArray = np.array([0, 1, 2, 3, 6, -1, 7])[twins]
    return np.select(
        [royal & flush, straight & flush, flush, straight], [9, 8, 5, 4], kinds
    )


_PAIRS = list(combinations(range(5), 2))
