"""One run over the data or more: how far from its optimum LLSVM's block minimization stops."""

import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from matplotlib.ticker import NullFormatter
from sklearn.exceptions import ConvergenceWarning

from kernlab.approximations import Nystrom
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider, stops
from kernlab.lab.explorers.plane import BLUE, RED, fixed_figure
from kernlab.lab.explorers.samples import SETS, sample_choice, samples
from kernlab.lab.plots.style import QUIET, house_style
from kernlab.runtime import single_blas_thread
from kernlab.solvers import SolverResult, solve_sbm

ROWS, LANDMARKS = 2000, 100
RUNS = (1, 2, 3, 5, 10, 20)
BLOCKS = (100, 500, 2000)
PLACES = [(0.075, 0.15, 0.4, 0.75), (0.62, 0.15, 0.36, 0.75)]


@dataclass(frozen=True)
class Runs:
    """What some runs over the data leave, beside many."""

    results: dict  # SolverResult by the number of runs: those chosen, and the most
    accuracies: dict  # on test rows, by the same


def nystrom_parts(rows, seed=0):
    """Nystrom features of training and of test rows, bandwidth and landmarks as LLSVM's."""
    k = min(LANDMARKS, len(rows.y))
    with single_blas_thread():
        nystrom = Nystrom(gamma="variance", n_landmarks=k, random_state=seed).fit(rows.X)
        return nystrom.transform(rows.X), nystrom.transform(rows.X_test)


def follow_runs(features, rows, C, runs, block_rows) -> Runs:
    """Block minimization with the hinge loss, from zero."""
    F, F_test = features
    results: dict[int, SolverResult] = {}
    with warnings.catch_warnings(), single_blas_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the picture shows it
        for count in {runs, RUNS[-1]}:
            results[count] = solve_sbm(
                F, rows.y, C=C, loss="hinge", intercept="penalised", runs=count,
                block_rows=block_rows, random_state=0,
            )  # fmt: skip
    accuracies = {
        count: float(np.mean((F_test @ r.coefficients + r.intercept > 0) == (rows.y_test > 0)))
        for count, r in results.items()
    }
    return Runs(results, accuracies)


@cache
@house_style()
def _scene():
    figure, (gaps, bars) = fixed_figure(PLACES, (8.8, 3.6))
    gaps.axhline(1e-3, color=QUIET, lw=0.9, ls="dashed")
    gaps.annotate("LLSVM's tolerance", (20, 1e-3), xytext=(0, 3), textcoords="offset points",
                  ha="right", fontsize=8, color=QUIET)  # fmt: skip
    gaps.set(yscale="log", ylim=(5e-8, 20), xlim=(-0.5, RUNS[-1] + 0.5))
    gaps.set(xlabel="runs over the data", title="Relative duality gap")
    gaps.yaxis.set_minor_formatter(NullFormatter())
    bars.set_yticks([0, 1], ["so far", f"after {RUNS[-1]}"])
    bars.set(xlim=(0, 1), ylim=(1.6, -0.6), title="Accuracy on test rows")
    bars.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    bars.grid(axis="y", visible=False)
    return Scene(figure)


def draw_runs(found, runs):
    """The duality gap after every run; the accuracy after those chosen and after many."""
    trace = found.results[RUNS[-1]].trace
    gap = np.clip([row["residual"] for row in trace], 1e-7, 10.0)

    def moving(gaps, bars):
        gaps.plot([row["iteration"] for row in trace], gap, color=BLUE, marker=".")
        gaps.plot([runs], [gap[runs]], marker="o", ms=9, color=RED)
        for row, (count, colour) in enumerate(((runs, RED), (RUNS[-1], BLUE))):
            share = found.accuracies[count]
            bars.barh(row, share, color=colour, height=0.5)
            bars.text(0.02, row, f"{share:.1%}", color="white", va="center", fontweight="bold")

    return _scene().png(moving)


def describe(found, runs):
    """What the runs chosen leave, in one line of HTML."""
    result, most = found.results[runs], found.results[RUNS[-1]]
    above = result.objective / min(result.objective, most.objective) - 1.0
    return (
        f"after {runs} run{'s' if runs > 1 else ''}: relative duality gap "
        f"<b>{result.relative_gap:.1e}</b>, objective {above:.1%} above the least found, accuracy "
        f"<b>{found.accuracies[runs]:.1%}</b>; after {RUNS[-1]} runs "
        f"{found.accuracies[RUNS[-1]]:.1%}"
    )


def block_passes(*data):
    """The explorer: data set, C, runs over the data, and rows of a block.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, sets=SETS)
    features = lru_cache(maxsize=8)(lambda name: nystrom_parts(sets[name].rows(ROWS)))

    def draw(dataset, C, runs, block_rows):
        found = follow_runs(features(dataset), sets[dataset].rows(ROWS), C, runs, block_rows)
        return draw_runs(found, runs), describe(found, runs)

    def code(dataset, C, runs, block_rows):
        return (
            f"from kernlab import LLSVM\n{sets[dataset].code(ROWS)}\n"
            f"machine = LLSVM({LANDMARKS}, C={C:.4g}, runs={runs}, block_rows={block_rows}, "
            "random_state=0).fit(X, y)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "magic"),
        "C": log_slider("C", 10.0, -3, 3),
        "runs": stops("runs", RUNS, 1),
        "block_rows": choice("rows of a block", list(BLOCKS), 500),
    }
    text = "LLSVM's duality gap and accuracy after some runs over the data, by C and block"
    return Explorer(draw, controls, text, code=code)
