"""Members of one chunk each, against plain loops over the same chunks in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from committee import Bagging, CrossSplits, MiniBatches, RandomInits
from committee.members.dask_rows import chunked_data
from committee.members.dask_training import (
    assigned_chunks,
    check_generator,
    generate_in_chunks,
)

da = pytest.importorskip("dask.array")

SIZES = (40, 0, 25, 7, 28)
N, K = sum(SIZES), 3
STARTS = np.cumsum((0, *SIZES))


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    return X, np.argmax(X[:, :K] + rng.normal(size=(N, K)), axis=1)


def generated(generator, weigh_on="held-out", s=None, sizes=SIZES, seed=5):
    X, y = problem()
    rows = chunked_data(
        da.from_array(X, chunks=(sizes, 4)),
        da.from_array(y, chunks=(sizes,)),
        s,
        check_X=np.asarray,
        check_y=np.asarray,
        classes=True,
    )
    return generate_in_chunks(
        generator,
        DecisionTreeClassifier(splitter="random", max_depth=3),
        rows,
        weigh_on=weigh_on,
        random_state=np.random.RandomState(seed),
        verbose=False,
    )


def seeds(rng, n):
    return rng.randint(np.iinfo(np.int32).max, size=n)


def tree(seed, X, y, counts=None):
    own = int(seeds(np.random.RandomState(seed), 1)[0])
    member = DecisionTreeClassifier(splitter="random", max_depth=3, random_state=own)
    return member.fit(X, y, sample_weight=counts)


def bagged(M, chunks):
    """Trees on bootstrap samples of their chunks, and the rows that they saw."""
    X, y = problem()
    rng = np.random.RandomState(5)
    row_seeds, own_seeds = seeds(rng, M), seeds(rng, M)
    for m, c in enumerate(chunks):
        n = SIZES[c]
        drawn = np.random.RandomState(row_seeds[m]).randint(0, n, n)
        counts = np.bincount(drawn, minlength=n)
        rows = np.flatnonzero(counts)
        seen = STARTS[c] + rows
        yield tree(own_seeds[m], X[seen], y[seen], 1.0 * counts[rows]), seen


def in_batches(M, chunks, parts):
    """Trees on parts of fresh splits of their chunks, and the rows that they saw."""
    X, y = problem()
    rng = np.random.RandomState(5)
    m_at = {c: chunks.count(c) for c in sorted(set(chunks))}
    row_seeds = {c: seeds(rng, -(-m // parts[c])) for c, m in m_at.items()}
    own_seeds = seeds(rng, M)
    for m, c in enumerate(chunks):
        repeat, k = divmod(m - chunks.index(c), parts[c])
        order = np.random.RandomState(row_seeds[c][repeat]).permutation(SIZES[c])
        seen = STARTS[c] + np.sort(np.array_split(order, parts[c])[k])
        yield tree(own_seeds[m], X[seen], y[seen]), seen


def assert_members(generation, expected):
    X, _ = problem()
    F = generation.F.compute()
    mask = generation.held_out.compute()
    expected = list(expected)
    assert len(generation.members) == len(expected) == F.shape[1] == mask.shape[1]
    for m, (member, seen) in enumerate(expected):
        P = np.zeros((N, K))
        P[:, member.classes_] = member.predict_proba(X)
        np.testing.assert_array_equal(F[:, m], P)
        np.testing.assert_array_equal(np.flatnonzero(~mask[:, m]), np.unique(seen))


def test_bagging_is_a_bootstrap_of_the_home():
    chunks = [0] * 4 + [2] * 2 + [3] + [4] * 3
    assert assigned_chunks(np.array(SIZES), 10).tolist() == chunks
    assert_members(generated(Bagging(10))[0], bagged(10, chunks))


def test_mini_batches_have_their_share_of_all_rows():
    """Of 100 rows 12 parts have 8 or 9 each; the chunks have 5, 3, 1 and 3 of them."""
    chunks = [0] * 10 + [2] * 6 + [3] + [4] * 7
    assert assigned_chunks(np.array(SIZES), 24).tolist() == chunks
    expected = in_batches(24, chunks, {0: 5, 2: 3, 3: 1, 4: 3})
    assert_members(generated(MiniBatches(12, repeats=2))[0], expected)


def test_chunks_smaller_than_a_batch_are_halved_for_several_members():
    chunks = [0] * 4 + [2] * 2 + [3] + [4] * 3
    expected = in_batches(10, chunks, {0: 2, 2: 2, 3: 1, 4: 2})
    assert_members(generated(MiniBatches(2, repeats=5))[0], expected)


def test_chunks_without_rows_change_nothing():
    few = [size for size in SIZES if size]
    one, two = (generated(Bagging(10), sizes=sizes)[0] for sizes in (SIZES, few))
    np.testing.assert_array_equal(one.F.compute(), two.F.compute())
    np.testing.assert_array_equal(one.held_out.compute(), two.held_out.compute())


def test_a_fraction_is_split_off_in_every_chunk():
    generation, seen = generated(Bagging(10), weigh_on=0.3)
    weighed = seen.sample_weight.compute()
    assert generation.held_out is None
    assert set(weighed) == {0.0, 1.0}
    found = np.add.reduceat(weighed, [0, 40, 65, 72])
    assert found.tolist() == [12, 8, 3, 9]
    F = generation.F.compute()
    assert (F[weighed == 0] == 0).all()
    np.testing.assert_allclose(F[weighed == 1].sum(axis=2), 1.0)


def test_a_chunk_that_cannot_be_split_is_for_weighing():
    generation, seen = generated(Bagging(10), weigh_on=0.3, sizes=(60, 1, 39))
    assert seen.sample_weight.compute()[60] == 1.0
    assert len(generation.members) == 10


def test_a_fraction_of_chunks_of_one_row():
    with pytest.raises(ValueError, match="nothing to train on in any of the 100 chun"):
        generated(Bagging(3), weigh_on=0.3, sizes=(1,) * N)


def test_rows_without_weight_are_no_home():
    s = np.ones(N)
    s[:40] = 0.0
    generation, seen = generated(Bagging(6), s=s)
    assert generation.held_out.compute()[:40].all()
    np.testing.assert_array_equal(seen.sample_weight.compute(), s)


def test_more_parts_than_rows():
    with pytest.raises(ValueError, match="cannot make 101 parts of 100 rows"):
        generated(MiniBatches(101, repeats=1))


@pytest.mark.parametrize("generator", [RandomInits(3), CrossSplits(3)])
def test_members_that_need_all_rows_are_refused(generator):
    with pytest.raises(TypeError, match=rf"Got {type(generator).__name__}: compute\("):
        check_generator(generator)


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any),
    st.integers(1, 60),
)
def test_a_chunk_has_its_share_of_members_rounded_up_or_down(sizes, M):
    sizes = np.array(sizes)
    chunks = assigned_chunks(sizes, M)
    assert len(chunks) == M
    assert (np.diff(chunks) >= 0).all()
    share = M * sizes / sizes.sum()
    found = np.bincount(chunks, minlength=len(sizes))
    assert (np.abs(found - share) < 1 + 1e-9).all()
    assert not found[sizes == 0].any()
