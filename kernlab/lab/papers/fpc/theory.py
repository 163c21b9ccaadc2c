"""FPC's theorems in numbers, and its Figure 2: convergence, learning rates, shrinking margins."""

import math

import numpy as np
from sklearn.svm import SVC

from kernlab.datasets import generators
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.fpc.propositions import primal_value
from kernlab.lab.papers.fpc.toy import MACHINES, course_of, described, errors, features_of, fit, toy
from kernlab.solvers import solve_hinge_interior

# -------------------------------------------------------------------- Theorems 1 and 2
SETTINGS = {"beta = 1": {}, "beta = 1/30": {"beta": 1 / 30}, "alpha = 0.01": {"alpha": 0.01}}


@catalogued("fpc-thm12", "Theorems 1 and 2: ADMM converges, in steps that never grow")
def convergence(steps=None):
    """How do ADMM's steps and its objective fall, and where does FPC stop?"""

    def grid(profile):
        count = steps or (1000 if profile == "quick" else 5000)
        optimum = product("fpc-toy", "hinge optimum", "to the optimum", steps=count)
        return product("fpc-toy", "FPC", SETTINGS, steps=count) + optimum

    return Study(grid=grid, measure=measure_convergence, key_figures=_convergence_key_figures)


def measure_convergence(point, seed):
    """Squared H-norm, objective and residual of the steps 1, ..., spaced ever wider."""
    X, y, _, _ = toy(1000, point.repeat)
    if point.method == "FPC":
        settings = {"tol": 0.0, "max_iter": point["steps"]} | SETTINGS[point.variant]
        trace = course_of(X, y, **settings)[0].trace_table()
        growth = trace["change"].pct_change().iloc[1:].max()
    else:
        F, _ = features_of(X, 9, basis="chebyshev")
        trace = solve_hinge_interior(F, y, tol=1e-4).trace_table()
        growth = np.nan
    value = primal_value(features_of(X, 9, basis="chebyshev")[0], y)
    kept = np.unique(np.geomspace(1, len(trace), 60).round().astype(int)) - 1
    return [
        {
            "step": int(row.iteration),
            "change": row.change,
            "objective": row.objective,
            "excess": row.objective - value,
            "kkt_residual": row.residual,
            "largest_growth": growth,
            "n_train": len(y),
            "n_features": 2,
        }
        for row in trace.iloc[kept].itertuples()
    ]


def _convergence_key_figures(table):
    figures = {}
    for kind, rows in table[table["method"] == "FPC"].groupby("variant", sort=False):
        last = rows.iloc[-1]
        monotone = "never grows" if last["largest_growth"] <= 1e-6 else "grows somewhere"
        k_times = rows["step"] * rows["change"]
        shrinks = "falls" if k_times.iloc[-1] < 0.5 * k_times.max() else "does not fall"
        figures[f"the step with {kind}"] = f"{monotone}; k times its square {shrinks}"
    return figures


# -------------------------------------------------------------------- Theorem 3
SMOOTHNESS = (1.0, 2.0)
ROWS = {"quick": (100, 300, 1000, 3000), "standard": (100, 300, 1000, 3000, 10_000, 30_000)}


@catalogued("fpc-thm3", "Theorem 3: the learning rate")
def learning_rate(sizes=None, repeats=None):
    """Does the excess error fall as fast as the theorem says when s grows with m?

    Parameters
    ----------
    sizes : sequence of int, optional
        Training rows m.
    repeats : int, optional
    """

    def grid(profile):
        times = repeats or {"quick": 3, "standard": 10}.get(profile, 50)
        rows = sizes or ROWS.get(profile, ROWS["standard"])
        return [
            point
            for alpha in SMOOTHNESS
            for point in product(
                "fpc-toy", MACHINES, f"smoothness {alpha:g}", times, rows=rows, smoothness=alpha
            )
        ]

    return Study(grid=grid, measure=measure_rate, key_figures=_rate_key_figures)


def prescribed_degree(m, smoothness, variables=2):
    """[(m / log m)^theta] with theta = 1 / (alpha + d): the labels are turned with a probability
    that is bounded away from 1/2, so Tsybakov's q is infinite."""
    return max(1, int((m / math.log(m)) ** (1.0 / (smoothness + variables))))


def measure_rate(point, seed):
    m = point["rows"]
    degree = prescribed_degree(m, point["smoothness"])
    X, y, X_test, y_test = toy(m, point.repeat, test_rows=20_000)
    machine = fit(point.method, X, y, degree)
    theta = 1.0 / (point["smoothness"] + 2)
    return {
        "chosen_degree": degree,
        "excess_error": errors(machine, X, y, X_test, y_test)["test_error"],
        "rate": (m / math.log(m)) ** (-point["smoothness"] * theta),
        **described(machine, X),
    }


def _rate_key_figures(table):
    figures = {}
    for (variant, method), rows in table.groupby(["variant", "method"], sort=False):
        means = rows.groupby("rows")["excess_error"].mean()
        figures[f"{method}, {variant}"] = (
            f"{100 * means.iloc[0]:.1f} % at {means.index[0]} rows, "
            f"{100 * means.iloc[-1]:.1f} % at {means.index[-1]}"
        )
    return figures


# -------------------------------------------------------------------- Figure 2b
@catalogued("fpc-f2", "Figure 2: the margin shrinks as data grow")
def shrinking_margin(sizes=None, repeats=None):
    """What becomes of the margin when more and more rows are drawn?"""

    def grid(profile):
        quick = profile == "quick"
        rows = sizes or (50, 100, 200, 400, 800, 1600) + (() if quick else (3200, 6400))
        times = repeats or (3 if quick else 10)
        return product("fpc-toy", "LIBSVM", "separable", times, rows=rows)

    return Study(grid=grid, measure=measure_margin, key_figures=_margin_key_figures)


def measure_margin(point, seed):
    """A machine without slack on rows without noise: the width of its margin, and who is near."""
    X, y = generators.fpc_toy(point["rows"], noise=0.0, seed=point.repeat)
    machine = SVC(C=1e8, gamma=5.0, cache_size=500).fit(X, y)
    height = np.abs(X[:, 1] - generators.fpc_bayes_curve(X[:, 0]))
    signed = machine.dual_coef_.ravel()
    K = np.exp(-5.0 * ((machine.support_vectors_[:, None] - machine.support_vectors_) ** 2).sum(-1))
    return {
        "n_train": len(y),
        "n_features": 2,
        "margin": 2.0 / math.sqrt(signed @ K @ signed),
        "support_vectors": len(signed),
        "rows_near": int(np.sum(height < 0.02)),
        "train_error": float(np.mean(machine.predict(X) != y)),
    }


def _margin_key_figures(table):
    means = table.groupby("rows")[["margin", "rows_near"]].median()
    return {
        f"{m} rows": f"{row.rows_near:.0f} within 0.02 of the curve" for m, row in means.iterrows()
    }
