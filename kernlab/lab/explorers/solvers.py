"""One objective, three linear solvers: which is the faster one at which C, and how exact."""

import time
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from matplotlib.ticker import NullFormatter
from sklearn.exceptions import ConvergenceWarning

from kernlab.lab.explorers.base import Explorer, Scene, log_slider
from kernlab.lab.explorers.newton import nystrom_features
from kernlab.lab.explorers.plane import fixed_figure
from kernlab.lab.explorers.samples import SETS, sample_choice, samples
from kernlab.lab.plots.style import house_style, method_colour
from kernlab.runtime import single_blas_thread
from kernlab.solvers import SOLVERS

ROWS = 1000
COMPARED = {
    "newton": ("LA-SN", method_colour("LASN")),
    "liblinear-tron": ("LA-TRON", method_colour("LA-TRON")),
    "liblinear-dcd": ("LA-DCD", method_colour("LA-DCD")),
}
TOLERANCES = {"newton": (1.0, 1e-2, 1e-6), "liblinear-tron": (1.0, 1e-2, 1e-6),
              "liblinear-dcd": (1.0, 0.1, 0.01)}  # fmt: skip
MOST_STEPS = 300  # of the slow one
FLOOR = 1e-14


@dataclass(frozen=True)
class Race:
    """Milliseconds and objectives of every solver at its tolerances."""

    milliseconds: dict
    objectives: dict
    accuracies: dict  # on training rows, at the tightest tolerance

    def excess(self, name):
        """How far above the least objective found, relative."""
        least = min(min(values) for values in self.objectives.values())
        return np.maximum(np.array(self.objectives[name]) / least - 1.0, FLOOR)


def run_race(F, y, C):
    """The squared hinge on the same features, each solver at three of its own tolerances."""
    spent, objectives, accuracies = {}, {}, {}
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the picture shows it
        for name, tolerances in TOLERANCES.items():
            SOLVERS[name].solve(F, y, C=C, loss="squared_hinge", max_iter=1)  # compiled, cached
            spent[name], objectives[name] = [], []
            limit = {"max_iter": MOST_STEPS} if name == "liblinear-dcd" else {}
            for tol in tolerances:
                began = time.perf_counter()
                result = SOLVERS[name].solve(
                    F, y, C=C, loss="squared_hinge", intercept="penalised", tol=tol,
                    random_state=0, **limit,
                )  # fmt: skip
                spent[name].append(1e3 * (time.perf_counter() - began))
                objectives[name].append(result.objective)
            decisions = F @ result.coefficients + result.intercept
            accuracies[name] = float(np.mean((decisions > 0) == (y > 0)))
    return Race(spent, objectives, accuracies)


@cache
@house_style()
def _scene():
    figure, (ax,) = fixed_figure([(0.1, 0.14, 0.87, 0.78)], (7.2, 3.9))
    for label, colour in COMPARED.values():
        ax.plot([], [], "o-", color=colour, label=label)
    ax.set(xscale="log", yscale="log", xlim=(0.1, 2000), ylim=(FLOOR / 3, 30))
    ax.set(xlabel="milliseconds", title="Objective above the least one found, relative")
    ax.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.legend(loc="lower left")
    return Scene(figure)


def draw_race(race):
    """The excess of the objective against the time, a line for each solver."""

    def moving(ax):
        for name, (_, colour) in COMPARED.items():
            ax.plot(race.milliseconds[name], race.excess(name), "o-", color=colour)

    return _scene().png(moving)


def describe(race):
    """The last point of each line in one line of HTML."""
    said = [
        f"{label}: {race.milliseconds[name][-1]:.1f} ms, <b>{race.excess(name)[-1]:.0e}</b> above "
        f"the least, {race.accuracies[name]:.1%} of the training rows"
        for name, (label, _) in COMPARED.items()
    ]
    return "; ".join(said)


def solver_race(*data):
    """The explorer: data set, number of landmarks and C.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, sets=SETS)
    features = lru_cache(maxsize=8)(lambda name: nystrom_features(sets[name].rows(ROWS)))

    def draw(dataset, k, C):
        F = np.ascontiguousarray(features(dataset)[:, : round(k)])
        race = run_race(F, sets[dataset].rows(ROWS).y, C)
        return draw_race(race), describe(race)

    def code(dataset, k, C):
        return (
            f"from kernlab import KernelMachine\n{sets[dataset].code(ROWS)}\n"
            f"machines = [KernelMachine('nystrom', solver, gamma='variance', C={C:.4g},\n"
            "    intercept='penalised', random_state=0,\n"
            f"    approximation_params={{'n_landmarks': {round(k)}}}).fit(X, y)\n"
            f"    for solver in {list(COMPARED)}]"
        )

    controls = {
        "dataset": sample_choice(data, sets, "magic"),
        "k": log_slider("k", 50, 0.3, 2),
        "C": log_slider("C", 10.0, -4, 4),
    }
    text = "three linear solvers of one objective: exactness against time, by k and C"
    return Explorer(draw, controls, text, code=code)
