"""FPC on its toy: when to stop, degrees, noise; and what more rows cost."""

import timeit
from functools import lru_cache, partial
from types import SimpleNamespace

import numpy as np
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from kernlab.approximations.polynomial import space_dimension
from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.estimators import FPC
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import Plane, draw_rows, heading, panel
from kernlab.lab.papers.fpc.figures import look
from kernlab.lab.papers.fpc.toy import course_of, errors, fit, toy
from kernlab.lab.plots.marks import log_numbers, log_percent, plain_log_ticks, say_percent
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, text_colour

AXIS = np.linspace(0.0, 1.0, 61)
POINTS = np.column_stack([axis.ravel() for axis in np.meshgrid(AXIS, AXIS)])
NAMES = ("ridge", "hinge optimum", "FPC")  # from the lowest to the top of a picture
DASHED = {"color": QUIET, "lw": 0.9, "ls": (0, (4, 3))}
SQUARE, SIZE = (0.045, 0.09, 0.42, 0.84), (8.8, 4.4)
TWO_PANELS = (SQUARE, (0.545, 0.57, 0.435, 0.32), (0.545, 0.11, 0.435, 0.32))
TOY_CODE = """from kernlab import FPC
from kernlab.datasets import generators

X, y = generators.fpc_toy({rows}, noise=0.1, seed=[0, 0])
X_test, y_test = generators.fpc_toy(1000, noise=0.0, seed=[0, 1])
"""


def _draw_square(ax, X, y, names):
    """The rows, the Bayes curve, and the names of the machines whose boundaries come."""
    draw_rows(ax, X, y, size=5, linewidths=0, alpha=0.5)
    ax.plot(AXIS, fpc_bayes_curve(AXIS), color=DARK, lw=1.2)
    card = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.0}
    for row, name in enumerate(["Bayes", *names]):
        colour = DARK if name == "Bayes" else text_colour(look(name)["color"])
        ax.text(0.02, 0.02 + 0.05 * row, name, color=colour, fontsize=8.5, bbox=card)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    ax.grid(visible=False)


def _boundary(ax, method, scores):
    """Where a machine's scores on the grid change their sign."""
    looks, values = look(method), scores.reshape(len(AXIS), len(AXIS))
    if values.min() < 0.0 < values.max():
        ax.contour(AXIS, AXIS, values, levels=[0.0], colors=[looks["color"]],
                   linewidths=looks.get("lw", 2.0), alpha=looks.get("alpha"))  # fmt: skip


def _shortfall(gap):
    """A clause for captions where the hinge optimum is not quite reached."""
    return f". The hinge optimum's loss is within {gap:.3f} of the minimum" if gap >= 0.002 else ""


MOST_STEPS = 2000
DRAWN = np.unique(np.geomspace(1, MOST_STEPS, 80).round().astype(int))  # steps of the curves


