"""Linear solvers on Nystrom features: Newton's steps, runs over the data, a race of three."""

import time
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
from ipywidgets import Checkbox

from kernlab.approximations import Nystrom
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import panel
from kernlab.lab.explorers.samples import SETS
from kernlab.lab.plots.style import BLUE, QUIET, RED, method_colour
from kernlab.solvers import SOLVERS, solve_newton, solve_sbm


@lru_cache(maxsize=16)
def nystrom_parts(rows, landmarks=200):
    """Features of training and of test rows, bandwidth and landmarks as LASN's and LLSVM's."""
    k = min(landmarks, len(rows.y))
    nystrom = Nystrom(gamma="variance", n_landmarks=k, random_state=0).fit(rows.X)
    features = nystrom.transform(rows.X)
    solve_newton(features[:500, :5], rows.y[:500], C=1.0)  # compiled before any clock
    return features, nystrom.transform(rows.X_test)


class Newton(ui.Declared):
    """where Newton's method spends its time"""

    shown = 30  # steps
    given = ui.Given(sets=SETS, first="magic", rows=2000)  # solved in less time than drawn
    controls = ui.Controls(
        k=ui.count_slider("k", 100, 0.3, 2.3),
        C=ui.log_slider("C", 10.0, -4, 4),
        method=ui.choice(
            "directions", {"factored Hessian": "direct", "conjugate gradients": "cg"}, "direct"
        ),
        eta_0=ui.log_slider("eta_0", 0.1, -6, -0.1),
        eta_1=ui.log_slider("eta_1", 1.0, -6, 2),
        warm_up=lambda: Checkbox(description="begin on a sample", indent=False),
    )
    places = (0.055, 0.16, 0.27, 0.74), (0.39, 0.16, 0.27, 0.74), (0.725, 0.16, 0.27, 0.74)
    size = (10.5, 3.2)
    code = """from kernlab import KernelMachine
{data}
machine = KernelMachine("nystrom", "newton", gamma="variance", C={C:.4g}, intercept="penalised",
    tol=1e-10, random_state=0, approximation_params={{"n_landmarks": {k}}}, solver_params={{
    "method": {method!r}, "eta": ({eta_0:.3g}, {eta_1:.3g}), "warm_up": {warm_up}}}).fit(X, y)"""

    def compute(self, rows, k, C, method="direct", eta_0=0.1, eta_1=1.0, warm_up=False):
        F = np.ascontiguousarray(nystrom_parts(rows)[0][:, :k])
        return solve_newton(
            F, rows.y, C=C, intercept="penalised", tol=1e-10, max_iter=100,
            method=method, eta=(eta_0, eta_1), warm_up=warm_up,
        )  # fmt: skip

    def still(self, gradient, active, times):
        panel(gradient, "Gradient, and order", log="y", ylim=(1e-18, 30))
        active.plot([], [], color=QUIET, ls="dashed", lw=1.0, label="all rows")
        active.plot([], [], marker="o", ms=4, color=BLUE, label="active rows")
        active.bar([0], [0], color=RED, alpha=0.6, label="changed in the factor")
        panel(active, "Rows in the Hessian", ylim=(0, 1.45 * self.given.rows), legend="upper right")
        panel(times, "Milliseconds, and products", log="y", ylim=(0.01, 1000),
              yticks=(0.01, 0.1, 1, 10, 100, 1000))  # fmt: skip
        for ax in (gradient, active, times):
            ax.set(xlabel="Newton step", xlim=(-1, self.shown))

    def draw(self, result, gradient, active, times, rows, method):
        """Hollow: at a smaller C. Numbers: orders of convergence, products with the Hessian."""
        table = result.trace_table()
        steps, residuals = table["iteration"], table["residual"].clip(lower=1e-17)
        milliseconds = 1e3 * table["seconds"].diff().fillna(table["seconds"])
        gradient.plot(steps, residuals, color=BLUE, lw=1.2)
        last = table["C"] == table["C"].iloc[-1]
        for at, face in ((~last, "white"), (last, BLUE)):
            gradient.plot(steps[at], residuals[at], "o", ms=5, mfc=face, mec=BLUE)
        beside = {"textcoords": "offset points", "fontsize": 8}
        for at in table[table["order"].notna()].index[-3:]:
            gradient.annotate(f"{table['order'][at]:.1f}", (steps[at], residuals[at]),
                              xytext=(6, 0), va="center", color=RED, **beside)  # fmt: skip
        active.axhline(len(rows.y), color=QUIET, ls="dashed", lw=1.0)
        active.plot(steps, table["active"], marker="o", ms=4, color=BLUE)
        if method == "direct":
            active.bar(steps, table["work"], color=RED, alpha=0.6)
        times.bar(steps, milliseconds, color=BLUE)
        for at, height, products in zip(steps, milliseconds, table["products"], strict=True):
            if products and at < self.shown:
                times.annotate(f"{products}", (at, height), xytext=(0, 2), ha="center",
                               va="bottom", color=QUIET, rotation=90, **beside)  # fmt: skip
        order = result.observed_order
        notes = f" ({result.message})" if result.message else ""
        return (
            f"<b>{result.n_iter} steps</b> in {1e3 * result.seconds:.1f} ms, "
            f"{sum(step['products'] for step in result.trace)} products with the Hessian; last "
            f"order of convergence <b>{'not observed' if order is None else f'{order:.1f}'}</b> "
            f"(1 linear, 2 quadratic, more where the last active row is found); gradient "
            f"{result.kkt_residual:.0e} of that at zero, relative gap "
            f"{max(result.relative_gap, 0.0):.0e}{notes}"
        )


