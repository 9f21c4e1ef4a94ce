"""Members trained on chunks of Dask collections."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from committee import Bagging, CrossSplits, MiniBatches, RandomInits
from committee.members.dask_training import (
    assigned_chunks,
    check_generator,
    chunked_data,
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


def test_rows_without_weight_are_no_home():
    s = np.ones(N)
    s[:40] = 0.0
    generation, seen = generated(Bagging(6), s=s)
    assert generation.held_out.compute()[:40].all()
    np.testing.assert_array_equal(seen.sample_weight.compute(), s)


def test_more_parts_than_rows():
    with pytest.raises(ValueError, match="cannot split 100 rows into 101 parts"):
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


X = np.arange(24.0).reshape(12, 2)
Y = np.array(list("bbabacbbcaba"))


def looked_at(X=X, y=Y, s=None, sizes=(5, 0, 3, 4), classes=True, **checks):
    """Partitions of plain arrays in chunks of the given sizes."""
    options = {"check_X": np.asarray, "check_y": np.asarray, **checks}
    X = da.from_array(X, chunks=(sizes, 2))
    y = da.from_array(y, chunks=(sizes,))
    return chunked_data(X, y, s, classes=classes, **options)


def collected(chunks):
    return chunks.sum(lambda data: [data])


def test_classes_are_those_of_all_chunks_and_y_is_coded_by_them():
    rows = looked_at()
    assert rows.labels.tolist() == ["a", "b", "c"]
    assert [fact.n_rows for fact in rows.facts] == [5, 0, 3, 4]
    assert rows.facts[0].labels.tolist() == ["a", "b"]
    data = collected(rows.data)
    assert [len(chunk) for chunk in data] == [5, 3, 4]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in data]), X)
    codes = np.concatenate([chunk.y for chunk in data])
    np.testing.assert_array_equal(rows.labels[codes], Y)
    assert {chunk.n_classes for chunk in data} == {3}


def test_targets_come_without_the_cost_of_X():
    def costly(block):
        raise AssertionError("X is not needed")

    rows = looked_at(check_X=costly)
    assert [len(chunk) for chunk in collected(rows.targets)] == [5, 3, 4]


def test_numbers_stay_numbers():
    y = np.linspace(0.0, 1.0, 12)
    rows = looked_at(y=y, classes=False)
    assert rows.labels is None
    assert rows.n_classes is None
    found = np.concatenate([chunk.y for chunk in collected(rows.targets)])
    np.testing.assert_array_equal(found, y)


def test_what_is_made_of_chunks_is_one_lazy_array():
    rows = looked_at()
    array = rows.lazily(lambda data: data.X + 1.0, (2,), np.float64, rows.data)
    assert array.chunks == ((5, 0, 3, 4), (2,))
    np.testing.assert_array_equal(array.compute(), X + 1.0)


@pytest.mark.parametrize("given", [np.asarray, partial(da.from_array, chunks=7)])
def test_weights_are_cut_like_the_rows(given):
    s = np.arange(12.0)
    s[5:8] = 0.0
    rows = looked_at(s=given(s))
    found = np.concatenate([c.sample_weight for c in collected(rows.targets)])
    np.testing.assert_array_equal(found, s)
    assert [fact.counts for fact in rows.facts] == [True, False, False, True]


@pytest.mark.parametrize(("bad", "number"), [(-1.0, 3), (np.inf, 0), (np.nan, 2)])
def test_bad_weights_name_their_chunk(bad, number):
    s = np.ones(12)
    s[{0: 0, 2: 5, 3: 8}[number]] = bad
    with pytest.raises(ValueError, match=f"Chunk {number}: sample_weight must be"):
        looked_at(s=s)


def test_nothing_that_counts():
    with pytest.raises(ValueError, match="must have a positive entry"):
        looked_at(s=np.zeros(12))
    with pytest.raises(ValueError, match=r"at least one row.*Every chunk is empty"):
        looked_at(X[:0], Y[:0], sizes=(0, 0))


def test_what_the_checks_say_names_the_chunk():
    def picky(block):
        if len(block) == 3:
            raise ValueError("Not three, please.")
        return block

    with pytest.raises(ValueError, match="Chunk 2: Not three, please"):
        looked_at(check_y=picky)


def test_chunks_of_unknown_sizes_must_be_equal():
    known = da.ones(12, chunks=4, dtype=bool)
    unknown = da.from_array(X, (4, 2))[known]
    rows = chunked_data(
        unknown,
        da.from_array(Y, ((4, 3, 5),)),
        None,
        check_X=np.asarray,
        check_y=np.asarray,
        classes=True,
    )
    with pytest.raises(ValueError, match=r"Chunk [12]: X has 4 rows and y has [35];"):
        collected(rows.data)


def test_X_must_be_a_collection_too():
    with pytest.raises(ValueError, match="but X is not: pass X as one too"):
        chunked_data(
            X,
            da.from_array(Y, 4),
            None,
            check_X=np.asarray,
            check_y=np.asarray,
            classes=True,
        )
