"""What LLSVM and LASN prove of landmarks, in numbers: the theorems of both papers are the same.

A kernel machine is a linear machine on any F with F F^T = K; the weights on Nystrom features are
near those on the best features of the same rank.
"""

import numpy as np
import scipy.linalg as la

from kernlab.approximations import ExactKernel, Nystrom
from kernlab.datasets import load_dataset
from kernlab.kernels import make_kernel, resolve_gamma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Choice, NotRun, figures_by, per_cent
from kernlab.lab.papers.common.fitting import accuracy, dense, shape_of, signs
from kernlab.lab.plots.marks import name_rows, ticks_at
from kernlab.lab.plots.style import BLUE, DARK, GREEN, QUIET, RED, new_figure
from kernlab.solvers import certify_dual, solve_dcd, solve_newton

MAX_ROWS = 1000


def two_class_rows(name, seed):
    """At most 1,000 training and as many test rows, standardised, with labels -1 and 1."""
    data = load_dataset(name, scaling="standard", seed=0)
    rng = np.random.default_rng(seed)
    parts = []
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        rows = np.sort(rng.permutation(X.shape[0])[:MAX_ROWS])
        parts += [dense(X[rows]), signs(data, y[rows])]
    return parts


def below(value, finest=-6):
    """A small number as the power of ten that bounds it: rounding differs between machines."""
    bound = next((e for e in range(finest, 3) if value < 10.0**e), None)
    return "not small" if bound is None else f"below 1e{bound}"


FACTORS = ("Cholesky", "eigenvectors", "square root")
QUICK = ("two-moons", "breast-cancer", "magic")
SETS = Choice(QUICK, (*QUICK, "heart_scale", "svmguide1", "a1a", "w1a"))


def factor(kind, kernel_matrix, exact):
    """F with F F^T = K, in three ways: what turns rows into features."""
    if kind == "Cholesky":
        return exact.transform
    values, vectors = la.eigh(kernel_matrix)
    kept = values > 1e-12 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    to_features = vectors / np.sqrt(values)
    if kind == "square root":
        to_features = to_features @ vectors.T
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
    return shape_of(X) | {
        "rank": F.shape[1],
        "factor_error": float(np.abs(F @ F.T - exact.matrix_).max()),
        "objective": theirs.primal,
        "dual_objective": theirs.dual,
        "linear_dual_objective": ours.dual,
        "dual_difference": abs(ours.dual - theirs.dual) / theirs.dual,
        "decision_difference": float(np.abs(kernel_decisions - linear_decisions).max()),
        "agreement": accuracy(kernel_decisions > 0, linear_decisions > 0),
        "test_accuracy": accuracy(kernel_decisions > 0, y_test > 0),
        "linear_test_accuracy": accuracy(linear_decisions > 0, y_test > 0),
        "gap": max(theirs.relative_gap, ours.relative_gap),
    }


def equivalence_figures(table):
    """What must hold whatever the machine: bounds on differences, and the accuracy itself."""
    accuracies = figures_by(
        "test accuracy, {dataset}", lambda rows: per_cent(rows["test_accuracy"].iloc[0])
    )
    return {
        "agreement of the decisions": per_cent(table["agreement"].min()),
        "largest relative difference of the dual": below(table["dual_difference"].max()),
        "largest difference of a decision": below(table["decision_difference"].max()),
    } | accuracies(table)


LOOKS = {"Cholesky": (BLUE, "o"), "eigenvectors": (RED, "s"), "square root": (GREEN, "^")}
SMALLEST = 1e-16


