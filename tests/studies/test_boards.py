"""All boards and all hands, against plain rules and known counts."""

from collections import Counter
from itertools import chain, combinations

import numpy as np
import pytest
from scipy import stats

from studies.boards import (
    HANDS,
    LINES,
    deal_hands,
    file_order,
    label_hands,
    tic_tac_toe,
)
from tests.reference.data import load_or_skip


def _games(board=(0,) * 9, player=1):
    """Play every game to its end, move by move."""
    if any(abs(sum(board[i] for i in line)) == 3 for line in LINES) or all(board):
        return {board}
    ends = set()
    for field in range(9):
        if not board[field]:
            after = (*board[:field], player, *board[field + 1 :])
            ends |= SEEN.setdefault(after, None) or _keep(after, -player)
    return ends


SEEN = {}


def _keep(board, player):
    SEEN[board] = _games(board, player)
    return SEEN[board]


def test_the_boards_are_the_ends_of_all_games():
    X, y = tic_tac_toe()
    boards = {tuple(int(field) for field in row) for row in X}
    assert boards == _games()
    assert len(boards) == len(X) == 958
    won = [any(sum(row[i] for i in line) == 3 for line in LINES) for row in X]
    np.testing.assert_array_equal(y, won)
    assert y.sum() == 626


#: Of the 2,598,960 hands, in the order of HANDS.
COUNTS = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]


def _all_hands():
    """Every hand once, (2598960, 10)."""
    flat = chain.from_iterable(combinations(range(52), 5))
    cards = np.fromiter(flat, dtype=np.int8, count=5 * sum(COUNTS)).reshape(-1, 5)
    return np.stack([cards // 13 + 1, cards % 13 + 1], axis=2).reshape(-1, 10)


@pytest.mark.slow
def test_all_hands_are_counted_as_in_the_books():
    assert np.bincount(label_hands(_all_hands())).tolist() == COUNTS


def _plain_label(hand):
    """The rules of poker, one hand at a time."""
    suits, ranks = hand[::2], sorted(hand[1::2])
    kinds = sorted(Counter(ranks).values(), reverse=True)
    flush = len(set(suits)) == 1
    royal = ranks == [1, 10, 11, 12, 13]
    straight = royal or ranks == list(range(ranks[0], ranks[0] + 5))
    if flush and straight:
        return "royal flush" if royal else "straight flush"
    if flush or straight:
        return "flush" if flush else "straight"
    by_kind = {
        (4, 1): "four of a kind",
        (3, 2): "full house",
        (3, 1, 1): "three of a kind",
        (2, 2, 1): "two pairs",
        (2, 1, 1, 1): "pair",
    }
    return by_kind.get(tuple(kinds), "nothing")


def test_labels_follow_the_rules_hand_by_hand(rng):
    hands = deal_hands(3000, rng)
    assert [HANDS[k] for k in label_hands(hands)] == [
        _plain_label(hand) for hand in hands.tolist()
    ]


def test_dealt_hands_hold_five_different_cards_at_random(rng):
    hands = deal_hands(20_000, rng)
    cards = (hands[:, ::2] - 1) * 13 + hands[:, 1::2] - 1
    assert cards.min() == 0
    assert cards.max() == 51
    assert np.all(np.diff(np.sort(cards, axis=1), axis=1) > 0)
    for place in cards.T:
        assert stats.chisquare(np.bincount(place, minlength=52)).pvalue > 1e-4


def test_labels_are_those_of_the_archive():
    stored = load_or_skip("poker-hand")
    for part in ("train", "test_part"):
        np.testing.assert_array_equal(
            label_hands(stored[f"X_{part}"]), stored[f"y_{part}"]
        )


def test_the_file_of_uci_begins_with_wins_of_x_and_ends_with_draws():
    X, y = tic_tac_toe()
    order = file_order(X)
    lines = ["".join("bxo"[int(v)] for v in board) for board in X[order]]
    assert lines[:3] == ["xxxxooxoo", "xxxxoooxo", "xxxxoooox"]
    assert lines[625:628] == ["bbbbooxxx", "xxoxxoobo", "xxoxxoboo"]
    assert lines[-17:-15] == ["bboboxoxx".replace(" ", ""), "xxooxxxoo"]
    assert lines[-1] == "ooxxxooxx"
    assert y[order].tolist() == [1] * 626 + [0] * 332
