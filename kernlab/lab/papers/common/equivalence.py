"""The theorem behind all landmark methods, in numbers: a kernel machine is a linear machine.

Whatever F with F F^T = K is fed to a linear support vector machine, it decides as the machine with
kernel K does: Proposition 1 of the LLSVM paper for the hinge, Theorem 1 of the LASN paper for the
squared hinge.
"""

import numpy as np
import scipy.linalg as la

from kernlab.approximations import ExactKernel
from kernlab.datasets import load_dataset
from kernlab.kernels import resolve_gamma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Study, product
from kernlab.lab.plots.style import QUIET, new_figure
from kernlab.solvers import certify_dual

FACTORS = ("Cholesky", "eigenvectors", "square root")
QUICK = ("two-moons", "breast-cancer", "magic")
STANDARD = (*QUICK, "heart_scale", "svmguide1", "a1a", "w1a")
MAX_ROWS = 1000


def study_of(method, measure, datasets, C):
    """The study that compares a kernel machine with a linear one on each factor."""

    def points(profile):
        names = datasets or (QUICK if profile == "quick" else STANDARD)
        return product(names, method, FACTORS, C=C)

    return Study(grid=points, measure=measure, key_figures=key_figures)


def two_class_rows(name, seed):
    """At most 1,000 training and as many test rows, standardised, with labels -1 and 1."""
    data = load_dataset(name, scaling="standard", seed=0)
    rng = np.random.default_rng(seed)
    parts = []
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        rows = np.sort(rng.permutation(X.shape[0])[:MAX_ROWS])
        X = X[rows].toarray() if hasattr(X, "toarray") else X[rows]
        parts += [X, np.where(y[rows] == data.info["positive"], 1.0, -1.0)]
    return parts


def factor(kind, kernel_matrix, exact):
    """F with F F^T = K, in three ways; and what turns a block of kernel values into features."""
    if kind == "Cholesky":
        return exact.transform
    values, vectors = la.eigh(kernel_matrix)
    kept = values > 1e-12 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    if kind == "eigenvectors":
        to_features = vectors / np.sqrt(values)
    else:
        to_features = (vectors / np.sqrt(values)) @ vectors.T
    return lambda X: exact.kernel_(X, exact.X_) @ to_features


def compare_machines(point, seed, *, loss, fit_linear):
    """The kernel machine by LIBSVM, and a linear machine on a factor of its kernel matrix.

    `fit_linear(F, y, C)` returns weights, intercept and dual variables of the linear machine.
    """
    X, y, X_test, y_test = two_class_rows(point.dataset, seed)
    C, gamma = point["C"], resolve_gamma("variance", X)
    exact = ExactKernel(gamma=gamma).fit(X)
    to_features = factor(point.variant, exact.matrix_, exact)
    F, F_test = to_features(X), to_features(X_test)
    kernel_machine = LibSVM(C=C, gamma=gamma, loss=loss, tol=1e-10, max_iter=-1).fit(X, y)
    theirs = kernel_machine.certify(X, y)
    w, b, dual = fit_linear(F, y, C)
    ours = certify_dual(lambda v: exact.matrix_ @ v, y, dual, C=C, loss=loss)
    kernel_decisions = kernel_machine.decision_function(X_test)
    linear_decisions = F_test @ w + b
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
        "rank": F.shape[1],
        "factor_error": float(np.abs(F @ F.T - exact.matrix_).max()),
        "objective": theirs.primal,
        "dual_objective": theirs.dual,
        "linear_dual_objective": ours.dual,
        "dual_difference": abs(ours.dual - theirs.dual) / theirs.dual,
        "decision_difference": float(np.abs(kernel_decisions - linear_decisions).max()),
        "agreement": float(np.mean((kernel_decisions > 0) == (linear_decisions > 0))),
        "test_accuracy": float(np.mean((kernel_decisions > 0) == (y_test > 0))),
        "linear_test_accuracy": float(np.mean((linear_decisions > 0) == (y_test > 0))),
        "gap": max(theirs.relative_gap, ours.relative_gap),
    }


def key_figures(table):
    """What must hold whatever the machine: bounds on differences, and the accuracy itself."""
    accuracy = {
        f"test accuracy, {name}": f"{100 * rows['test_accuracy'].iloc[0]:.1f} %"
        for name, rows in table.groupby("dataset", sort=False)
    }
    return {
        "agreement of the decisions": f"{100 * table['agreement'].min():.1f} %",
        "largest relative difference of the dual": below(table["dual_difference"].max()),
        "largest difference of a decision": below(table["decision_difference"].max()),
        **accuracy,
    }


def below(value, finest=-6):
    """A small number as the power of ten that bounds it: rounding differs between machines."""
    bound = next((e for e in range(finest, 3) if value < 10.0**e), None)
    return "not small" if bound is None else f"below 1e{bound}"


COLOURS = {"Cholesky": "#0062B0", "eigenvectors": "#CC3311", "square root": "#009E73"}
MARKERS = {"Cholesky": "o", "eigenvectors": "s", "square root": "^"}
SMALLEST = 1e-16


def draw_differences(table):
    """Largest difference of a decision and relative difference of the dual, on a log axis."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, 2, panel=(4.2, 0.42 * len(names) + 1.5), sharey=True)
    for ax, column, title in zip(
        axes,
        ("decision_difference", "dual_difference"),
        ("Decisions on new points", "Dual objective"),
        strict=True,
    ):
        for kind, rows in table.groupby("variant", sort=False):
            heights = [names.index(name) for name in rows["dataset"]]
            offset = 0.22 * (list(COLOURS).index(kind) - 1)
            ax.scatter(
                np.maximum(rows[column], SMALLEST),
                np.array(heights) + offset,
                color=COLOURS[kind],
                marker=MARKERS[kind],
                s=34,
                label=kind,
                zorder=3,
            )
        ax.set(xscale="log", xlim=(SMALLEST / 3, 1e1), title=title)
        ax.axvline(1.0, color=QUIET, lw=0.8, ls="dashed")
        ax.set_xticks([1e-16, 1e-12, 1e-8, 1e-4, 1])
        ax.grid(axis="y", visible=False)
    axes[0].set(
        yticks=range(len(names)),
        yticklabels=names,
        ylim=(len(names) - 0.4, -0.6),
        xlabel="largest difference (the margin is 1)",
    )
    axes[1].set_xlabel("relative difference")
    axes[1].legend(loc="center", title="factor F", handletextpad=0.2)
    return figure
