"""Where Newton's method spends its time: its gradient, its active rows and its milliseconds."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from kernlab.approximations import Nystrom
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider, toggle
from kernlab.lab.explorers.plane import BLUE, RED, fixed_figure
from kernlab.lab.explorers.samples import SETS, sample_choice, samples
from kernlab.lab.plots.style import QUIET, house_style
from kernlab.runtime import single_blas_thread
from kernlab.solvers import SolverResult, solve_newton

METHODS = {"factored Hessian": "direct", "conjugate gradients": "cg"}
ROWS = 2000  # at most, so that a solution takes less time than its picture
MOST_LANDMARKS = 200
MOST_STEPS = 100
SHOWN_STEPS = 30
PLACES = [(0.055 + 0.335 * i, 0.16, 0.27, 0.74) for i in range(3)]


@dataclass(frozen=True)
class NewtonRun:
    """One solution with all of its steps."""

    result: SolverResult
    n_rows: int
    method: str

    @property
    def at_smaller_C(self):
        """Whether each step is at a smaller C, on the way to the C asked for."""
        costs = [step["C"] for step in self.result.trace]
        return np.array([costs[-1] != C for C in costs])


def nystrom_features(rows):
    """Nystrom features of training rows, the first k those of k landmarks."""
    nystrom = Nystrom(
        gamma="variance", n_landmarks=min(MOST_LANDMARKS, len(rows.y)), random_state=0
    )
    with single_blas_thread():
        features = nystrom.fit_transform(rows.X)
    solve_newton(features[:500, :5], rows.y[:500], C=1.0)  # compiled before any clock
    return features


def follow_newton(features, y, k, C, method="direct", eta=(0.1, 1.0), warm_up=False):
    """Solve the squared-hinge machine on k landmarks from zero, keeping every step."""
    features = np.ascontiguousarray(features[:, :k])
    with single_blas_thread():
        result = solve_newton(
            features, y, C=C, intercept="penalised", tol=1e-10, max_iter=MOST_STEPS,
            method=method, eta=eta, warm_up=warm_up,
        )  # fmt: skip
    return NewtonRun(result=result, n_rows=len(y), method=method)


@cache
@house_style()
def _scene(n_rows):
    figure, (gradient, rows, times) = fixed_figure(PLACES, (10.5, 3.2))
    gradient.set(yscale="log", title="Gradient, and order", ylim=(1e-18, 30))
    rows.axhline(n_rows, color=QUIET, ls="dashed", lw=1.0, label="all rows")
    rows.plot([], [], marker="o", ms=4, color=BLUE, label="active rows")
    rows.bar([0], [0], color=RED, alpha=0.6, label="changed in the factor")
    rows.set(title="Rows in the Hessian", ylim=(0, 1.45 * n_rows))
    rows.legend(loc="upper right", fontsize=7.5)
    times.set(title="Milliseconds, and products", yscale="log", ylim=(0.01, 1000))
    times.yaxis.set_major_formatter("{x:g}")
    for ax in (gradient, rows, times):
        ax.set(xlabel="Newton step", xlim=(-1, SHOWN_STEPS))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    for ax in (gradient, times):
        ax.yaxis.set_minor_formatter(NullFormatter())
    return Scene(figure)


def draw_newton(run):
    """The gradient at each step, the rows that take part, and the time that each step took.

    Hollow marks are steps at a smaller C; numbers are observed orders of convergence, and products
    with the Hessian.
    """
    table = run.result.trace_table()
    steps, residuals = table["iteration"], table["residual"].clip(lower=1e-17)
    milliseconds = 1e3 * table["seconds"].diff().fillna(table["seconds"])

    def moving(gradient, rows, times):
        gradient.plot(steps, residuals, color=BLUE, lw=1.2)
        for hollow, face in ((True, "white"), (False, BLUE)):
            at = run.at_smaller_C == hollow
            gradient.plot(steps[at], residuals[at], "o", ms=5, mfc=face, mec=BLUE)
        for row in table[table["order"].notna()].tail(3).itertuples():
            gradient.annotate(
                f"{row.order:.1f}", (row.iteration, max(row.residual, 1e-17)), xytext=(6, 0),
                textcoords="offset points", va="center", fontsize=8, color=RED,
            )  # fmt: skip
        rows.plot(steps, table["active"], marker="o", ms=4, color=BLUE)
        if run.method == "direct":
            rows.bar(steps, table["work"], color=RED, alpha=0.6)
        times.bar(steps, milliseconds, color=BLUE)
        for at, height, products in zip(steps, milliseconds, table["products"], strict=True):
            if products and at < SHOWN_STEPS:
                times.annotate(
                    f"{products}", (at, height), xytext=(0, 2), textcoords="offset points",
                    ha="center", va="bottom", fontsize=7.5, color=QUIET, rotation=90,
                )  # fmt: skip

    return _scene(run.n_rows).png(moving)


def describe(run):
    """What the picture does not show, in one line of HTML."""
    result = run.result
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


def newton(*data):
    """The explorer: data set, k, C, how directions are found, how exactly, and from where.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, sets=SETS)
    features = lru_cache(maxsize=8)(lambda name: nystrom_features(sets[name].rows(ROWS)))

    def draw(dataset, k, C, method, eta_0, eta_1, warm_up):
        F, y = features(dataset), sets[dataset].rows(ROWS).y
        run = follow_newton(F, y, round(k), C, METHODS[method], (eta_0, eta_1), warm_up)
        return draw_newton(run), describe(run)

    def code(dataset, k, C, method, eta_0, eta_1, warm_up):
        eta = (float(f"{eta_0:.3g}"), float(f"{eta_1:.3g}"))
        own = {"method": METHODS[method], "eta": eta, "warm_up": warm_up}
        return (
            f"from kernlab import KernelMachine\n{sets[dataset].code(ROWS)}\n"
            f'machine = KernelMachine("nystrom", "newton", gamma="variance", C={C:.4g},\n'
            '    intercept="penalised", tol=1e-10, random_state=0,\n'
            f'    approximation_params={{"n_landmarks": {round(k)}}},\n'
            f"    solver_params={own}).fit(X, y)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "magic"),
        "k": log_slider("k", 100, 0.3, float(np.log10(MOST_LANDMARKS))),
        "C": log_slider("C", 10.0, -4, 4),
        "method": choice("directions", list(METHODS), "factored Hessian"),
        "eta_0": log_slider("eta_0", 0.1, -6, -0.1),
        "eta_1": log_slider("eta_1", 1.0, -6, 2),
        "warm_up": toggle("begin on a sample"),
    }
    return Explorer(draw, controls, "where Newton's method spends its time", code=code)