class FPCStopping(ui.Declared):
    """where FPC stops, by tolerance and steps"""

    controls = ui.Controls(
        tol=ui.stops("tolerance", (0.1, 1e-2, 1e-3, 5e-4, 1e-4, 1e-5), 5e-4),
        most_steps=ui.stops("most steps", (1, 2, 3, 5, 20, 50, 200, 500, MOST_STEPS), 5),
        beta=ui.choice("beta", {"1": 1.0, "1/30": 1 / 30}, 1.0),
    )
    places, size = TWO_PANELS, SIZE
    frames = ("tol", "most_steps")
    ahead = True
    code = (
        TOY_CODE.format(rows=1000)
        + "machine = FPC(9, beta={beta:.4g}, tol={tol:g}, max_iter={most_steps}).fit(X, y)"
    )

    def prepare(self, beta):
        """Every step of ADMM on one toy, so that sliders only look up, and the optimum beyond."""
        X, y, X_test, y_test = toy(1000, 0)
        steps = []
        _, fitted = course_of(X, y, beta=beta, tol=0.0, max_iter=MOST_STEPS, callback=steps.append)
        optimum = fit("hinge optimum", X, y)
        train, test, grid = (fitted.transform(rows) for rows in (X, X_test, POINTS))
        coefficients = np.array([row["coefficients"] for row in steps])  # a row per step
        drawn = coefficients[DRAWN - 1].T
        return SimpleNamespace(
            X=X,
            y=y,
            y_test=y_test,
            changes=np.array([row["change"] for row in steps]),  # squared H-norm of each step
            losses=np.array([row["objective"] for row in steps]),
            decisions=lambda step: (test @ coefficients[step - 1], grid @ coefficients[step - 1]),
            optimum=optimum,
            optimum_error=1.0 - optimum.score(X_test, y_test),
            train_errors=np.mean((train @ drawn) * y[:, None] <= 0, axis=0),
            test_errors=np.mean((test @ drawn) * y_test[:, None] <= 0, axis=0),
        )

    def compute(self, steps, tol, most_steps):
        """Where FPC stops, why, and what it decides there on the test rows and on the grid."""
        below = np.flatnonzero(steps.changes < tol)
        by_tolerance = below[0] + 1 if len(below) else MOST_STEPS + 1
        step = int(min(by_tolerance, most_steps))
        test, grid = steps.decisions(step)
        reached = bool(by_tolerance <= most_steps)
        return SimpleNamespace(steps=steps, step=step, by_tolerance=reached, test=test, grid=grid)

    def still(self, steps, plane, errors, lengths):
        _draw_square(plane, steps.X, steps.y, NAMES)
        _boundary(plane, "ridge", steps.decisions(1)[1])
        _boundary(plane, "hinge optimum", steps.optimum.decision_function(POINTS))
        errors.plot(DRAWN, steps.test_errors, **look("FPC"))
        errors.plot(DRAWN, steps.train_errors, **look("FPC", ls="dotted"))
        errors.axhline(max(steps.optimum_error, 1e-3), **look("hinge optimum", lw=1.2))
        panel(errors, "Test error (dotted: training)", log="xy")
        lengths.plot(np.arange(1, MOST_STEPS + 1), steps.changes, **look("FPC"))
        panel(lengths, "Squared H-norm of a step (dashed: limits)", log="xy")
        lengths.set_xlabel("step k", labelpad=0)
        log_percent(errors.yaxis)
        log_numbers(lengths.yaxis, "{:.0e}".format)
        for ax in (errors, lengths):
            plain_log_ticks(ax.xaxis)

    def draw(self, found, plane, errors, lengths, tol, most_steps):
        steps, dot = found.steps, look("FPC", marker="o", ms=8)
        error = np.mean(found.test * steps.y_test <= 0)
        as_ridge = np.mean(found.test * steps.decisions(1)[0] > 0)
        _boundary(plane, "FPC", found.grid)
        named = f"{found.step} step{'s' if found.step > 1 else ''}"
        heading(plane, f"After {named}")
        lengths.axhline(tol, **DASHED)
        for ax in (errors, lengths):
            ax.axvline(found.step, color=QUIET, lw=0.7)
            ax.axvline(most_steps, **DASHED)
        errors.plot([found.step], [error], **dot)
        lengths.plot([found.step], [steps.changes[found.step - 1]], **dot)
        reason = "the tolerance is reached" if found.by_tolerance else "no more steps are allowed"
        return (
            f"{named}: {reason}. Test error <b>{error:.1%}</b>; hinge optimum (purple) "
            f"{steps.optimum_error:.1%}. FPC (yellow) decides as ridge regression (broad grey) on "
            f"<b>{as_ridge:.1%}</b> of the test rows. Mean hinge loss "
            f"<b>{steps.losses[found.step - 1]:.3f}</b>, at its minimum "
            f"{steps.optimum.result_.objective:.3f}"
        )


DEGREES = tuple(range(1, 13))


