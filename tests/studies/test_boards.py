"""All boards and all hands, against plain rules and known counts."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from committee.studies.boards import HANDS, LINES, deal_hands, label_hands, tic_tac_toe
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


def test_the_board_looks_the_same_from_all_sides():
    X, y = tic_tac_toe()
    labels = {tuple(row): label for row, label in zip(X, y, strict=True)}
    turned = np.rot90(X.reshape(-1, 3, 3), axes=(1, 2)).reshape(-1, 9)
    assert [labels[tuple(row)] for row in turned] == y.tolist()


def test_the_boards_are_those_of_the_archive():
    stored = load_or_skip("tic-tac-toe")
    X, y = tic_tac_toe()
    ours = {(*row, label) for row, label in zip(X.astype(int).tolist(), y, strict=True)}
    theirs = stored["X"].astype(int).tolist()
    assert ours == {(*row, int(k)) for row, k in zip(theirs, stored["y"], strict=True)}


#: Of the 2,598,960 hands, in the order of HANDS.
COUNTS = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4]


def _all_hands():
    """Every hand once, (2598960, 10)."""
    flat = (card for hand in combinations(range(52), 5) for card in hand)
    cards = np.fromiter(flat, dtype=np.int8, count=5 * sum(COUNTS)).reshape(-1, 5)
    return np.stack([cards // 13 + 1, cards % 13 + 1], axis=2).reshape(-1, 10)


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


@pytest.mark.parametrize(
    ("hand", "name"),
    [
        ([1, 1, 1, 2, 1, 3, 1, 4, 1, 5], "straight flush"),
        ([1, 1, 2, 2, 3, 3, 4, 4, 1, 5], "straight"),
        ([1, 1, 2, 13, 3, 12, 4, 11, 1, 10], "straight"),
        ([1, 1, 2, 13, 3, 12, 4, 11, 1, 2], "nothing"),
        ([1, 7, 2, 7, 3, 7, 4, 7, 1, 2], "four of a kind"),
    ],
)
def test_hands_at_the_edge_of_the_rules(hand, name):
    assert HANDS[label_hands([hand])[0]] == name


def test_dealt_hands_hold_five_different_cards_at_random(rng):
    hands = deal_hands(20_000, rng)
    cards = (hands[:, ::2] - 1) * 13 + hands[:, 1::2] - 1
    assert cards.min() == 0
    assert cards.max() == 51
    assert np.all(np.diff(np.sort(cards, axis=1), axis=1) > 0)
    for place in cards.T:
        assert stats.chisquare(np.bincount(place, minlength=52)).pvalue > 1e-4
    first, last = cards[:, 0], cards[:, 4]
    pairs = np.bincount(first // 13 * 4 + last // 13, minlength=16)
    expected = np.where(np.eye(4), 13 * 12, 13 * 13).ravel() / (52 * 51)
    assert stats.chisquare(pairs, expected * 20_000).pvalue > 1e-4


def test_class_shares_of_dealt_hands_are_those_of_the_game(rng):
    shares = np.bincount(label_hands(deal_hands(50_000, rng)), minlength=10) / 50_000
    np.testing.assert_allclose(shares, np.array(COUNTS) / sum(COUNTS), atol=0.01)


def test_labels_are_those_of_the_archive():
    stored = load_or_skip("poker-hand")
    for part in ("train", "test_part"):
        np.testing.assert_array_equal(
            label_hands(stored[f"X_{part}"]), stored[f"y_{part}"]
        )