def draw_differences(table):
    """Largest difference of a decision and relative difference of the dual, on a log axis."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(1, 2, panel=(4.2, 0.42 * len(names) + 1.5), sharey=True)
    titles = {
        "decision_difference": ("Decisions on new points", "largest difference (the margin is 1)"),
        "dual_difference": ("Dual objective", "relative difference"),
    }
    for ax, (column, (title, xlabel)) in zip(axes, titles.items(), strict=True):
        for kind, rows in table.groupby("variant", sort=False):
            heights = np.array([names.index(name) for name in rows["dataset"]])
            heights = heights + 0.22 * (list(LOOKS).index(kind) - 1)
            colour, marker = LOOKS[kind]
            look = {"color": colour, "marker": marker, "s": 34, "label": kind, "zorder": 3}
            ax.scatter(np.maximum(rows[column], SMALLEST), heights, **look)
        ax.set(xscale="log", xlim=(SMALLEST / 3, 1e1), title=title, xlabel=xlabel)
        ax.axvline(1.0, color=QUIET, lw=0.8, ls="dashed")
        ax.set_xticks([1e-16, 1e-12, 1e-8, 1e-4, 1])
        name_rows(ax, names, legend=False)
    axes[1].legend(loc="center", title="factor F", handletextpad=0.2)
    return figure


BOUND_RANKS = Choice((5, 10, 20, 50, 100, 200))
BOUND_SETS = Choice(("magic", "breast-cancer"), ("magic", "svmguide1", "a1a"))
BOUND_ROWS = 400


def measure_bound(point, seed, *, loss):
    """The gap between weights on the best and on the Nystrom features of one rank; the bounds.

    The two feature spaces differ by a rotation that changes nothing about the machine, so the gap
    is measured as it stands and after the best rotation (Procrustes).
    """
    X, y, _, _ = two_class_rows(point.dataset, seed)
    X, y, k, C = X[:BOUND_ROWS], y[:BOUND_ROWS], point["rank"], point["C"]
    if k > len(y):
        raise NotRun(f"a rank of {k} is more than the {len(y)} rows")
    gamma = resolve_gamma("variance", X)
    K = make_kernel(gamma=gamma, X=X)(X)
    values, vectors = la.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    best = vectors[:, :k] * np.sqrt(np.maximum(values[:k], 0.0))
    settings = {"factor": "eigen-replace", "floor": 1e-12, "random_state": seed}
    approximate = Nystrom(gamma=gamma, n_landmarks=k, **settings).fit_transform(X)
    w, w_tilde = (_weights(F, y, loss, C) for F in (best, approximate))
    left, _, right = la.svd(approximate.T @ best)
    spectrum = _spectrum(values, K, approximate, k)
    largest_score = max(np.abs(best @ w).max(), np.abs(approximate @ w_tilde).max())
    printed, corrected = _bounds(spectrum, len(y), k, loss, largest_score, C)
    return shape_of(X) | {
        "weight_gap": float(np.sum((w - w_tilde) ** 2)),
        "aligned_gap": float(np.sum((w - (left @ right).T @ w_tilde) ** 2)),
        "squared_norm": float(w @ w),
        "bound_printed": printed,
        "bound_corrected": corrected,
        "kernel_error": float(la.norm(K - approximate @ approximate.T) / la.norm(K)),
    }


def _weights(F, y, loss, C):
    """The machine without an intercept, as the theorems have it."""
    if loss == "hinge":
        return solve_dcd(F, y, C=C, intercept="none", tol=1e-8, max_iter=100_000).coefficients
    return solve_newton(F, y, C=C, intercept="none", tol=1e-10).coefficients


def _spectrum(values, K, approximate, k):
    """The quantities that both bounds are made of (LLSVM eq. 17 and 18)."""
    difference = K - approximate @ approximate.T
    error_2 = float(np.abs(la.eigvalsh(difference)).max())
    tilde = np.maximum(np.sort(la.eigvalsh(approximate.T @ approximate))[::-1], 1e-300)
    exact = np.maximum(values[:k], 1e-300)
    A = np.maximum(1 / tilde + 1 / exact, 3 / tilde - 1 / exact)
    return {
        "lambda_1": float(values[0]),
        "trace_A": float(A.sum()),
        "trace_inverse": float((1 / tilde).sum()),
        "trace_square": float((exact**2).sum()),
        "e_f": float(np.sqrt(np.sum(values[k:] ** 2))) + float(la.norm(difference)),
        "e_2": float(max(values[k], 0.0)) + error_2 if k < len(values) else error_2,
    }


def _bounds(s, n, k, loss, G, C):
    """The bound as printed and as its own proof gives it; the kernel's diagonal is 1, so rho is 1.

    C_0 = n C: the theorems weigh the mean of the losses.
    """
    C_0 = n * C
    middle = s["lambda_1"] * s["trace_A"] + k * s["e_2"] * s["trace_inverse"]
    root, fourth = s["e_f"] ** 0.5, s["e_f"] ** 0.25
    tail = s["trace_square"] ** 0.25
    if loss == "hinge":
        printed = 2 * C_0**2 * (k * root + middle * (root + tail))
        corrected = 2 * C_0**2 * n**0.5 * (k**0.5 * fourth + middle * (fourth + tail))
        return printed, corrected
    last = k * s["e_2"] * s["trace_inverse"] * (fourth + tail)
    printed = 4 * C_0**2 * G * (G + 1) * (k * fourth + s["lambda_1"] * s["trace_A"] + last)
    corrected = 8 * C_0**2 * (G + 1) ** 2 * (k * fourth + middle * (fourth + tail))
    return printed, corrected


def bound_figures(table):
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        last = rows.loc[rows["rank"].idxmax()]
        share = 100 * last["aligned_gap"] / last["squared_norm"]
        order = int(np.log10((rows["bound_corrected"] / rows["aligned_gap"]).min()))
        figures[f"{name}, aligned gap at k = {last['rank']}"] = f"{share:.0f} % of |w|^2"
        figures[f"{name}, bound over gap"] = f"at least 1e{order}"
    return figures


GAPS = {"weight_gap": ("unaligned", RED), "aligned_gap": ("aligned", BLUE)}
LIMITS = {"bound_corrected": ("corrected", "dotted"), "bound_printed": ("as printed", "dashed")}


def draw_bounds(table):
    """A column for each data set: both gaps in per cent of |w|^2; below, the bounds over it."""
    groups = list(table.groupby("dataset", sort=False))
    shared = {"sharex": True, "sharey": "row", "squeeze": False}
    figure, axes = new_figure(2, len(groups), panel=(3.9, 2.3), **shared)
    for (above, beneath), (name, rows) in zip(axes.T, groups, strict=True):
        rows = rows.sort_values("rank")
        for column, (label, colour) in GAPS.items():
            shares = 100 * rows[column] / rows["squared_norm"]
            above.plot(rows["rank"], shares, color=colour, marker="o", ms=3.5, label=label)
        for column, (label, style) in LIMITS.items():
            shares = rows[column] / rows["squared_norm"]
            beneath.plot(rows["rank"], shares, color=DARK, ls=style, label=label)
        above.set(xscale="log", title=name, ylim=(0, None))
        beneath.set(xscale="log", yscale="log", xlabel="landmarks $k$")
        ticks_at(beneath.xaxis, sorted(rows["rank"].unique()))
    axes[0, 0].set_ylabel(r"$\|w - w'\|^2 / \|w\|^2$ (%)")
    axes[1, 0].set_ylabel(r"bound / $\|w\|^2$")
    return figure