class FPCDegrees(ui.Declared):
    """degree against overfitting, by degree and rows"""

    controls = ui.Controls(
        degree=ui.stops("degree s", DEGREES, 9), rows=ui.stops("rows", (100, 200, 400, 1000), 400)
    )
    places, size = TWO_PANELS, SIZE
    frames = ("degree",)
    ahead = unfinished = True
    code = (
        TOY_CODE
        + """machine = FPC({degree}).fit(X, y)
optimum = FPC({degree}, basis="chebyshev", to_optimum=True).fit(X, y)"""
    )

    def prepare(self, rows):
        """FPC and the hinge optimum at all degrees: scores on the grid, errors, the last's gaps."""
        X, y, X_test, y_test = toy(rows, 0)
        scores, wrong = {}, {}
        for method, settings in (("FPC", {}), ("hinge optimum", {"tol": 1e-3, "max_iter": 60})):
            machines = {s: fit(method, X, y, s, **settings) for s in DEGREES}
            scores[method] = {s: m.decision_function(POINTS) for s, m in machines.items()}
            wrong[method] = {s: errors(m, X, y, X_test, y_test) for s, m in machines.items()}
        gaps = {s: machine.result_.gap for s, machine in machines.items()}
        return SimpleNamespace(X=X, y=y, scores=scores, errors=wrong, gaps=gaps)

    def still(self, fits, plane, test, train):
        _draw_square(plane, fits.X, fits.y, list(fits.scores))
        titled = (test, "test_error", "Test error"), (train, "train_error", "Training error")
        for ax, column, title in titled:
            for method, by_degree in fits.errors.items():
                values = [by_degree[s][column] for s in DEGREES]
                ax.plot(DEGREES, values, marker="o", ms=3, **look(method))
            panel(ax, title, ylim=(0, None), xticks=range(2, 13, 2))
            ax.yaxis.set_major_locator(MaxNLocator(5))
            ax.yaxis.set_major_formatter(say_percent)
        train.axhline(0.1, **DASHED)  # the labels that are wrong
        train.set_xlabel("degree s", labelpad=0)

    def draw(self, fits, plane, test, train, degree, rows):
        for method in ("hinge optimum", "FPC"):
            _boundary(plane, method, fits.scores[method][degree])
        heading(plane, f"Degree {degree}: {space_dimension(2, degree)} polynomials on {rows} rows")
        for ax in (test, train):
            ax.axvline(degree, color=QUIET, lw=0.9)
        said = [
            f"{method}: test error <b>{by_degree[degree]['test_error']:.1%}</b>, "
            f"training error {by_degree[degree]['train_error']:.1%}"
            for method, by_degree in fits.errors.items()
        ]
        return (
            f"{'; '.join(said)}. One label in ten is wrong (dashed): who errs less on the training "
            f"rows than that has begun to learn the noise{_shortfall(fits.gaps[degree])}"
        )


PAINTED, PAINT = "where I paint", "#B98800"
NOISES = {"near the curve": "near", "everywhere": "everywhere", "far from the curve": "far"}
NOISES |= {PAINTED: PAINTED}


def noisy_rows(place, width, ratio, dabs=()):
    """The toy with the share `ratio` of the labels of a region reversed; test rows without noise.

    The region is a band of the toy's own, or all that is within `width` of a dab of paint.
    """
    if not dabs and place != PAINTED:
        return toy(1000, 0, where=place, width=width, noise=ratio)
    X, y, X_test, y_test = toy(1000, 0, noise=0.0)
    centres = np.array([dab[:2] for dab in dabs], dtype=float).reshape(-1, 2)
    painted = (((X[:, None] - centres) ** 2).sum(axis=2) < width**2).any(axis=1)
    wrong = painted & (np.random.default_rng(0).random(len(y)) < ratio)
    return X, np.where(wrong, -y, y), X_test, y_test


