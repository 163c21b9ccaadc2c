"""All numbers of landmarks and all C at once: solved beforehand, so that its sliders are instant.

With nested landmarks a whole grid of k and C costs one map and one pass of Newton's method along C
for each k (`sweep`); a slider then only looks up what is there.
"""

import time
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter, PercentFormatter

from kernlab.approximations import Nystrom
from kernlab.estimators import LASN, sweep
from kernlab.lab.explorers.base import Explorer, Scene, stops
from kernlab.lab.explorers.plane import BLUE, RED
from kernlab.lab.explorers.samples import SETS, sample_choice, samples
from kernlab.lab.plots.marks import heatmap
from kernlab.lab.plots.style import QUIET, house_style, new_figure
from kernlab.runtime import single_blas_thread

LANDMARKS = (5, 10, 20, 50, 100, 200, 500)
COSTS = tuple(10.0**exponent for exponent in range(-4, 5))
ROWS = 4000  # so that another set is solved in an instant


@dataclass(frozen=True, eq=False)
class LandmarkPath:
    """A grid of machines on nested landmarks."""

    table: pd.DataFrame  # of the sweep, a row for each k and C
    errors: pd.DataFrame  # of the kernel matrix by k: sampled, and the bound from its trace
    seconds: float  # all that the sweep took

    def at(self, k, C):
        """The row of one machine."""
        return self.table.set_index(["n_landmarks", "C"]).loc[(k, C)]

    def by(self, column):
        """A column of the sweep with a row for each k and a column for each C."""
        return self.table.pivot(index="n_landmarks", columns="C", values=column)

    @property
    def map_seconds(self):
        """Landmarks and map, which all machines share."""
        return self.table["approximate_seconds"].sum()


def solve_path(rows, landmarks=LANDMARKS, costs=COSTS, seed=0):
    """LASN for all k and C of a grid, trained on a set's training rows, judged on its test rows."""
    X, y, X_test, y_test = rows
    landmarks = [k for k in landmarks if k <= len(y)]
    machine, grid = LASN(random_state=seed), {"n_landmarks": landmarks, "C": costs}
    with single_blas_thread():  # the machines are small: a second thread would be waited for
        few = {"n_landmarks": [min(landmarks)], "C": costs[:2]}
        sweep(machine, X[:300], y[:300], few, nested=True, progress=False)  # compiled beforehand
        began = time.perf_counter()
        table = sweep(machine, X, y, grid, validation=(X_test, y_test), nested=True, progress=False)
        seconds = time.perf_counter() - began
    # The sweep's own landmarks: the same rule, number and seed.
    nystrom = Nystrom(gamma="variance", n_landmarks=max(landmarks), random_state=seed).fit(X)
    nested = [(k, nystrom.leading(min(k, nystrom.rank_))) for k in landmarks]
    found = [(k, part.error(X, n_sampled=500), part.trace_error(X)) for k, part in nested]
    errors = pd.DataFrame(found, columns=["k", "sampled", "trace"]).set_index("k")
    return LandmarkPath(table=table, errors=errors.clip(lower=1e-16), seconds=seconds)


@house_style()
def path_scene(path):
    """A map of accuracies; accuracy, kernel error and time by k, in grey for every C."""
    figure, ((grid, accuracy), (error, seconds)) = new_figure(2, 2, panel=(4.3, 2.6))
    table = path.table.rename(columns={"n_landmarks": "landmarks k"})
    heatmap(grid, table, "landmarks k", "C", "validation_accuracy", label="")
    grid.set_title("Accuracy on test rows")
    tests, trains = path.by("validation_accuracy"), path.by("train_accuracy")
    accuracy.plot(tests.index, tests, color="#D5D5D5", lw=0.8)
    accuracy.plot([], [], color=BLUE, label="test rows")
    accuracy.plot([], [], color=QUIET, ls="dashed", label="training rows")
    lowest = min(tests.min().min(), trains.min().min())
    accuracy.set_ylim(lowest - 0.01, max(tests.max().max(), trains.max().max()) + 0.01)
    accuracy.set(xscale="log", title="Accuracy at this C")
    accuracy.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    accuracy.legend(loc="lower right", fontsize=7.5)
    error.plot(path.errors["trace"], color=QUIET, ls="dashed", label="trace left over")
    error.plot(path.errors["sampled"], color=BLUE, label="Frobenius, sampled")
    error.set(xscale="log", yscale="log", title="Relative error of the kernel matrix")
    error.yaxis.set_minor_formatter(NullFormatter())
    error.legend(loc="lower left", fontsize=7.5)
    times, shared = 1e3 * path.by("solve_seconds"), 1e3 * path.map_seconds
    seconds.plot(times.index, times, color="#D5D5D5", lw=0.8)
    seconds.axhline(shared, color=QUIET, ls="dashed", label="the one map for all k")
    seconds.plot([], [], color=BLUE, label="Newton, from the C before")
    seconds.set(xscale="log", yscale="log", title="Milliseconds at this C")
    seconds.set_ylim(0.5 * times.min().min(), 20 * shared)
    seconds.legend(loc="upper left", fontsize=7.5)
    for ax in (accuracy, error, seconds):
        ax.set_xlabel("landmarks k")
    return Scene(figure)


