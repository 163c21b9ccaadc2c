"""Fits on a cluster against the same fits in memory: the same optimum, however rows are cut."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernlab import FPC, LASN, LLSVM, KernelMachine, LASNRegressor, sweep
from kernlab.approximations import Nystrom
from kernlab.cluster import ClusterFeatures, Column, Part
from kernlab.rows import as_rows
from kernlab.rows.arrays import JoinedRows
from kernlab.solvers.newton.cluster import STEPS, Setting, evaluate_part

pytest.importorskip("distributed", reason="dask.distributed is not installed")
dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
get_worker = pytest.importorskip("distributed").get_worker
Pieces = pytest.importorskip("kernlab.rows.dask").Pieces


def cut(X, sizes):
    """X in blocks of these sizes, which the client is not told."""
    parts = np.split(X, np.cumsum(sizes)[:-1]) if not sp.issparse(X) else []
    return da.concatenate(
        [da.from_delayed(dask.delayed(p), (np.nan, *X.shape[1:]), X.dtype) for p in parts],
        allow_unknown_chunksizes=True,
    )


def delayed_rows(X, step=700):
    return [dask.delayed(X[i : i + step]) for i in range(0, X.shape[0], step)]


PARTITIONS = {
    "one block": [3000],
    "odd": [0, 1, 1, 0, 2000, 1, 997, 0],
    "many": [200] * 15,
}
LASN_OPTIONS = {"gamma": 0.5, "n_landmarks": 60, "C": 5.0, "random_state": 0}


@pytest.fixture(scope="module")
def problem():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(3000, 4))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * draw.normal(size=3000) > 1, "in", "out")
    return X, y


def agree(there, here, rel=1e-9):
    assert len(there.results_) == len(here.results_)
    for one, other in zip(there.results_, here.results_, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=rel)
        assert one.converged == other.converged
        if other.dual_objective is not None:
            assert one.dual_objective == pytest.approx(other.dual_objective, rel=1e-3)
            assert one.dual_objective <= one.objective * (1 + 1e-12)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_lasn_finds_the_optimum_of_memory(client, problem, partition):
    (X, y), sizes = problem, PARTITIONS[partition]
    here = LASN(**LASN_OPTIONS).fit(X, y)
    there = LASN(**LASN_OPTIONS).fit(cut(X, sizes), cut(y, sizes))
    agree(there, here)
    assert there.result_.relative_gap < 1e-4
    assert there.classes_.tolist() == ["in", "out"]
    rows = cut(X, sizes)
    assert np.allclose(
        there.decision_function(rows).compute(), here.decision_function(X), atol=1e-4
    )
    assert np.array_equal(there.predict(rows).compute(), there.predict(X))
    assert there.score(rows, cut(y, sizes)) == pytest.approx(there.score(X, y), abs=1e-12)


def test_products_in_single_precision_lead_to_the_same_optimum(client):
    draw = np.random.default_rng(1)
    X = draw.normal(size=(36_000, 3))
    y = (np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * draw.normal(size=len(X)) > 0).astype(int)
    machine = LASN(60, gamma=1.0, C=1e4, random_state=0)
    here, there = machine.with_params().fit(X, y), machine.with_params()
    agree(there.fit(da.from_array(X, chunks=(9000, 3)), y), here)


MACHINES = {
    "nystrom, free": KernelMachine(
        "nystrom", gamma=0.5, C=3.0, random_state=0, approximation_params={"n_landmarks": 50}
    ),
    "balanced": LASN(40, gamma=0.5, class_weight="balanced", random_state=0),
    "fourier": KernelMachine(
        "fourier", gamma=0.5, random_state=0, approximation_params={"n_components": 60}
    ),
    "polynomial": KernelMachine(
        "polynomial", intercept="penalised", approximation_params={"degree": 3}
    ),
    "fpc, chebyshev": FPC(degree=3, basis="chebyshev", max_iter=9),
    "llsvm": LLSVM(n_landmarks=30, gamma=0.5, random_state=0, runs=3, block_rows=1000),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_agree_with_memory(client, problem, name):
    X, y = problem
    here, there = (MACHINES[name].with_params() for _ in range(2))
    here.fit(X, y)
    rows = da.from_array(X, chunks=(800, 2))
    there.fit(rows, da.from_array(y, chunks=500))
    agree(there, here)
    assert there.score(rows, y) == pytest.approx(here.score(X, y), abs=2e-3)


def test_frames_weights_and_three_classes(client, problem):
    X, _ = problem
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.7, 0.6])
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    here = LASN(**LASN_OPTIONS).fit(X, y, weights)
    table = pd.DataFrame(X, columns=list("abcd"))
    frame = dd.from_pandas(table.assign(y=y, weight=weights), npartitions=5).persist()
    there = LASN(**LASN_OPTIONS).fit(frame[list("abcd")], frame["y"], frame["weight"])
    agree(there, here)
    assert there.decision_function(frame[list("abcd")]).compute().shape == (3000, 3)
    score = there.score(frame[list("abcd")], frame["y"], frame["weight"])
    assert score == pytest.approx(here.score(X, y, weights), abs=1e-3)


def test_a_class_that_one_block_alone_has(client, problem):
    X, y = problem[0], np.zeros(3000, int)
    y[1000:1020] = 7
    machine = LASN(**LASN_OPTIONS).fit(cut(X, [1000, 20, 1980]), cut(y, [1000, 20, 1980]))
    agree(machine, LASN(**LASN_OPTIONS).fit(X, y))
    assert machine.classes_.tolist() == [0, 7]
    with pytest.raises(ValueError, match="at least 2 classes"):
        LASN(10).fit(cut(X, [3000]), np.zeros(3000))


def test_sparse_blocks_and_single_precision(client, problem):
    X, y = problem
    thin = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)).astype(np.float32)
    here = LASN(**LASN_OPTIONS).fit(thin, y)
    there = LASN(**LASN_OPTIONS).fit(delayed_rows(thin), y)
    agree(there, here)
    assert np.array_equal(there.predict(delayed_rows(thin)).compute(), here.predict(thin))


def test_regression(client, problem):
    X, t = problem[0], np.sin(problem[0][:, 0]) + problem[0][:, 1]
    options = {"gamma": 0.3, "n_landmarks": 50, "C": 20.0, "epsilon": 0.05, "random_state": 0}
    here = LASNRegressor(**options).fit(X, t)
    there = LASNRegressor(**options).fit(cut(X, [1200, 1800]), cut(t, [1200, 1800]))
    agree(there, here)
    assert there.score(cut(X, [100, 2900]), cut(t, [100, 2900])) == pytest.approx(
        here.score(X, t), abs=1e-6
    )


@pytest.mark.parametrize("nested", [False, True])
def test_a_sweep_over_costs_and_landmarks(client, problem, nested):
    X, y = problem
    grid = {"n_landmarks": [20, 40], "C": [0.1, 1.0, 30.0]}
    machine = LASN(gamma=0.5, random_state=0)
    here = sweep(machine, X[:2000], y[:2000], grid, validation=(X[2000:], y[2000:]), nested=nested)
    sizes = [700, 1300]
    rows, labels = cut(X[:2000], sizes), cut(y[:2000], sizes)
    held_out = cut(X[2000:], [600, 400]), cut(y[2000:], [600, 400])
    there = sweep(machine, rows, labels, grid, validation=held_out, nested=nested)
    assert set(there["status"]) == {"ok"}
    assert np.allclose(there["objective"], here["objective"], rtol=1e-9)
    for column in ("train_accuracy", "validation_accuracy"):
        assert np.allclose(there[column], here[column], atol=2e-3)


def test_features_that_workers_cannot_keep_are_formed_in_every_pass(client, problem, monkeypatch):
    X, y = problem
    here = LASN(**LASN_OPTIONS).fit(X, y)
    monkeypatch.setattr("kernlab.cluster.ClusterFeatures._share_kept", lambda *_: 0.5)
    agree(LASN(**LASN_OPTIONS).fit(cut(X, [400] * 7 + [200]), cut(y, [400] * 7 + [200])), here)


@pytest.mark.parametrize("kept", [True, False])
def test_a_part_adds_up_its_rows(problem, kept, monkeypatch):
    """Losses, gradient, dual, slopes and Gram matrix against dense algebra, while most rows become
    active and leave again; of features that are kept, or formed in several chunks."""
    X, y = problem[0], np.where(problem[1] == "in", 1.0, -1.0)
    nystrom = Nystrom(gamma=0.5, n_landmarks=20, random_state=0).fit(X)
    monkeypatch.setattr("kernlab.cluster.CHUNK_BYTES", 8 * 20 * 700)
    part = Part(nystrom, len(X), kept, JoinedRows([X[:1000], X[1000:]]), y, None)
    setting = Setting(Column(0, None, None, None), "squared_hinge", 0.1)
    F = np.column_stack([nystrom.transform(X), np.ones(len(X))])
    found, before = np.linalg.lstsq(F, y, rcond=None)[0], None
    for x in (found, 20.0 * found, 0.9 * found, -found):
        sums = evaluate_part(part, setting, x, before, np.dtype(float))
        scores = F @ x
        lost, active = np.maximum(0.0, 1.0 - y * scores), y * scores < 1.0
        pulls = 2.0 * lost * y
        dual = [
            [some.sum(), np.abs(some).sum(), some @ some] for some in (pulls[y > 0], pulls[y < 0])
        ]
        gram = F[active].T @ F[active]
        wanted = [lost @ lost, active.sum(), *np.transpose(dual).ravel(), *(-pulls @ F)]
        assert np.allclose(np.delete(sums, 2)[: len(wanted)], wanted, rtol=1e-10)
        assert np.allclose(sums[-len(x) * (len(x) + 1) // 2 :], gram[np.tril_indices(len(x))])
        if before is not None:
            old, change = F @ before, F @ (x - before)
            slopes = [
                -2.0 * np.maximum(0.0, 1.0 - y * (old + t * change)) @ (y * change) for t in STEPS
            ]
            assert np.allclose(sums[9 + len(x) :][: len(STEPS)], slopes)
        before = x


def test_rows_of_a_cluster(client, problem):
    X, _ = problem
    rows = as_rows(cut(X, [0, 1200, 1800]), np.arange(3000))
    assert rows.shape == (3000, 4)
    assert np.array_equal(rows.whole(), X)
    chosen = np.array([2999, 5, 5, 1200])
    assert np.array_equal(rows.take(chosen), X[chosen])
    assert np.array_equal(rows.sample(40, 3), as_rows(X).sample(40, 3))
    assert np.array_equal(rows.labels, np.arange(3000))
    assert np.array_equal(np.array(rows.bounds()), [X.min(axis=0), X.max(axis=0)])
    found = rows.reduce(lambda block, t: t @ block, np.arange(3000.0))
    assert np.allclose(found, np.arange(3000.0) @ X)


def test_sums_are_taken_where_objects_will_be(client):
    """Not by one worker, to which the others send what they hold, while it is still being made."""
    workers = list(client.nthreads())
    futures = [client.submit(np.arange, i, workers=[workers[i % 2]]) for i in range(6)]
    slow = Pieces(client, futures).made("test").each(_slowly)
    assert slow.sum(_where, combine=set.union) == set(workers)


def _slowly(item):
    time.sleep(0.3)
    return item


def _where(item):
    return {get_worker().address}


def test_each_worker_keeps_its_share_of_the_features(client, problem, monkeypatch):
    """Half of the parts are kept: half on each worker, though their blocks lie in turns."""
    workers, blocks = list(client.nthreads()), np.split(problem[0], 12)
    rows = as_rows([
        client.submit(np.asarray, block, workers=[workers[i % 2]]) for i, block in enumerate(blocks)
    ])  # fmt: skip
    monkeypatch.setattr(ClusterFeatures, "_share_kept", lambda features, per_row: 0.5)
    features = ClusterFeatures(rows, Nystrom(n_landmarks=20, random_state=0).fit(problem[0]))
    at = client.who_has(features.pieces.futures)
    kept = client.gather(features.pieces.each(_is_kept).futures)
    by_worker = {worker: [] for worker in workers}
    for future, is_kept in zip(features.pieces.futures, kept, strict=True):
        by_worker[at[future.key][0]].append(is_kept)
    for parts in by_worker.values():
        assert abs(sum(parts) - len(parts) / 2) <= 1, by_worker


def _is_kept(part):
    return part.kept
