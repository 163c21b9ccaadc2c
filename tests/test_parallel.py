"""Work over blocks: all of them, in order, and no threads within threads."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg as la
from threadpoolctl import threadpool_info, threadpool_limits

from kernlab import runtime as parallel
from kernlab.runtime import (
    ONE_THREAD_SIZE,
    blas_threads_for,
    for_each_block,
    on_single_blas_thread,
    prefetched,
    row_blocks,
    single_blas_thread,
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


class StandInController:
    """BLAS of as many threads as a test needs, however many the machine has."""

    def __init__(self, threads):
        self.threads = threads

    def limit(self, *, limits, user_api):
        assert user_api == "blas"
        found, self.threads = self.threads, limits
        return SimpleNamespace(restore_original_limits=lambda: setattr(self, "threads", found))


@pytest.fixture
def blas(monkeypatch):
    controller = StandInController(8)
    monkeypatch.setattr(parallel, "_controller", lambda: controller)
    monkeypatch.setenv("KERNLAB_NUM_THREADS", "8")
    return controller


def test_contexts_within_each_other_restore_what_they_found(blas):
    with single_blas_thread():
        with blas_threads_for(ONE_THREAD_SIZE + 1):
            assert blas.threads == 8
            with single_blas_thread():
                assert blas.threads == 1
            assert blas.threads == 8
        assert blas.threads == 1
    assert blas.threads == 8


def test_contexts_of_two_threads_that_end_in_the_order_they_began(blas):
    """What the second found is the limit of the first: restored last, it would stay."""
    together, seen = threading.Barrier(2, timeout=10), []

    def first():
        with single_blas_thread():
            together.wait()  # the first is in
            together.wait()  # the second is in
        seen.append(blas.threads)
        together.wait()  # the first is out

    def second():
        together.wait()
        with single_blas_thread():
            together.wait()
            together.wait()
            seen.append(blas.threads)

    run_together(first, second)
    assert seen == [1, 1]  # one thread, as long as one of the two counts on it
    assert blas.threads == 8


def test_all_threads_for_one_matrix_while_another_fit_ends(blas):
    together, seen = threading.Barrier(2, timeout=10), []

    def factors():
        with single_blas_thread():
            together.wait()  # this fit has begun
            together.wait()  # so has another
            with blas_threads_for(ONE_THREAD_SIZE + 1):
                together.wait()  # its factor is being computed
                together.wait()  # the other fit has ended
                seen.append(blas.threads)
            seen.append(blas.threads)

    def another():
        together.wait()
        with single_blas_thread():
            together.wait()
            together.wait()
        together.wait()

    run_together(factors, another)
    assert seen == [8, 1]
    assert blas.threads == 8


def run_together(*functions):
    with ThreadPoolExecutor(len(functions)) as pool:
        for running in [pool.submit(function) for function in functions]:
            running.result()


def test_a_run_ahead_that_is_given_up_gives_the_threads_back(blas):
    results = prefetched(lambda item: item, range(5))
    next(results)
    assert blas.threads == 1
    results.close()
    assert blas.threads == 8


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
