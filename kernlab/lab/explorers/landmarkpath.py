"""All numbers of landmarks and all C at once: solved beforehand, so that its sliders are instant.

With nested landmarks a whole grid of k and C costs one map and one pass of Newton's method along C
for each k (`sweep`); a slider then only looks up what is there.
"""

import time
from dataclasses import dataclass
from functools import cache

import ipywidgets as widgets
import pandas as pd
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullFormatter, PercentFormatter

from kernlab.approximations import Nystrom
from kernlab.estimators import LASN, sweep
from kernlab.lab.explorers.base import Explorer, choice
from kernlab.lab.explorers.moving import MovingPicture
from kernlab.lab.explorers.rows import SETS, two_class_set
from kernlab.lab.plots.marks import heatmap
from kernlab.lab.plots.style import QUIET, house_style, new_figure
from kernlab.runtime import single_blas_thread

LANDMARKS = (5, 10, 20, 50, 100, 200, 500)
COSTS = tuple(10.0**exponent for exponent in range(-4, 5))
BLUE, RED = "#0062B0", "#CC3311"


@dataclass(frozen=True)
class LandmarkPath:
    """A grid of machines on nested landmarks."""

    table: pd.DataFrame  # of the sweep, a row for each k and C
    errors: pd.DataFrame  # of the kernel matrix by k: sampled, and the bound from its trace
    seconds: float  # all that the sweep took

    def at(self, k, C):
        """The row of one machine."""
        return self.table.set_index(["n_landmarks", "C"]).loc[(k, C)]

    @property
    def map_seconds(self):
        """Landmarks and map, which all machines share."""
        return self.table["approximate_seconds"].sum()


@cache
def solve_path(dataset, landmarks=LANDMARKS, costs=COSTS, seed=0):
    """LASN for all k and C of a grid, trained on a set's training rows, judged on its test rows."""
    X, y, X_test, y_test = two_class_set(dataset)
    machine, grid = LASN(random_state=seed), {"n_landmarks": landmarks, "C": costs}
    with single_blas_thread():  # the machines are small: a second thread would be waited for
        few = {"n_landmarks": [min(landmarks)], "C": costs[:2]}
        sweep(machine, X[:300], y[:300], few, nested=True)  # compiled before the clock
        began = time.perf_counter()
        table = sweep(machine, X, y, grid, validation=(X_test, y_test), nested=True, progress=False)
        seconds = time.perf_counter() - began
    # The sweep's own landmarks: the same rule, number and seed.
    nystrom = Nystrom(gamma="variance", n_landmarks=max(landmarks), random_state=seed).fit(X)
    nested = [(k, nystrom.leading(min(k, nystrom.rank_))) for k in landmarks]
    rows = [(k, part.error(X, n_sampled=500), part.trace_error(X)) for k, part in nested]
    errors = pd.DataFrame(rows, columns=["k", "sampled", "trace"]).set_index("k")
    return LandmarkPath(table=table, errors=errors, seconds=seconds)


