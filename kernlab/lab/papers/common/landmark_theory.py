"""The theorems of LLSVM and LASN, measured: bounds on weights, and the speed of Newton's method.

Both papers bound how far the weights of a linear machine on Nystrom features are from those on the
best features of the same rank. The two feature spaces differ by a rotation that changes nothing
about the machine, so the gap is measured as it stands and after the best rotation (Procrustes).
"""

from functools import partial

import numpy as np
import scipy.linalg as la
from matplotlib.ticker import NullLocator

from kernlab.approximations import Nystrom
from kernlab.kernels import make_kernel, resolve_gamma
from kernlab.lab.engine import NotRun, Study, product
from kernlab.lab.papers.common.equivalence import two_class_rows
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import dataset_marker, new_figure
from kernlab.solvers import solve_dcd, solve_newton
from kernlab.solvers.newton.steps import ETA

BOUND_RANKS = (5, 10, 20, 50, 100, 200)
BOUND_ROWS = 400


def bound_study(method, loss, datasets, ranks, C):
    """The study of the bound for the machine of one loss."""

    def grid(profile):
        quick = ("magic", "breast-cancer") if profile == "quick" else ("magic", "svmguide1", "a1a")
        return product(datasets or quick, method, rank=ranks or BOUND_RANKS, C=C)

    measure = partial(measure_bound, loss=loss)
    return Study(grid=grid, measure=measure, key_figures=bound_key_figures)