class FPCNoise(ui.Declared):
    """noise on FPC's toy, by place, width, ratio and degree"""

    controls = ui.Controls(
        place=ui.choice("noise", NOISES, "far"),
        width=ui.slider("width", 0.25, 0.02, 0.4, 0.01),
        ratio=ui.slider("ratio", 0.4, 0.0, 0.5, 0.01),
        degree=ui.slider("degree s", 9, 1, 12),
        dabs=partial(Plane, SQUARE, (0.0, 1.0), SIZE, {"a dab of noise": (1, PAINT)}),
    )
    places, size = (SQUARE, (0.545, 0.11, 0.435, 0.78)), SIZE
    unfinished = True
    code = """from kernlab import FPC
from kernlab.lab.explorers.fpc import noisy_rows

X, y, X_test, y_test = noisy_rows({place!r}, {width:.3g}, {ratio:.3g}, {dabs})
machine = FPC({degree}).fit(X, y)"""

    def compute(self, place, width, ratio, degree, dabs=()):
        X, y, X_test, y_test = noisy_rows(place, width, ratio, dabs)
        short = {"hinge optimum": {"tol": 1e-3, "max_iter": 50}}
        machines = {m: fit(m, X, y, degree, **short.get(m, {})) for m in NAMES}
        clean = X[:, 1] >= fpc_bayes_curve(X[:, 0])
        return SimpleNamespace(
            X=X,
            y=y,
            noise_level=np.mean((y > 0) != clean),  # the share of all labels that are wrong
            scores={m: machine.decision_function(POINTS) for m, machine in machines.items()},
            errors={m: errors(machine, X, y, X_test, y_test) for m, machine in machines.items()},
            gap=machines["hinge optimum"].result_.gap,
        )

    def still(self, plane, bars):
        _draw_square(plane, np.empty((0, 2)), np.empty(0), NAMES)
        for height, method in enumerate(NAMES):
            colour = text_colour(method_colour(method))
            bars.text(0.0, height - 0.36, f" {method}", fontsize=9, color=colour)
        panel(bars, "Error: test rows (filled), training (hollow)", xlim=(0, 0.5))
        bars.set(yticks=[], ylim=(len(NAMES) - 0.6, -0.6))
        bars.xaxis.set_major_formatter(say_percent)

    def draw(self, fit, plane, bars, place, width, dabs):
        curve, paint = fpc_bayes_curve(AXIS), {"color": PAINT, "alpha": 0.13, "lw": 0}
        low, high = np.maximum(curve - width, 0), np.minimum(curve + width, 1)
        if dabs or place == PAINTED:
            for x, y, _ in dabs:
                plane.add_patch(Circle((x, y), width, **paint))
        else:
            bands = {"near": [(low, high)], "far": [(0, low), (high, 1)], "everywhere": [(0, 1)]}
            for band in bands[place]:
                plane.fill_between(AXIS, *band, **paint)
        draw_rows(plane, fit.X, fit.y, size=5, linewidths=0, alpha=0.5)
        heading(plane, f"{fit.noise_level:.1%} of the labels are wrong")
        for height, method in enumerate(NAMES):
            _boundary(plane, method, fit.scores[method])
            colour = method_colour(method)
            bar = {"height": 0.26, "lw": 1.4, "edgecolor": colour}
            bars.barh(height - 0.15, fit.errors[method]["test_error"], facecolor=colour, **bar)
            bars.barh(height + 0.15, fit.errors[method]["train_error"], facecolor="white", **bar)
        bars.axvline(fit.noise_level, **DASHED)
        said = [f"{method} <b>{fit.errors[method]['test_error']:.1%}</b>" for method in NAMES]
        agree = np.mean((fit.scores["FPC"] > 0) == (fit.scores["ridge"] > 0))
        return (
            f"test error: {', '.join(said)}; FPC and ridge regression decide alike on "
            f"<b>{agree:.1%}</b> of the square. Dashed: the share of wrong labels"
            f"{_shortfall(fit.gap)}"
        )


MEASURED, ROW_AXIS = (500, 1000, 2000), np.geomspace(1e3, 1e9, 50)
HELD = {"Gram matrix of FPC": method_colour("FPC"), "features": BLUE, "kernel matrix": QUIET}