def draw_path(path, scene, k, C):
    """The picture with the machine of k landmarks and this C chosen, as PNG."""
    tests, trains, times = (
        path.by(name) for name in ("validation_accuracy", "train_accuracy", "solve_seconds")
    )
    dot = {"marker": "o", "ms": 7, "color": RED, "ls": "none", "zorder": 3}

    def moving(grid, accuracy, error, seconds, *_):
        corner = (tests.index.get_loc(k), tests.columns.get_loc(C))
        grid.add_patch(Rectangle(corner, 1, 1, fill=False, clip_on=False, ec=RED, lw=2.2))
        accuracy.plot(trains[C], color=QUIET, ls="dashed")
        accuracy.plot(tests[C], color=BLUE)
        accuracy.plot([k], [tests.loc[k, C]], **dot)
        error.plot([k], [path.errors.loc[k, "sampled"]], **dot)
        seconds.plot(1e3 * times[C], color=BLUE)
        seconds.plot([k], [1e3 * times.loc[k, C]], **dot)

    return scene.png(moving)


def describe(path, k, C):
    """The chosen machine, and what the whole grid cost, in one line of HTML."""
    row = path.at(k, C)
    return (
        f"k = {k}, C = {C:g}: accuracy <b>{row.validation_accuracy:.1%}</b> on test rows, "
        f"{row.train_accuracy:.1%} on training rows; the kernel matrix is reproduced to "
        f"<b>{path.errors.loc[k, 'sampled']:.2%}</b>; {row.n_iter} Newton steps in "
        f"{1e3 * row.solve_seconds:.1f} ms from the C before, relative gap {max(row.gap, 0):.0e}. "
        f"All {len(path.table)} machines together took {path.seconds:.2f} s, "
        f"{path.map_seconds:.2f} s of it landmarks and map"
    )


def landmark_path(*data):
    """The explorer: data set, number of landmarks and C.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, sets=SETS)

    @lru_cache(maxsize=8)
    def solved(dataset):
        path = solve_path(sets[dataset].rows(ROWS))
        return path, path_scene(path)

    def draw(dataset, k, C):
        path, scene = solved(dataset)
        k = min(k, path.errors.index[-1])
        return draw_path(path, scene, k, C), describe(path, k, C)

    def code(dataset, k, C):
        most = solved(dataset)[0].errors.index[-1]
        return (
            f"from kernlab import LASN\nfrom kernlab.approximations import Nystrom\n"
            f"{sets[dataset].code(ROWS)}\n"
            f'nystrom = Nystrom(gamma="variance", n_landmarks={most}, random_state=0)\n'
            f"nested = nystrom.fit(X).leading({min(k, most)}).landmarks_\n"
            f"machine = LASN({min(k, most)}, landmarks=nested, C={C:g}).fit(X, y)"
        )

    for name in SETS:  # ahead, so that every control only looks up
        solved(name)
    controls = {
        "dataset": sample_choice(data, sets, "magic"),
        "k": stops("landmarks k", LANDMARKS, 100),
        "C": stops("C", COSTS, 10.0),
    }
    text = "accuracy, error and time over a path of k and C"
    frames = {"k": LANDMARKS, "C": COSTS}
    return Explorer(draw, controls, text, code=code, frames=frames)