class PathPicture:
    """The grid as a map of accuracies, and three curves through the chosen machine."""

    @house_style()
    def __init__(self, path):
        self.path = path
        self._cells = {
            column: path.table.pivot(index="n_landmarks", columns="C", values=column)
            for column in ("validation_accuracy", "train_accuracy", "solve_seconds")
        }
        figure, ((grid, accuracy), (error, seconds)) = new_figure(2, 2, panel=(4.3, 2.6))
        moving = [
            self._draw_grid(grid),
            *self._draw_accuracy(accuracy),
            *self._draw_error(error),
            *self._draw_seconds(seconds),
        ]
        self.moving = MovingPicture(figure, moving)

    def _draw_grid(self, ax):
        table = self.path.table.rename(columns={"n_landmarks": "landmarks k"})
        heatmap(ax, table, "landmarks k", "C", "validation_accuracy", label="")
        ax.set_title("Accuracy on test rows")
        frame = {"fill": False, "clip_on": False, "zorder": 3, "ec": RED, "lw": 2.2}
        self._frame = ax.add_patch(Rectangle((0, 0), 1, 1, **frame))
        return self._frame

    def _draw_accuracy(self, ax):
        """The test rows for every C in grey; the chosen C on top, with its training rows."""
        tests, trains = self._cells["validation_accuracy"], self._cells["train_accuracy"]
        ax.plot(tests.index, tests, color="#D5D5D5", lw=0.8)
        lowest = min(tests.min().min(), trains.min().min())
        ax.set(xscale="log", xlabel="landmarks k", title="Accuracy at this C")
        ax.set_ylim(lowest - 0.01, max(tests.max().max(), trains.max().max()) + 0.01)
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        (self._test,) = ax.plot(tests.index, tests.iloc[:, 0], color=BLUE, label="test rows")
        (self._train,) = ax.plot(
            tests.index, tests.iloc[:, 0], color=QUIET, ls="dashed", label="training rows"
        )
        ax.legend(loc="lower right", fontsize=7.5)
        return self._train, self._test, self._add_dot(ax, "_accuracy_dot")

    def _draw_error(self, ax):
        errors = self.path.errors.clip(lower=1e-16)
        ax.plot(errors.index, errors["trace"], color=QUIET, ls="dashed", label="trace left over")
        ax.plot(errors.index, errors["sampled"], color=BLUE, label="Frobenius, sampled")
        ax.set(xscale="log", yscale="log", xlabel="landmarks k")
        ax.set_title("Relative error of the kernel matrix")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.legend(loc="lower left", fontsize=7.5)
        return (self._add_dot(ax, "_error_dot"),)

    def _draw_seconds(self, ax):
        """Milliseconds to solve for every C in grey, for the chosen one on top."""
        times = 1e3 * self._cells["solve_seconds"]
        ax.plot(times.index, times, color="#D5D5D5", lw=0.8)
        ax.axhline(
            1e3 * self.path.map_seconds, color=QUIET, ls="dashed", label="the one map for all k"
        )
        (self._solve,) = ax.plot(
            times.index, times.iloc[:, 0], color=BLUE, label="Newton, from the C before"
        )
        ax.set(xscale="log", yscale="log", xlabel="landmarks k", title="Milliseconds at this C")
        ax.set_ylim(0.5 * times.min().min(), 20e3 * self.path.map_seconds)
        ax.legend(loc="upper left", fontsize=7.5)
        return self._solve, self._add_dot(ax, "_seconds_dot")

    def _add_dot(self, ax, name):
        (dot,) = ax.plot([], [], marker="o", ms=7, color=RED, ls="none")
        setattr(self, name, dot)
        return dot

    def png(self, k, C):
        """The picture with the machine of k landmarks and this C chosen."""
        tests, trains, times = self._cells.values()
        self._frame.set_xy((tests.index.get_loc(k), tests.columns.get_loc(C)))
        self._test.set_ydata(tests[C])
        self._train.set_ydata(trains[C])
        self._solve.set_ydata(1e3 * times[C])
        self._accuracy_dot.set_data([k], [tests.loc[k, C]])
        self._error_dot.set_data([k], [max(self.path.errors.loc[k, "sampled"], 1e-16)])
        self._seconds_dot.set_data([k], [1e3 * times.loc[k, C]])
        return self.moving.png()


@cache
def path_picture(dataset):
    """The picture of a set's path, drawn once."""
    return PathPicture(solve_path(dataset))


def describe(path, k, C):
    """The chosen machine, and what the whole grid cost, in one line of HTML."""
    row = path.at(k, C)
    return (
        f"k = {k}, C = {C:g}: accuracy <b>{100 * row.validation_accuracy:.1f} %</b> on test rows, "
        f"{100 * row.train_accuracy:.1f} % on training rows; the kernel matrix is reproduced to "
        f"<b>{100 * path.errors.loc[k, 'sampled']:.2g} %</b>; {row.n_iter} Newton steps in "
        f"{1e3 * row.solve_seconds:.1f} ms from the C before, relative gap {max(row.gap, 0):.0e}. "
        f"All {len(path.table)} machines together took {path.seconds:.2f} s, "
        f"{path.map_seconds:.2f} s of it landmarks and map"
    )


def landmark_path():
    """The explorer: data set, number of landmarks and C."""

    def draw(dataset, k, C):
        picture = path_picture(dataset)
        return picture.png(k, C), describe(picture.path, k, C)

    controls = {
        "dataset": choice("data set", list(SETS), "magic"),
        "k": _stops("landmarks k", LANDMARKS, 100),
        "C": _stops("C", COSTS, 10.0),
    }
    return Explorer(draw, controls, "accuracy, error and time over a path of k and C")


def _stops(description, values, value):
    """A slider over listed values that acts while it is dragged."""
    options = [(f"{each:g}", each) for each in values]
    return widgets.SelectionSlider(options=options, value=value, description=description)