@lru_cache(maxsize=64)
def block_runs(rows, landmarks, C, runs, block_rows):
    """What block minimization finds in so many runs, and its accuracy on test rows."""
    F, F_test = nystrom_parts(rows, landmarks)
    result = solve_sbm(F, rows.y, C=C, loss="hinge", intercept="penalised", runs=runs,
                       block_rows=block_rows, random_state=0)  # fmt: skip
    decisions = F_test @ result.coefficients + result.intercept
    return result, np.mean((decisions > 0) == (rows.y_test > 0))


class BlockPasses(ui.Declared):
    """LLSVM's duality gap and accuracy after some runs over the data, by C and block"""

    most = 10  # runs
    landmarks = 100
    unfinished = True
    given = ui.Given(sets=SETS, first="magic", rows=1000)
    controls = ui.Controls(
        C=ui.log_slider("C", 10.0, -3, 3),
        runs=ui.stops("runs", (1, 2, 3, 5, most), 1),
        block_rows=ui.choice("rows of a block", (100, 300, 1000), 300),
    )
    places = (0.075, 0.15, 0.4, 0.75), (0.62, 0.15, 0.36, 0.75)
    size = (8.8, 3.6)
    code = f"""from kernlab import LLSVM
{{data}}
machine = LLSVM({landmarks}, C={{C:.4g}}, runs={{runs}}, block_rows={{block_rows}},
    random_state=0).fit(X, y)"""

    def compute(self, rows, C, runs, block_rows):
        """Block minimization with the hinge loss: after the runs chosen, and after many."""
        found = [block_runs(rows, self.landmarks, C, n, block_rows) for n in (runs, self.most)]
        results, accuracies = zip(*found, strict=True)
        return SimpleNamespace(runs=runs, results=results, accuracies=accuracies)

    def still(self, gaps, bars):
        gaps.axhline(1e-3, color=QUIET, lw=0.9, ls="dashed")
        gaps.annotate("LLSVM's tolerance", (self.most, 1e-3), xytext=(0, 3), ha="right",
                      textcoords="offset points", fontsize=8, color=QUIET)  # fmt: skip
        panel(gaps, "Relative duality gap", log="y", xlabel="runs over the data", ylim=(5e-8, 20),
              xlim=(-0.5, self.most + 0.5))  # fmt: skip
        bars.set_yticks([0, 1], ["so far", f"after {self.most}"])
        bars.set(xlim=(0, 1), ylim=(1.6, -0.6), title="Accuracy on test rows")
        bars.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")

    def draw(self, found, gaps, bars):
        trace = found.results[1].trace
        gap = np.clip([row["residual"] for row in trace], 1e-7, 10.0)
        gaps.plot([row["iteration"] for row in trace], gap, color=BLUE, marker=".")
        gaps.plot([found.runs], [gap[found.runs]], marker="o", ms=9, color=RED)
        for row, (share, colour) in enumerate(zip(found.accuracies, (RED, BLUE), strict=True)):
            bars.barh(row, share, color=colour, height=0.5)
            bars.text(0.02, row, f"{share:.1%}", color="white", va="center", fontweight="bold")
        runs, (result, most), (now, then) = found.runs, found.results, found.accuracies
        above = result.objective / min(result.objective, most.objective) - 1.0
        return (
            f"after {runs} run{'s' if runs > 1 else ''}: relative duality gap "
            f"<b>{result.relative_gap:.1e}</b>, objective {above:.1%} above the least found, "
            f"accuracy <b>{now:.1%}</b>; after {self.most} runs {then:.1%}"
        )


