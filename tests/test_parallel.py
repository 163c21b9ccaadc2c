"""Work over blocks: all of them, in order, and no threads within threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg as la
from threadpoolctl import threadpool_info, threadpool_limits

from kernlab.runtime import (
    ONE_THREAD_SIZE,
    add_squares,
    blas_threads_for,
    for_each_block,
    on_single_blas_thread,
    prefetched,
    row_blocks,
    single_blas_thread,
    solve_triangle,
)


def test_blocks_cover_all_rows_in_order():
    blocks = row_blocks(10, 3)
    assert [(b.start, b.stop) for b in blocks] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert row_blocks(0, 3) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_results_stand_in_the_order_of_the_blocks(threads):
    assert for_each_block(lambda block: block * block, range(20), threads=threads) == [
        i * i for i in range(20)
    ]


def test_blocks_within_blocks_stay_on_their_thread():
    def inner(_):
        return threading.get_ident()

    def outer(_):
        return {threading.get_ident(), *for_each_block(inner, range(4), threads=2)}

    assert all(len(used) == 1 for used in for_each_block(outer, range(6), threads=2))
    assert for_each_block(inner, range(4), threads=2) != [threading.get_ident()] * 4


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        if block == 3:
            raise ValueError("block 3 is bad")

    with pytest.raises(ValueError, match="block 3"):
        for_each_block(fail, range(6), threads=2)


def test_one_thread_is_one_thread_of_blas_too(monkeypatch):
    """NumPy's and SciPy's would wait for each other, several times as long as they compute."""
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "1")
    with threadpool_limits(2, user_api="blas"):
        assert for_each_block(lambda _: blas_threads(), range(2)) == [{1}, {1}]
        assert blas_threads() == {2}


@pytest.mark.filterwarnings("error")
def test_what_the_caller_does_not_warn_of_is_no_warning_in_a_block():
    with np.errstate(over="ignore"):
        assert for_each_block(np.exp, [np.float64(1e4)] * 4, threads=2) == [np.inf] * 4
    with pytest.raises(RuntimeWarning, match="overflow"):
        for_each_block(np.exp, [np.float64(1e4)] * 4, threads=2)


def test_the_next_result_is_computed_while_this_one_is_used():
    second_began, threads = threading.Event(), set()

    def work(item):
        threads.add(threading.get_ident())
        if item == 1:
            second_began.set()
        return item * item

    results = prefetched(work, range(5))
    assert next(results) == 0
    assert second_began.wait(timeout=10)  # though nobody has asked for it yet
    assert list(results) == [1, 4, 9, 16]
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    assert list(prefetched(work, [])) == []


def test_within_a_block_nothing_is_computed_ahead():
    def work(block):
        results = prefetched(lambda item: threading.get_ident(), range(3))
        return set(results) == {threading.get_ident()}

    found = []
    for_each_block(lambda block: found.append(work(block)), range(4), threads=2)
    assert found == [True] * 4


def test_a_fault_ahead_reaches_the_caller_in_its_turn():
    results = prefetched(lambda item: 1 / item, [2, 1, 0])
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_matrix_products_get_one_thread_and_one_matrix_may_have_all(monkeypatch):
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "2")

    @on_single_blas_thread
    def inside(x, *, y):
        alone = blas_threads()
        with blas_threads_for(ONE_THREAD_SIZE):
            assert blas_threads() == {1}
        with blas_threads_for(ONE_THREAD_SIZE + 1):
            together = blas_threads()
        return x + y, alone, together, blas_threads()

    with threadpool_limits(2, user_api="blas"):
        assert inside(1, y=2) == (3, {1}, {2}, {1})
        assert blas_threads() == {2}
    assert inside.__name__ == "inside"


def test_many_contexts_of_many_threads_leave_blas_as_it_was():
    """With the BLAS that is there."""

    def enter_and_leave(_):
        with single_blas_thread(), blas_threads_for(ONE_THREAD_SIZE + 1):
            la.cho_factor(np.eye(20))

    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("built without threads, this BLAS has no limit to leave behind")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(enter_and_leave, range(400)))
        assert blas_threads() == {2}


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


# ---------------------------------------------------------------------- BLAS without Python's lock
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("from_right", [False, True])
def test_triangles_are_solved_in_place(dtype, from_right):
    generator = np.random.default_rng(0)
    whole = np.asfortranarray(generator.normal(size=(9, 9)) + 9 * np.eye(9), dtype)
    lower = whole[:7, :7]  # part of a larger array, whose upper triangle is something else
    B = generator.normal(size=(5, 7) if from_right else (7, 5)).astype(dtype)
    L, columns = np.tril(lower), np.array(B, order="F")
    wanted = B @ la.inv(L) if from_right else la.solve(L, B)
    found = solve_triangle(lower, columns, from_right=from_right)
    assert found is columns
    np.testing.assert_allclose(found, wanted, rtol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, lambda A: A[:, ::2]])
def test_squares_are_added_below_the_diagonal(form):
    A, total = np.random.default_rng(0).normal(size=(6, 40)), np.ones((6, 6), order="F")
    add_squares(total, form(A))
    np.testing.assert_allclose(np.tril(total), np.tril(1.0 + form(A) @ form(A).T), rtol=1e-12)
    np.testing.assert_array_equal(np.triu(total, 1), np.triu(np.ones((6, 6)), 1))


def test_other_threads_go_on_while_a_triangle_is_solved():
    """SciPy's own keeps the interpreter lock: two threads would take turns."""
    L, ended, seen = np.asfortranarray(np.eye(1500)), threading.Event(), []

    def watch():
        while not ended.is_set():
            seen.append(1)
            time.sleep(1e-4)

    other = threading.Thread(target=watch)
    B = np.ones((1500, 4000), order="F")
    with single_blas_thread(), ThreadPoolExecutor(1) as pool:
        other.start()
        before = len(seen)
        pool.submit(solve_triangle, L, B).result()
        during = len(seen) - before
        ended.set()
    other.join()
    assert during > 20