@lru_cache(maxsize=16)
def measure_cost(degree, features):
    """Centres, and seconds of fits on random rows of a cube, the faster of two."""
    rng = np.random.default_rng(0)
    X = rng.random((MEASURED[-1], features))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(len(X)) > 0.5, 1, -1)
    centres = space_dimension(features, degree)
    if centres > 500:
        raise ValueError(
            f"degree {degree} in {features} dimensions has {centres:,} centres: too many to be "
            "measured in an instant; choose a lower degree or fewer features"
        )
    machine = FPC(degree, random_state=0)
    seconds = [
        min(timeit.repeat(partial(machine.fit, X[:rows], y[:rows]), number=1, repeat=2))
        for rows in MEASURED
    ]
    return SimpleNamespace(centres=centres, seconds=seconds)


def predicted(seconds, rows):
    """Once for the matrix, and in proportion to the rows."""
    slope = max(np.polyfit(MEASURED, seconds, 1)[0], 1e-9)
    return max(seconds[0] - slope * MEASURED[0], 0.0) + slope * np.asarray(rows, float)


def bytes_held(centres, rows):
    """By what one does: FPC's Gram matrix, its features, a kernel matrix (see `HELD`)."""
    return 8.0 * centres**2 + 0.0 * rows, 8.0 * rows * centres, 8.0 * rows**2


class FPCScale(ui.Declared):
    """what FPC costs in time and memory, by rows, features and degree"""

    controls = ui.Controls(
        rows=ui.log_slider("rows", 1e6, 3, 9),
        features=ui.stops("features", (2, 4, 8, 12), 8),
        degree=ui.stops("degree s", (1, 2, 3, 4), 3),
    )
    places = (0.07, 0.15, 0.42, 0.75), (0.57, 0.15, 0.42, 0.75)
    size = (9.6, 3.7)
    compute = staticmethod(measure_cost)
    code = "from kernlab import FPC\n\nmachine = FPC({degree})  # .fit(X, y): {features} features"

    def still(self, seconds, memory):
        seconds.plot([], [], "o", ms=5, color=method_colour("FPC"), label="measured here")
        seconds.plot([], [], "o", ms=9, color=RED, label="predicted")
        for name, colour in HELD.items():
            memory.plot([], [], color=colour, label=name)
        memory.axhline(16e9, color=QUIET, lw=0.9, ls="dashed")
        memory.annotate("16 GB", (1.3e3, 16e9), xytext=(0, 3), textcoords="offset points",
                        fontsize=8, color=QUIET)  # fmt: skip
        look = {"log": "xy", "xlim": (1e3, 1e9), "xlabel": "rows", "legend": "upper left"}
        panel(seconds, "Seconds, one thread", ylim=(1e-4, 1e6), **look)
        panel(memory, "Bytes", ylim=(10, 1e20), **look)

    def draw(self, cost, seconds, memory, rows):
        colour = method_colour("FPC")
        seconds.plot(ROW_AXIS, predicted(cost.seconds, ROW_AXIS), color=colour)
        seconds.plot(MEASURED, cost.seconds, "o", ms=5, color=colour)
        seconds.plot([rows], [predicted(cost.seconds, rows)], "o", ms=9, color=RED)
        for held, colour in zip(bytes_held(cost.centres, ROW_AXIS), HELD.values(), strict=True):
            memory.plot(ROW_AXIS, held, color=colour)
        for ax in (seconds, memory):
            ax.axvline(rows, color=RED, lw=0.8)
        held = zip(HELD, bytes_held(cost.centres, rows), strict=True)
        said = ", ".join(f"{name} {size / 1e9:,.3g} GB" for name, size in held)
        return (
            f"{rows:,.0f} rows, {cost.centres} centres: about "
            f"<b>{predicted(cost.seconds, rows):,.3g} s</b> on one thread, if time stays in "
            f"proportion to the rows; {said}"
        )


fpc_stopping, fpc_degrees, fpc_noise, fpc_scale = (
    shown() for shown in (FPCStopping, FPCDegrees, FPCNoise, FPCScale)
)
