"""The pieces of work that the benchmark of HSSSVC times: one function for each kind of point."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import HSSKernel
from kernlab.estimators import HSSSVC
from kernlab.estimators.machine import fit_together
from kernlab.kernels import gamma_from_sigma, kernel_product, make_kernel
from kernlab.lab.baselines import LibSVM
from kernlab.lab.papers.hss.sets import sample
from kernlab.solvers import certify_dual

HSS, PAPERS_MODE, EXACT = "HSS", "HSS, paper mode", "LIBSVM"
SETTINGS = {
    "table 4": {"rel_tol": 1.0, "abs_tol": 0.1, "max_rank": 200, "approximate_neighbors": 64},
    "table 5": {"rel_tol": 0.5, "abs_tol": 0.05, "max_rank": 2000, "approximate_neighbors": 512},
}
COSTS = 10.0 ** np.arange(-4, 5)
TO_OPTIMUM = {"beta": "adaptive", "tol": 3e-4, "max_iter": 3000, "rel_tol": 1e-4}
MOST_TESTED = 100_000  # test rows that are scored
WARM_UP = 1000
JITTER = 0.1  # of each feature's deviation
CUBE = ("cube", 3)
SAMPLED_COLUMNS = 32
SUSY = {"leaf_size": 256, "dtype": "float32", "max_memory": "8GB"}


def measure_table(point, seed):
    """Compression, factor and ten steps at the settings of a table; quality after the clock."""
    data = sample(point.dataset, point.get("rows"))
    mode = "paper" if point.method == PAPERS_MODE else "fast"
    machine = HSSSVC(
        point["C"], point["h"], mode=mode, random_state=seed, **SETTINGS[point.variant]
    )
    row = _fitted(machine, data, scored=point.repeat == 0)
    if point.repeat == 0:
        row |= _quality(machine.approximation_, seed) | residual(machine, seed)
    return row


def measure_grid(point, seed):
    """Nine values of C on one factor."""
    data = sample(point.dataset, point.get("rows"))
    machine = HSSSVC(1.0, point["h"], random_state=seed, **SETTINGS["table 4"])
    _warm_up(machine, data)
    began = time.perf_counter()
    machines = [machine.with_params(C=C) for C in COSTS]
    fit_together(machines, data.X, data.y)
    seconds = time.perf_counter() - began
    return data.shape | {
        "fit_seconds": seconds,
        "approximate_seconds": sum(one.timings_["approximate"] for one in machines),
        "solve_seconds": sum(one.timings_["solve"] for one in machines),
        "n_iter": machines[0].n_iter_,
    }


def measure_exact(point, seed):
    """LIBSVM with the same width and C."""
    data = sample(point.dataset, point.get("rows"))
    return _fitted(LibSVM(C=point["C"], gamma=gamma_from_sigma(point["h"])), data)


def measure_converged(point, seed):
    """To the optimum on part of the training rows; objectives are those of the exact kernel.

    The certificate's products with the exact kernel come after the clock.
    """
    data = sample(point.dataset)
    # Not by the point's seed: what is compared is given the same rows.
    order = np.random.default_rng(0).permutation(len(data.y))[: point["rows"] or None]
    X, y = data.X[np.sort(order)], data.y[np.sort(order)]
    if point.method == EXACT:
        machine = LibSVM(C=point["C"], gamma=gamma_from_sigma(point["h"]))
    else:
        machine = HSSSVC(point["C"], point["h"], random_state=seed, **TO_OPTIMUM)
    data = type(data)(X, y, data.X_test, data.y_test)
    row = _fitted(machine, data) | _exact_objectives(machine, point, X, y)
    if point.method == HSS:
        row |= _quality(machine.approximation_, seed)
    return row


def measure_scaling(point, seed):
    """Rows resampled with jitter, in single precision."""
    data = sample(point.dataset)
    X, y = resampled(data.X, data.y, point["rows"], seed)
    machine = HSSSVC(1.0, point["h"], random_state=seed, **SETTINGS["table 4"], **SUSY)
    machine.fit(X[:WARM_UP], y[:WARM_UP])
    data = type(data)(X, y, data.X_test.astype(np.float32), data.y_test)
    return _fitted(machine.set_params(prediction="structure"), data, warm=True)


def measure_decay(point, seed):
    """Error and ranks as the tolerance tightens, where ranks decay."""
    if point.dataset == CUBE[0]:
        X = np.random.default_rng(seed).normal(size=(point["rows"], CUBE[1]))
    else:
        X = sample(point.dataset, point.get("rows")).X
    began = time.perf_counter()
    kernel = HSSKernel(
        gamma=gamma_from_sigma(point["h"]), rel_tol=10.0 ** -point["digits"], random_state=seed
    ).fit(X)
    return {
        "n_train": X.shape[0],
        "n_features": X.shape[1],
        "approximate_seconds": time.perf_counter() - began,
        "nbytes": kernel.nbytes,
    } | _quality(kernel, seed)


# ------------------------------------------------------------------------------ the parts
def resampled(X, y, n_rows, seed):
    """Rows drawn with replacement, and moved a little so that none are equal."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(len(y), size=n_rows)
    jitter = (JITTER * X.std(axis=0)).astype(np.float32)
    moved = X[rows].astype(np.float32)
    moved += jitter * generator.standard_normal(moved.shape, dtype=np.float32)
    return moved, y[rows]


