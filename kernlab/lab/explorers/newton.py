"""Where Newton's method spends its time: its gradient, its active rows and its milliseconds."""

from dataclasses import dataclass
from functools import cache

import ipywidgets as widgets
import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from kernlab.approximations import Nystrom
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.rows import SETS, two_class_set
from kernlab.lab.plots.style import QUIET, house_style, new_figure
from kernlab.runtime import single_blas_thread
from kernlab.solvers import SolverResult, solve_newton

METHODS = {"factored Hessian": "direct", "conjugate gradients": "cg"}
ROWS = 2000  # at most, so that a solution takes less time than its picture
MOST_LANDMARKS = 200
MOST_STEPS = 100
BLUE, RED = "#0062B0", "#CC3311"


@dataclass(frozen=True)
class NewtonCourse:
    """One solution with its course."""

    result: SolverResult
    n_rows: int
    method: str

    @property
    def rungs(self):
        """Whether each entry of the trace is of a smaller C, on the way to the C asked for."""
        costs = [step["C"] for step in self.result.trace]
        return np.array([costs[-1] != C for C in costs])


@cache
def _features(dataset):
    """Nystrom features of a set's training rows, the first k those of k landmarks; the labels."""
    X, y = (part[:ROWS] for part in two_class_set(dataset)[:2])
    nystrom = Nystrom(gamma="variance", n_landmarks=min(MOST_LANDMARKS, len(y)), random_state=0)
    with single_blas_thread():
        features = nystrom.fit_transform(X)
    solve_newton(features[:500, :5], y[:500], C=1.0)  # compiled before any clock
    return features, y


def follow_newton(dataset, k, C, method="direct", eta=(0.1, 1.0), warm_up=False):
    """Solve the squared-hinge machine on k landmarks from zero, keeping the course."""
    features, y = _features(dataset)
    features = np.ascontiguousarray(features[:, :k])
    with single_blas_thread():
        result = solve_newton(
            features, y, C=C, intercept="penalised", tol=1e-10, max_iter=MOST_STEPS,
            method=method, eta=eta, warm_up=warm_up,
        )  # fmt: skip
    return NewtonCourse(result=result, n_rows=len(y), method=method)


@house_style()
def draw_newton(course):
    """The gradient at each step, the rows that take part, and the time that each step took."""
    figure, (gradient, rows, times) = new_figure(1, 3, panel=(3.5, 3.2))
    figure.set_layout_engine("none")  # fixed margins: no layout to solve at every move
    for i, ax in enumerate((gradient, rows, times)):
        ax.set_position([0.055 + 0.335 * i, 0.16, 0.27, 0.74])
    table = course.result.trace_table()
    steps = table["iteration"]
    _draw_gradient(gradient, steps, table["residual"].clip(lower=1e-17), course)
    rows.plot(steps, table["active"], marker="o", ms=4, color=BLUE, label="active rows")
    if course.method == "direct":
        rows.bar(steps, table["work"], color=RED, alpha=0.6, label="changed in the factor")
    rows.axhline(course.n_rows, color=QUIET, ls="dashed", lw=1.0, label="all rows")
    rows.set(title="Rows in the Hessian", ylim=(0, 1.45 * course.n_rows))
    rows.legend(loc="upper right", fontsize=7.5)
    milliseconds = 1e3 * table["seconds"].diff().fillna(table["seconds"])
    times.bar(steps, milliseconds, color=BLUE)
    upright = 90 if len(steps) > 9 else 0
    for at, height, products in zip(steps, milliseconds, table["products"], strict=True):
        if products and len(steps) <= 25:
            times.annotate(
                f"{products}", (at, height), xytext=(0, 2), textcoords="offset points",
                ha="center", va="bottom", fontsize=7.5, color=QUIET, rotation=upright,
            )  # fmt: skip
    times.set(title="Milliseconds, and products")
    times.margins(y=0.15)
    for ax in (gradient, rows, times):
        ax.set_xlabel("Newton step")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _draw_gradient(ax, steps, residuals, course):
    """Hollow marks are steps at a smaller C; the numbers are observed orders of convergence."""
    ax.plot(steps, residuals, color=BLUE, lw=1.2)
    for hollow in (True, False):
        chosen = course.rungs == hollow
        face = "white" if hollow else BLUE
        ax.plot(
            steps[chosen], residuals[chosen], marker="o", ms=5, ls="none",
            markerfacecolor=face, markeredgecolor=BLUE,
        )  # fmt: skip
    orders = [step["order"] for step in course.result.trace]
    for i in [i for i, order in enumerate(orders) if order is not None][-3:]:
        ax.annotate(
            f"{orders[i]:.1f}", (steps[i], residuals[i]), xytext=(-5, -3),
            textcoords="offset points", ha="right", va="top", fontsize=8, color=RED,
        )  # fmt: skip
    ax.set(yscale="log", title="Gradient, and order")
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.margins(x=0.12, y=0.12)


def describe(course):
    """What the picture does not show, in one line of HTML."""
    result = course.result
    order = result.observed_order
    notes = f" ({result.message})" if result.message else ""
    return (
        f"<b>{result.n_iter} steps</b> in {1e3 * result.seconds:.1f} ms, "
        f"{sum(step['products'] for step in result.trace)} products with the Hessian; last order "
        f"of convergence <b>{'not observed' if order is None else f'{order:.1f}'}</b> "
        f"(1 linear, 2 quadratic, more where the last active row is found); gradient "
        f"{result.kkt_residual:.0e} of that at zero, relative gap "
        f"{max(result.relative_gap, 0.0):.0e}{notes}"
    )


def newton():
    """The explorer: data set, k, C, how directions are found, how exactly, and from where."""

    def draw(dataset, k, C, method, eta_0, eta_1, warm_up):
        most = _features(dataset)[0].shape[1]
        k = min(round(k), most)
        course = follow_newton(dataset, k, C, METHODS[method], (eta_0, eta_1), warm_up)
        return draw_newton(course), describe(course)

    controls = {
        "dataset": choice("data set", list(SETS), "magic"),
        "k": log_slider("k", 100, 0.3, float(np.log10(MOST_LANDMARKS))),
        "C": log_slider("C", 10.0, -4, 4),
        "method": choice("directions", list(METHODS), "factored Hessian"),
        "eta_0": log_slider("eta_0", 0.1, -6, -0.1),
        "eta_1": log_slider("eta_1", 1.0, -6, 2),
        "warm_up": widgets.Checkbox(value=False, description="begin on a sample", indent=True),
    }
    return Explorer(draw, controls, "where Newton's method spends its time")