def measure_bound(point, seed, *, loss):
    """The gap between weights on the best and on the Nystrom features of one rank; the bounds."""
    X, y, _, _ = two_class_rows(point.dataset, seed)
    X, y, k = X[:BOUND_ROWS], y[:BOUND_ROWS], point["rank"]
    if k > len(y):
        raise NotRun(f"a rank of {k} is more than the {len(y)} rows")
    gamma = resolve_gamma("variance", X)
    K = make_kernel(gamma=gamma, X=X)(X)
    values, vectors = la.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    best = vectors[:, :k] * np.sqrt(np.maximum(values[:k], 0.0))
    nystrom = Nystrom(
        gamma=gamma, n_landmarks=k, factor="eigen-replace", floor=1e-12, random_state=seed
    )
    approximate = nystrom.fit_transform(X)
    C = point["C"]
    w, w_tilde = (_weights(F, y, loss, C) for F in (best, approximate))
    left, _, right = la.svd(approximate.T @ best)
    spectrum = _spectrum(values, K, approximate, k)
    largest_score = max(np.abs(best @ w).max(), np.abs(approximate @ w_tilde).max())
    printed, corrected = _bounds(spectrum, len(y), k, loss, largest_score, C)
    return {
        "n_train": len(y),
        "n_features": X.shape[1],
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
    error_f = float(la.norm(difference))
    error_2 = float(np.abs(la.eigvalsh(difference)).max())
    tilde = np.sort(la.eigvalsh(approximate.T @ approximate))[::-1]
    exact = np.maximum(values[:k], 1e-300)
    tilde = np.maximum(tilde, 1e-300)
    A = np.maximum(1 / tilde + 1 / exact, 3 / tilde - 1 / exact)
    return {
        "lambda_1": float(values[0]),
        "trace_A": float(A.sum()),
        "trace_inverse": float((1 / tilde).sum()),
        "trace_square": float((exact**2).sum()),
        "e_f": float(np.sqrt(np.sum(values[k:] ** 2))) + error_f,
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


def bound_key_figures(table):
    """How large the aligned gap is, and how far above it the bound lies."""
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        rows = rows.sort_values("rank")
        share = 100 * rows["aligned_gap"] / rows["squared_norm"]
        last = rows["rank"].iloc[-1]
        order = int(np.log10((rows["bound_corrected"] / rows["aligned_gap"]).min()))
        figures[f"{name}, aligned gap at k = {last}"] = f"{share.iloc[-1]:.0f} % of |w|^2"
        figures[f"{name}, bound over gap"] = f"at least 1e{order}"
    return figures


# ------------------------------------------------------------- quadratic convergence
FEW_STEPS = (15, 30, 100, 1000)
# How directions are computed: the method, and (eta_0, eta_1) of mu = min(eta_0, eta_1 |gradient|).
DIRECTIONS = {
    "direct": ("direct", ETA),
    "cg": ("cg", ETA),
    "cg, constant mu": ("cg", (ETA[0], 1e30)),
}


def convergence_study(datasets, n_landmarks, C):
    """The study of the gradient at every step, with three ways to compute directions."""

    def grid(profile):
        real = ("magic", "a9a", "w8a", "ijcnn1")
        names = datasets or (("magic", "breast-cancer") if profile == "quick" else real)
        return product(names, "Newton", tuple(DIRECTIONS), C=C, n_landmarks=n_landmarks)

    return Study(grid=grid, measure=measure_convergence, key_figures=convergence_key_figures)


def measure_convergence(point, seed):
    """The gradient at every Newton step from zero, relative to the first, to the last digit."""
    X, y, _, _ = two_class_rows(point.dataset, seed)
    approximation = Nystrom(gamma="variance", n_landmarks=point["n_landmarks"], random_state=seed)
    F = approximation.fit_transform(X)
    method, eta = DIRECTIONS[point.variant]
    result = solve_newton(
        F, y, C=point["C"], tol=1e-12, gap_tol=0.0, method=method, eta=eta, warm_up=False
    )
    return [
        {
            "n_train": len(y),
            "n_features": X.shape[1],
            "iteration": step["iteration"],
            "residual": step["residual"],
            "products": step["products"],
            "order": step["order"],
            "objective": step["objective"],
            "gap": result.relative_gap,
        }
        for step in result.trace
    ]


def convergence_key_figures(table):
    figures = {}
    for (name, variant), rows in table.groupby(["dataset", "variant"], sort=False):
        steps = int((rows["residual"] > 1e-6).sum())
        # The last step is a matter of rounding, so that the number differs between machines.
        within = next((bound for bound in FEW_STEPS if steps <= bound), "more")
        figures[f"{name}, {variant}"] = f"relative gradient of 1e-6 within {within} steps"
    return figures


GAPS = {"weight_gap": ("unaligned", "#CC3311"), "aligned_gap": ("aligned", "#0062B0")}
LIMITS = {"bound_corrected": ("corrected", "dotted"), "bound_printed": ("as printed", "dashed")}


def draw_bounds(table):
    """A column for each data set: both gaps in per cent of |w|^2; below, the bounds over it."""
    names = list(dict.fromkeys(table["dataset"]))
    figure, axes = new_figure(
        2, len(names), panel=(3.9, 2.3), sharex=True, sharey="row", squeeze=False
    )
    for (above, below), name in zip(axes.T, names, strict=True):
        rows = table[table["dataset"] == name].sort_values("rank")
        for column, (label, colour) in GAPS.items():
            shares = 100 * rows[column] / rows["squared_norm"]
            above.plot(rows["rank"], shares, color=colour, marker="o", ms=3.5, label=label)
        for column, (label, style) in LIMITS.items():
            shares = rows[column] / rows["squared_norm"]
            below.plot(rows["rank"], shares, color="#222222", ls=style, label=label)
        above.set(xscale="log", title=name, ylim=(0, None))
        below.set(xscale="log", yscale="log", xlabel="landmarks $k$")
        ranks = sorted(rows["rank"].unique())
        below.set_xticks(ranks, [f"{rank:g}" for rank in ranks])
        below.xaxis.set_minor_locator(NullLocator())
    for ax in axes.ravel():  # once all have their common limits
        label_lines(ax)
    axes[0, 0].set_ylabel(r"$\|w - w'\|^2 / \|w\|^2$ (%)")
    axes[1, 0].set_ylabel(r"bound / $\|w\|^2$")
    return figure


def draw_convergence(table):
    """Relative gradient against the Newton step, one panel per way to solve for the direction."""
    variants = list(dict.fromkeys(table["variant"]))
    titles = {
        "direct": "Direct",
        "cg": r"Conjugate gradients, $\mu$ falls",
        "cg, constant mu": r"Conjugate gradients, $\mu$ constant",
    }
    figure, axes = new_figure(1, len(variants), panel=(4.0, 3.2), sharey=True, squeeze=False)
    for ax, variant in zip(axes.ravel(), variants, strict=True):
        for name, rows in table[table["variant"] == variant].groupby("dataset", sort=False):
            marker = dataset_marker(name)
            ax.plot(
                rows["iteration"], rows["residual"].clip(1e-17), marker=marker, ms=4, label=name
            )
        ax.set(yscale="log", title=titles.get(variant, variant), xlabel="Newton step")
    for ax in axes.ravel():  # once all have their common limits
        label_lines(ax)
    axes[0, 0].set_ylabel("gradient, relative to the start")
    return figure