def residual(machine, seed):
    """|(K~ + beta I) x - b| / |b| for a random b, with the factor that was trained with."""
    kernel, beta = machine.approximation_, machine.beta_
    b = np.random.default_rng(seed).normal(size=kernel.X_.shape[0])
    x = kernel.shifted(beta).solve(b)
    left = kernel.operator() @ x + beta * x - b
    return {"solve_residual": float(np.linalg.norm(left) / np.linalg.norm(b))}


def _warm_up(machine, data):
    machine.fit(data.X[:WARM_UP], data.y[:WARM_UP])


def _fitted(machine, data, scored=True, warm=False):
    if not warm:
        _warm_up(machine, data)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the row says whether it converged
        machine.fit(data.X, data.y)
    row = data.shape | {
        "fit_seconds": time.perf_counter() - began,
        "approximate_seconds": machine.timings_["approximate"],
        "solve_seconds": machine.timings_["solve"],
        "n_iter": int(np.max(machine.n_iter_)),
    }
    if isinstance(machine, HSSSVC):
        row |= _parts(machine)
    if scored:
        chosen = np.random.default_rng(0).permutation(len(data.y_test))[:MOST_TESTED]
        began = time.perf_counter()
        predicted = machine.predict(data.X_test[chosen])
        row["predict_seconds"] = time.perf_counter() - began
        row["test_accuracy"] = float(np.mean(predicted == data.y_test[chosen]))
    return row


def _parts(machine):
    """What the paper calls compression (with tree and neighbours) and factorisation (with the proof
    that beta is large enough), and what is held."""
    timings = machine.timings_
    compress, factor = (
        sum(timings[f"approximate: {part}"] for part in parts)
        for parts in (("tree", "neighbours", "compress"), ("definite", "factor"))
    )
    return {
        "compress_seconds": compress,
        "factor_seconds": factor,
        "nbytes": machine.nbytes_,
        "beta": machine.beta_,
        "largest_rank": machine.approximation_.rank_,
        "converged": machine.result_.converged,
    }


def _quality(kernel, seed):
    quality = kernel.quality(SAMPLED_COLUMNS, random_state=seed)
    levels = quality.levels.iloc[1:]
    return {
        "sampled_error": quality.sampled_error,
        "smallest_eigenvalue": quality.smallest_eigenvalue,
        "smallest_rank": int(levels["smallest rank"].min()) if len(levels) else 0,
        "mean_ranks": " ".join(f"{rank:.0f}" for rank in levels["mean rank"]),
    }


def _exact_objectives(machine, point, X, y):
    """Objectives of primal and dual with the exact kernel, at the dual variables of a solution; the
    paper's objective is the dual."""
    dual = np.zeros(len(y))
    dual[machine.support_] = np.abs(machine.dual_coef_[0])
    kernel = make_kernel("rbf", gamma=gamma_from_sigma(point["h"]))
    used = dual > 0

    def multiply(v):
        return kernel_product(kernel, X, X[used], v[used])

    found = certify_dual(multiply, y, dual, C=point["C"])
    return {"objective": found.primal, "dual_objective": found.dual, "gap": found.relative_gap}
