"""What more rows cost FPC: seconds measured on a few thousand, and the arithmetic of memory."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernlab.approximations.polynomial import space_dimension
from kernlab.estimators import FPC
from kernlab.lab.explorers.base import Explorer, Scene, log_slider, stops
from kernlab.lab.explorers.plane import BLUE, RED, fixed_figure
from kernlab.lab.plots.style import QUIET, house_style, method_colour
from kernlab.runtime import single_blas_thread

MEASURED = (500, 1000, 2000)
DEGREES, FEATURES = (1, 2, 3, 4), (2, 4, 8, 12)
MOST_CENTRES = 500
PLACES = [(0.07, 0.15, 0.42, 0.75), (0.57, 0.15, 0.42, 0.75)]
COLOURS = (method_colour("FPC"), BLUE, QUIET)
ROW_AXIS = np.geomspace(1e3, 1e9, 50)


@dataclass(frozen=True)
class Cost:
    """Seconds at the sizes measured, and what they say of others."""

    centres: int
    seconds: tuple

    def predicted(self, rows):
        """Once for the matrix, and in proportion to the rows."""
        slope = max(np.polyfit(MEASURED, self.seconds, 1)[0], 1e-9)
        return max(self.seconds[0] - slope * MEASURED[0], 0.0) + slope * np.asarray(rows, float)

    def bytes_of(self, rows):
        """What must be held, by what one does: FPC's Gram matrix, its features, a kernel matrix."""
        rows = np.asarray(rows, float)
        return {
            "Gram matrix of FPC": 8.0 * self.centres**2 + 0.0 * rows,
            "features": 8.0 * rows * self.centres,
            "kernel matrix": 8.0 * rows**2,
        }


@cache
def measure_cost(degree, features, seed=0):
    """A fit on random rows of a cube, the faster of two."""
    rng, seconds = np.random.default_rng(seed), []
    X = rng.random((MEASURED[-1], features))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(len(X)) > 0.5, 1, -1)
    centres = space_dimension(features, degree)
    if centres > MOST_CENTRES:
        raise ValueError(
            f"degree {degree} in {features} dimensions has {centres:,} centres: too many to be "
            "measured in an instant; choose a lower degree or fewer features"
        )
    with single_blas_thread():
        for rows in MEASURED:
            spent = []
            for _ in range(2):
                began = time.perf_counter()
                FPC(degree, random_state=seed).fit(X[:rows], y[:rows])
                spent.append(time.perf_counter() - began)
            seconds.append(min(spent))
    return Cost(centres, tuple(seconds))


@cache
@house_style()
def _scene():
    figure, (seconds, memory) = fixed_figure(PLACES, (9.6, 3.7))
    seconds.plot([], [], "o", ms=5, color=COLOURS[0], label="measured here")
    seconds.plot([], [], "o", ms=9, color=RED, label="predicted")
    seconds.set(ylim=(1e-4, 1e6), title="Seconds, one thread")
    for colour, name in zip(COLOURS, Cost(1, (0.0,)).bytes_of(1), strict=True):
        memory.plot([], [], color=colour, label=name)
    memory.axhline(16e9, color=QUIET, lw=0.9, ls="dashed")
    memory.annotate("16 GB", (1.3e3, 16e9), xytext=(0, 3), textcoords="offset points",
                    fontsize=8, color=QUIET)  # fmt: skip
    memory.set(ylim=(10, 1e20), title="Bytes")
    for ax in (seconds, memory):
        ax.set(xscale="log", yscale="log", xlim=(ROW_AXIS[0], ROW_AXIS[-1]), xlabel="rows")
        ax.legend(loc="upper left", fontsize=8)
        ax.minorticks_off()
    return Scene(figure)


def draw_cost(cost, rows):
    """Seconds and bytes by the number of rows."""

    def moving(seconds, memory):
        seconds.plot(ROW_AXIS, cost.predicted(ROW_AXIS), color=COLOURS[0])
        seconds.plot(MEASURED, cost.seconds, "o", ms=5, color=COLOURS[0])
        seconds.plot([rows], [cost.predicted(rows)], "o", ms=9, color=RED)
        for colour, needed in zip(COLOURS, cost.bytes_of(ROW_AXIS).values(), strict=True):
            memory.plot(ROW_AXIS, needed, color=colour)
        for ax in (seconds, memory):
            ax.axvline(rows, color=RED, lw=0.8)

    return _scene().png(moving)


def describe(cost, rows):
    """Time and memory at the rows chosen, in one line of HTML."""
    needed = cost.bytes_of(rows)
    said = ", ".join(f"{name} {size / 1e9:,.3g} GB" for name, size in needed.items())
    return (
        f"{rows:,.0f} rows, {cost.centres} centres: about <b>{cost.predicted(rows):,.3g} s</b> "
        f"on one thread, if time stays in proportion to the rows; {said}"
    )


def fpc_scale():
    """The explorer: rows, features and degree."""

    def draw(rows, features, degree):
        cost = measure_cost(degree, features)
        return draw_cost(cost, rows), describe(cost, rows)

    def code(rows, features, degree):
        return (
            f"from kernlab import FPC\n\nmachine = FPC({degree})  # .fit(X, y): {features} features"
        )

    controls = {
        "rows": log_slider("rows", 1e6, 3, 9),
        "features": stops("features", FEATURES, 8),
        "degree": stops("degree s", DEGREES, 3),
    }
    text = "what FPC costs in time and memory, by rows, features and degree"
    return Explorer(draw, controls, text, code=code)