RACERS = {  # label, colour, tolerances, further settings
    "newton": ("LA-SN", method_colour("LASN"), (1.0, 1e-2, 1e-6), {}),
    "liblinear-tron": ("LA-TRON", method_colour("LA-TRON"), (1.0, 1e-2, 1e-6), {}),
    "liblinear-dcd": ("LA-DCD", method_colour("LA-DCD"), (1.0, 0.1, 0.01), {"max_iter": 300}),
}


class SolverRace(ui.Declared):
    """three linear solvers of one objective: exactness against time, by k and C"""

    floor = 1e-14
    unfinished = True
    given = ui.Given(sets=SETS, first="magic", rows=700)
    controls = ui.Controls(k=ui.count_slider("k", 50, 0.3, 2), C=ui.log_slider("C", 10.0, -4, 4))
    places = ((0.1, 0.14, 0.87, 0.78),)
    size = (7.2, 3.9)
    code = f"""from kernlab import KernelMachine
{{data}}
machines = [KernelMachine("nystrom", solver, gamma="variance", C={{C:.4g}}, intercept="penalised",
    random_state=0, approximation_params={{{{"n_landmarks": {{k}}}}}}).fit(X, y)
    for solver in {list(RACERS)}]"""

    def compute(self, rows, k, C):
        """The squared hinge on the same features, each solver at three of its own tolerances."""
        F, y, found = np.ascontiguousarray(nystrom_parts(rows)[0][:, :k]), rows.y, {}
        problem = {"C": C, "loss": "squared_hinge", "intercept": "penalised", "random_state": 0}
        for name, (_, _, tolerances, further) in RACERS.items():
            solve, spent, results = SOLVERS[name].solve, [], []
            solve(F, y, **problem, max_iter=1)  # compiled, cached
            for tol in tolerances:
                began = time.perf_counter()
                results.append(solve(F, y, **problem, tol=tol, **further))
                spent.append(1e3 * (time.perf_counter() - began))
            decisions = F @ results[-1].coefficients + results[-1].intercept
            accuracy = float(np.mean((decisions > 0) == (y > 0)))  # on training rows
            objectives = np.array([result.objective for result in results])
            told = {"milliseconds": spent, "objectives": objectives, "accuracy": accuracy}
            found[name] = SimpleNamespace(**told)
        least = min(one.objectives.min() for one in found.values())
        for one in found.values():
            one.excess = np.maximum(one.objectives / least - 1.0, self.floor)
        return found

    def still(self, ax):
        for label, colour, *_ in RACERS.values():
            ax.plot([], [], "o-", color=colour, label=label)
        panel(ax, "Objective above the least one found, relative", log="xy", legend="lower left",
              xlabel="milliseconds", xlim=(0.1, 2000), ylim=(self.floor / 3, 30),
              xticks=(0.1, 1, 10, 100, 1000))  # fmt: skip

    def draw(self, found, ax):
        for name, one in found.items():
            ax.plot(one.milliseconds, one.excess, "o-", color=RACERS[name][1])
        return "; ".join(
            f"{RACERS[name][0]}: {one.milliseconds[-1]:.1f} ms, <b>{one.excess[-1]:.0e}</b> above "
            f"the least, {one.accuracy:.1%} of the training rows"
            for name, one in found.items()
        )


newton, block_passes, solver_race = Newton(), BlockPasses(), SolverRace()
