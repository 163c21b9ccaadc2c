"""Hostile fits: a seed gives a machine, rows and labels that somebody might hand to it one day."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernlab.approximations import APPROXIMATIONS
from kernlab.estimators import ESTIMATORS
from kernlab.solvers import SOLVERS

WORDS = ("magic", "", "1", b"scale")
NO_NUMBERS = (None, np.nan, np.inf, -np.inf, True, [1.0], (1.0, 2.0), {}, 1j, np.array([1.0]))
EXTREME = (0, -1, -0.0, 1e-320, 1e-200, 1e-30, 1e30, 1e200, 1e308, 2.5, 2**70)
ODD = (*WORDS, *NO_NUMBERS, *EXTREME)
USUAL = {
    "C": (1e-6, 1e-2, 1.0, 10, 1e3, 1e6, np.float32(2.0)),
    "n_landmarks": (1, 2, 7, "sqrt"),
    "landmarks": ("kmeans", "uniform", "first", "rpcholesky"),
    "kernel": ("rbf", "laplacian", "polynomial", "sigmoid", "linear", "compact"),
    "gamma": ("scale", "variance", "median", "auto", 1e-6, 1e-2, 1.0, 1e3),
    "sigma": ("quantile", "scale", 0.1, 1.0, 30.0, "cv"),
    "h": ("scale", "median", 0.1, 1.0, 30.0),
    "degree": (1, 2, 5, "cv"),
    "coef0": (0.0, 1.0, -1.0),
    "loss": ("hinge", "squared_hinge"),
    "intercept": ("free", "penalised", "none"),
    "factor": ("cholesky", "eigen-drop", "eigen-replace"),
    "dtype": (None, "float32", "float64", np.float32),
    "tol": (None, 0.0, 1e-8, 1e-3, 0.1, 1.0),
    "max_iter": (None, 1, 2, 50, 300),
    "class_weight": (None, "balanced"),
    "random_state": (None, 0, np.random.RandomState(3), np.int64(7)),
    "max_memory": (None, None, "1kB", "100kB", "5MB", 10**9),
    "runs": (None, 1, 3),
    "block_rows": (None, 1, 10, 1000),
    "drop": (0.0, 0.75, 0.99),
    "solver": ("cholesky", "newton"),
    "alpha": (None, 1.0, "trade-off", 0.1),
    "l": ("askey-odd", "askey", 1, 3, 30),
    "sparsity": (None, 0.0, 0.5, 0.99),
    "shift": (1e-4, 0.0, 1.0),
    "merge": (False, True),
    "ordering": ("amd", "natural", "metis"),
    "backend": ("auto", "superlu"),
    "beta": ("auto", "adaptive", 1.0, 1e4),
    "rel_tol": (1e-2, 1e-6, 0.5),
    "leaf_size": (None, 8, 64),
    "clustering": ("2means", "kdtree", "pca", "cobble", "natural"),
    "mode": ("fast", "paper"),
    "certificate": ("approximate", "exact"),
    "prediction": ("exact", "structure"),
    "relaxation": (None, 1.0, 1.6),
    "acceleration": (None, 0, 5),
    "basis": ("power", "chebyshev"),
    "scaling": ("unit", "none"),
    "centres": ("first", "random", "uniform"),
    "n_centres": (None, 1, 5),
    "to_optimum": (False, True),
    "max_seconds": (None, 600.0, 1e-3),
    "validation": (1 / 3, 2, 3),
    "max_degree": (10, 1, 3),
    "epsilon": (0.0, 0.1, 10.0),
}


@dataclass
class Case:
    """What is fitted; `new` are rows to decide on, `said` says in words how it was made."""

    seed: int
    kind: type
    params: dict
    X: object
    y: object
    weights: object
    new: object
    said: str


def make_case(seed):
    """The hostile fit of a seed, always the same."""
    draw = np.random.default_rng([seed, 20])
    kind = ESTIMATORS[pick(draw, [*ESTIMATORS, "KernelMachine", "KernelMachine"])]
    params = parameters(draw, kind)
    X, said = rows(draw)
    y, of_labels = labels(draw, X, kind.__name__ == "LASNRegressor")
    weights, of_weights = sample_weight(draw, len(y))
    new = X[: 1 + len(X) // 2].copy()
    X, form = in_some_form(draw, X)
    return Case(
        seed, kind, params, X, y, weights, new, f"{said}, {form}; {of_labels}; {of_weights}"
    )


def pick(draw, choices):
    return choices[draw.integers(len(choices))]


def parameters(draw, kind):
    """Some parameters at usual values, and in a third of the cases one that is odd."""
    own = [name for name in kind().get_params(deep=False) if name in USUAL]
    params = {n: pick(draw, USUAL[n]) for n in own if draw.random() < 0.3}
    if kind.__name__ == "KernelMachine":
        params |= a_pair(draw)
    if "degree" in params and kind.__name__ != "FPC" and params["degree"] == "cv":
        params["degree"] = 3
    if draw.random() < 0.2:
        params[pick(draw, own)] = pick(draw, ODD)
    return params


def a_pair(draw):
    """An approximation and a solver that mostly go together."""
    solver = pick(draw, list(SOLVERS.values()))
    kinds = [n for n, kind in APPROXIMATIONS.items() if kind.offers(solver.needs)]
    found = {
        "approximation": pick(draw, kinds if draw.random() < 0.95 else list(APPROXIMATIONS)),
        "solver": solver.name,
    }
    if draw.random() < 0.95:
        found |= {"loss": pick(draw, solver.losses), "intercept": pick(draw, solver.intercepts)}
    return found


# ---------------------------------------------------------------------------------------- data
def rows(draw):
    """Rows of double precision, and how they were made."""
    n = int(pick(draw, (1, 2, 3, 8, 8, 30, 30, 30, 60, 60, 60, 120, 120, 120)))
    p = int(pick(draw, (1, 2, 2, 3, 10, 40))) if draw.random() < 0.98 else 5000
    n = min(n, 30) if p == 5000 else n
    X, said = draw.normal(size=(n, p)), [f"{n} x {p}"]
    for name in draw.choice([*CHANGES], size=draw.integers(0, 3), replace=False):
        if name not in RARE or draw.random() < 0.3:
            X = CHANGES[name](draw, X)
            said.append(name)
    return X, " ".join(said)


def one_far_row(draw, X):
    X[draw.integers(len(X))] = 10.0 ** draw.integers(3, 16)
    return X


def constant_columns(draw, X):
    X[:, draw.random(X.shape[1]) < 0.5] = 3.0
    return X


def not_a_number(draw, X):
    X[draw.integers(len(X)), draw.integers(X.shape[1])] = pick(draw, (np.nan, np.inf, -np.inf))
    return X


CHANGES = {
    "one far row": one_far_row,
    "columns of all scales": lambda draw, X: X * 10.0 ** draw.integers(-8, 9, X.shape[1]),
    "far from the origin": lambda draw, X: X + 10.0 ** draw.integers(2, 10),
    "constant columns": constant_columns,
    "all rows alike": lambda draw, X: np.repeat(X[:1], len(X), axis=0),
    "duplicates": lambda draw, X: X[draw.integers(0, 1 + len(X) // 4, len(X))],
    "mostly zero": lambda draw, X: np.where(draw.random(X.shape) < 0.9, 0.0, X),
    "all zero": lambda draw, X: np.zeros_like(X),
    "whole numbers": lambda draw, X: np.round(3 * X),
    "very small": lambda draw, X: X * 10.0 ** draw.integers(-320, -8),
    "very large": lambda draw, X: X * 10.0 ** draw.integers(8, 300),
    "not a number": not_a_number,
    "on a line": lambda draw, X: np.outer(X[:, 0], np.arange(1.0, 1 + X.shape[1])),
}
RARE = ("not a number", "very large", "all zero", "all rows alike")  # nearly always refused


def in_some_form(draw, X):
    """The rows as arrays, sparse matrices or tables of some kind."""
    with np.errstate(all="ignore"):
        form = pick(draw, [*FORMS, "double", "double", "CSR"])
        return FORMS[form](X), form


def with_explicit_zeros(X):
    made = sp.csr_matrix(X)
    if made.nnz:
        made.data[:: 1 + made.nnz // 3] = 0.0
    return made


def with_entries_in_parts(X):
    made = sp.coo_matrix(X)
    places = [np.concatenate([part, part]) for part in (made.row, made.col)]
    halves = np.concatenate([made.data / 2, made.data / 2])
    return sp.csr_matrix((halves, places), shape=X.shape)


FORMS = {
    "double": lambda X: X,
    "single": lambda X: X.astype(np.float32),
    "half": lambda X: X.astype(np.float16),
    "columns first": np.asfortranarray,
    "every other": lambda X: np.repeat(X, 2, axis=0)[::2],
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
    "single CSR": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "sparse array": sp.csr_array,
    "explicit zeros": with_explicit_zeros,
    "entries in parts": with_entries_in_parts,
    "table": pd.DataFrame,
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "words": lambda X: X.astype(str),
    "one axis": lambda X: X[:, 0],
}


def labels(draw, X, is_regression):
    """Labels, or targets, and what they are."""
    n = len(X)
    signs = np.where(np.nan_to_num(X[:, 0]) + 0.5 * draw.normal(size=n) > 0, 1, -1)
    if n > 1 and draw.random() < 0.95:
        signs[:2] = 1, -1
    made = {
        "signs": signs,
        "words": np.where(signs > 0, "yes", "no"),
        "objects": np.where(signs > 0, "yes", "no").astype(object),
        "truths": signs > 0,
        "three": np.arange(n) % 3,
        "floats": 2.0 * signs,
        "column": signs[:, None],
        "list": signs.tolist(),
    }
    wrong = {
        "one class": np.ones(n),
        "numbers": draw.normal(size=n),
        "mixed": np.array([*signs[1:].tolist(), "no"], dtype=object),
        "NaN": np.where(np.arange(n) == 0, np.nan, signs),
        "too few": signs[1:],
        "two columns": np.column_stack([signs, signs]),
        "huge": signs * 1e300,
    }
    if is_regression and draw.random() < 0.8:
        return np.sin(np.nan_to_num(X[:, 0])) * 10.0 ** draw.integers(-5, 6), "targets"
    name = pick(draw, list(made if draw.random() < 0.95 else wrong))
    return (made | wrong)[name], f"labels {name}"


def sample_weight(draw, n):
    if draw.random() < 0.7:
        return None, "no weights"
    made = {
        "of chance": draw.random(n),
        "some zero": draw.integers(0, 3, n).astype(float),
        "all zero": np.zeros(n),
        "one negative": np.where(np.arange(n) == 0, -1.0, 1.0),
        "NaN": np.full(n, np.nan),
        "of all scales": 10.0 ** draw.integers(-12, 12, n),
        "tiny": np.full(n, 1e-300),
        "too few": np.ones(max(0, n - 1)),
        "whole": np.ones(n, dtype=int),
        "one counts": (np.arange(n) == n - 1).astype(float),
    }
    name = pick(draw, [*made, *["of chance", "some zero"] * 5])
    return made[name], f"weights {name}"
