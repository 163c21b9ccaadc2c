"""Bandwidths, landmarks and random waves: what the features of a kernel see of some rows."""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle
from matplotlib.ticker import PercentFormatter
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from kernlab.approximations import FourierMap, Nystrom
from kernlab.estimators import LASN, KernelMachine, sweep
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import draw_machine, draw_rows, empty_plane, look_at, panel
from kernlab.lab.explorers.samples import SETS, TOYS
from kernlab.lab.plots.marks import heatmap
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour


class Bandwidth(ui.Declared):
    """how far apart the rows of a set are, and what gamma makes of it"""

    given = ui.Given(sets=SETS, first="magic", rows=600)
    controls = ui.Controls(
        kernel=ui.choice("kernel", ("rbf", "laplacian"), "rbf"),
        gamma=ui.log_slider("gamma", 0.05, -4, 2),
    )
    places = (0.01, 0.03, 0.35, 0.87), (0.43, 0.15, 0.55, 0.75)
    size = (9.4, 3.7)
    code = """from kernlab import LASN
{data}
machine = LASN(100, kernel={kernel!r}, gamma={gamma:.4g}, random_state=0).fit(X, y)"""

    def prepare(self, rows, kernel="rbf"):
        """Euclidean distances for the Gaussian kernel, city blocks for the Laplacian."""
        distances = pdist(rows.X, "euclidean" if kernel == "rbf" else "cityblock")
        return SimpleNamespace(
            plane=PCA(2, whiten=True, random_state=0).fit_transform(rows.X),
            y=rows.y,
            median=float(np.median(distances)),
            distances=distances / np.median(distances),
            alike=pdist(rows.y[:, None]) == 0,  # whether both rows of a pair are of one class
        )

    def still(self, measured, plane, pairs):
        empty_plane(plane, 3.5, "Two principal components")
        draw_rows(plane, measured.plane, measured.y, size=8, alpha=0.6, linewidths=0)
        alike = measured.alike
        for chosen, colour, name in ((alike, BLUE, "same class"), (~alike, RED, "other")):
            counts, edges = np.histogram(measured.distances[chosen], 60, (0.0, 3.0))
            pairs.stairs(counts / max(counts.max(), 1), edges, color=colour, alpha=0.8, label=name)
        pairs.plot([], [], color=DARK, lw=2, label="kernel")
        panel(pairs, "Pairs of rows, and the kernel (dashed: its mean)", legend="upper right",
              xlabel="distance of a pair, in medians", xlim=(0, 3), ylim=(0, 1.08))  # fmt: skip

    def compute(self, measured, kernel, gamma):
        power, at = {"rbf": 2, "laplacian": 1}[kernel], np.linspace(0.0, 3.0, 200)
        curve, values = (
            np.exp(-gamma * (measured.median * each) ** power) for each in (at, measured.distances)
        )
        return SimpleNamespace(measured=measured, at=at, curve=curve, values=values)

    def draw(self, found, _, pairs):
        pairs.plot(found.at, found.curve, color=DARK, lw=2)
        pairs.axhline(found.values.mean(), color=QUIET, lw=0.9, ls="dashed")
        alike, n = found.measured.alike, len(found.measured.y)
        # |K|_F^2 with ones on the diagonal: a matrix of rank r with equal eigenvalues has n^2 / r.
        rank = n**2 / (n + 2.0 * np.sum(found.values**2))
        return (
            f"mean kernel value <b>{found.values[alike].mean():.3f}</b> within a class, "
            f"<b>{found.values[~alike].mean():.3f}</b> across; the kernel matrix of {n} rows has "
            f"as many directions as one of rank <b>{rank:.0f}</b>: 1 sees no difference between "
            "rows, and one per row no likeness"
        )


class Landmarks(ui.Declared):
    """landmarks in the plane, by rule, k, gamma and C"""

    rules = ("kmeans", "uniform", "first", "rpcholesky")
    given = ui.Given(toys=TOYS, first="spirals", rows=2000, plane=True)
    controls = ui.Controls(
        rule=ui.choice("landmarks", rules, "kmeans"),
        k=ui.count_slider("k", 30, 0.3, 2.6),
        gamma=ui.log_slider("gamma", 4.0, -2, 2),
        C=ui.log_slider("C", 10.0, -4, 4),
    )
    places = (0.01, 0.02, 0.4, 0.88), (0.475, 0.15, 0.2, 0.75), (0.8, 0.15, 0.19, 0.75)
    size = (10.2, 4.2)
    code = """from kernlab import LASN
{data}
machine = LASN({k}, landmarks={rule!r}, gamma={gamma:.4g}, C={C:.4g}, random_state=0).fit(X, y)"""

    def compute(self, rows, rule, k, gamma, C):
        machine = LASN(min(k, len(rows.y)), landmarks=rule, gamma=gamma, C=C, random_state=0)
        fit = look_at(machine, rows)
        stages = {name.split(": ")[-1]: s for name, s in fit.machine.timings_.items()}
        spent = [stages.get(stage, 0.0) for stage in ("landmarks", "map", "solve")]
        fit.milliseconds = 1e3 * np.array([*spent, max(0.0, fit.seconds - sum(spent))])
        fit.residuals = [step["residual"] for step in fit.machine.result_.trace]
        fit.error = fit.machine.approximation_.error(rows.X, n_sampled=400)
        return fit

    def still(self, plane, steps, times):
        empty_plane(plane)
        panel(steps, "Relative gradient", log="y", xlabel="Newton step", xlim=(-1, 25),
              ylim=(1e-17, 10))  # fmt: skip
        times.set_yticks(range(4), ["choose landmarks", "factor the map", "Newton", "other"])
        panel(times, "Milliseconds", log="x", xlim=(0.02, 1000), ylim=(3.5, -0.5),
              xticks=(0.1, 1, 10, 100))  # fmt: skip

    def draw(self, fit, plane, steps, times):
        points = fit.machine.landmarks_
        draw_machine(plane, fit, f"{len(points)} landmarks", alpha=0.35)
        plane.scatter(*points.T, s=26, marker="X", color=DARK, linewidths=0.5)
        steps.plot(np.maximum(fit.residuals, 1e-16), marker="o", ms=4, color=BLUE)
        times.barh(range(4), np.maximum(fit.milliseconds, 0.02), color=BLUE)
        return (
            f"accuracy <b>{fit.accuracy:.1%}</b> on fresh rows; the kernel matrix is reproduced "
            f"to <b>{fit.error:.2%}</b>; trained on {len(fit.rows.y):,} rows in "
            f"{1e3 * fit.seconds:.0f} ms"
        )


COUNTS = (4, 10, 20, 40, 100, 200, 400)  # of features, for the curve of errors
MAPS = {
    "Nyström": ("nystrom", "n_landmarks", method_colour("LASN")),
    "random Fourier": ("fourier", "n_components", method_colour("random Fourier features")),
}


@lru_cache(maxsize=16)
def error_curves(rows, gamma):
    """The error of the kernel matrix by the number of features, for both maps."""
    most = min(max(COUNTS), len(rows.y))
    nystrom = Nystrom(gamma=gamma, n_landmarks=most, random_state=0).fit(rows.X)
    nested = [nystrom.leading(min(k, nystrom.rank_)) for k in COUNTS]
    waves = [FourierMap(gamma=gamma, n_components=k, random_state=0).fit(rows.X) for k in COUNTS]
    found = ([each.error(rows.X, n_sampled=300) for each in maps] for maps in (nested, waves))
    return {name: np.maximum(errors, 1e-9) for name, errors in zip(MAPS, found, strict=True)}


class Fourier(ui.Declared):
    """landmarks beside random Fourier features, by their number, gamma and C"""

    given = ui.Given(toys=TOYS, first="spirals", rows=1000, plane=True)
    controls = ui.Controls(
        half=ui.count_slider("features D / 2", 15, 0.3, 2.3),  # a wave is a cosine and a sine
        gamma=ui.log_slider("gamma", 4.0, -2, 2),
        C=ui.log_slider("C", 10.0, -4, 4),
    )
    places = (0.005, 0.03, 0.33, 0.87), (0.34, 0.03, 0.33, 0.87), (0.735, 0.15, 0.255, 0.75)
    size = (10.5, 3.7)
    code = """from kernlab import KernelMachine
{data}
settings = {{"gamma": {gamma:.4g}, "C": {C:.4g}, "random_state": 0}}
machine = KernelMachine("nystrom", "newton", **settings,
    approximation_params={{"n_landmarks": 2 * {half}}}).fit(X, y)
waves = KernelMachine("fourier", "newton", **settings,
    approximation_params={{"n_components": 2 * {half}}}).fit(X, y)"""

    def compute(self, rows, half, gamma, C):
        found = {}
        for name, (approximation, parameter, _) in MAPS.items():
            machine = KernelMachine(
                approximation, "newton", gamma=gamma, C=C, random_state=0,
                approximation_params={parameter: min(2 * half, len(rows.y))},
            )  # fmt: skip
            found[name] = look_at(machine, rows, 60)
            found[name].error = max(machine.approximation_.error(rows.X, n_sampled=300), 1e-9)
        return SimpleNamespace(count=2 * half, fits=found, curves=error_curves(rows, gamma))

    def still(self, left, right, errors):
        for ax, (name, (*_, colour)) in zip((left, right), MAPS.items(), strict=True):
            empty_plane(ax)
            errors.plot([], [], color=colour, label=name, marker=".")
        ends = np.array([COUNTS[0], COUNTS[-1]])
        errors.plot(ends, ends**-0.5, color=QUIET, lw=0.8, ls="dotted", label=r"$1/\sqrt{D}$")
        panel(errors, "Relative error of the kernel matrix", log="xy", xlabel="features D",
              xlim=(3, 500), ylim=(5e-10, 3), xticks=(4, 10, 40, 100, 400),
              legend="lower left")  # fmt: skip

    def draw(self, found, left, right, errors):
        for ax, (name, fit) in zip((left, right), found.fits.items(), strict=True):
            draw_machine(ax, fit, f"{name}: {fit.accuracy:.1%}", shown=500, alpha=0.5)
            colour = MAPS[name][-1]
            errors.plot(COUNTS, found.curves[name], color=colour, marker=".")
            errors.plot([found.count], [fit.error], "o", ms=8, color=colour)
        return f"{found.count} features each. " + "; ".join(
            f"{name}: accuracy <b>{fit.accuracy:.1%}</b> on fresh rows, the kernel matrix "
            f"reproduced to {fit.error:.2%}"
            for name, fit in found.fits.items()
        )


LANDMARKS = (5, 10, 20, 50, 100, 200, 500)
COSTS = tuple(10.0**exponent for exponent in range(-4, 5))


def solve_path(rows, ks=LANDMARKS, costs=COSTS):
    """LASN for all k and C of a grid, so that a slider only looks up what is there.

    With nested landmarks that costs one map and one pass of Newton's method along C for each k.
    """
    X, y, X_test, y_test = rows
    ks = [k for k in ks if k <= len(y)]
    machine, grid = LASN(random_state=0), {"n_landmarks": ks, "C": costs}
    few = {"n_landmarks": [min(ks)], "C": costs[:2]}  # to be compiled beforehand
    sweep(machine, X[:300], y[:300], few, nested=True, progress=False)
    table = sweep(machine, X, y, grid, validation=(X_test, y_test), nested=True, progress=False)
    # The sweep's own landmarks: the same rule, number and seed.
    nystrom = Nystrom(gamma="variance", n_landmarks=max(ks), random_state=0).fit(X)
    nested = {k: nystrom.leading(min(k, nystrom.rank_)) for k in ks}
    errors = {k: (part.error(X, n_sampled=500), part.trace_error(X)) for k, part in nested.items()}
    return SimpleNamespace(
        table=table,
        by=lambda column: table.pivot(index="n_landmarks", columns="C", values=column),
        errors=pd.DataFrame(errors, index=["sampled", "trace"]).T.clip(lower=1e-16),
        map_seconds=table["approximate_seconds"].sum(),
    )


class LandmarkPath(ui.Declared):
    """accuracy, error and time over a path of k and C"""

    given = ui.Given(sets=SETS, first="magic", rows=4000)  # so that another is solved in an instant
    controls = ui.Controls(k=ui.stops("landmarks k", LANDMARKS, 100), C=ui.stops("C", COSTS, 10.0))
    places = (
        (0.07, 0.6, 0.43, 0.33), (0.57, 0.6, 0.41, 0.33),
        (0.07, 0.1, 0.36, 0.33), (0.57, 0.1, 0.41, 0.33),
    )  # fmt: skip
    size = (8.8, 5.4)
    frames = ("k", "C")
    ahead = True
    prepare = staticmethod(solve_path)

    def still(self, path, grid, accuracy, error, seconds):
        table = path.table.rename(columns={"n_landmarks": "landmarks k"})
        heatmap(grid, table, "landmarks k", "C", "validation_accuracy", label="")
        grid.set_title("Accuracy on test rows")
        tests, trains = path.by("validation_accuracy"), path.by("train_accuracy")
        accuracy.plot(tests.index, tests, color="#D5D5D5", lw=0.8)
        accuracy.plot([], [], color=BLUE, label="test rows")
        accuracy.plot([], [], color=QUIET, ls="dashed", label="training rows")
        both = np.array([tests, trains])
        accuracy.set_ylim(both.min() - 0.01, both.max() + 0.01)
        accuracy.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        panel(accuracy, "Accuracy at this C", log="x", legend="lower right")
        error.plot(path.errors["trace"], color=QUIET, ls="dashed", label="trace left over")
        error.plot(path.errors["sampled"], color=BLUE, label="Frobenius, sampled")
        panel(error, "Relative error of the kernel matrix", log="xy", legend="lower left")
        times, shared = 1e3 * path.by("solve_seconds"), 1e3 * path.map_seconds
        seconds.plot(times.index, times, color="#D5D5D5", lw=0.8)
        seconds.axhline(shared, color=QUIET, ls="dashed", label="the one map for all k")
        seconds.plot([], [], color=BLUE, label="Newton, from the C before")
        panel(seconds, "Milliseconds at this C", log="xy", legend="upper left",
              ylim=(0.5 * times.min().min(), 20 * shared))  # fmt: skip
        for ax in (accuracy, error, seconds):
            ax.set_xlabel("landmarks k")

    def compute(self, path, k, C):
        k = min(k, path.errors.index[-1])
        row = path.table.set_index(["n_landmarks", "C"]).loc[(k, C)]
        return SimpleNamespace(path=path, k=k, C=C, row=row, error=path.errors.loc[k, "sampled"])

    def draw(self, found, grid, accuracy, error, seconds):
        path, k, C, row = found.path, found.k, found.C, found.row
        tests, trains = path.by("validation_accuracy"), path.by("train_accuracy")
        dot = {"marker": "o", "ms": 7, "color": RED, "ls": "none", "zorder": 3}
        corner = (tests.index.get_loc(k), tests.columns.get_loc(C))
        grid.add_patch(Rectangle(corner, 1, 1, fill=False, clip_on=False, ec=RED, lw=2.2))
        accuracy.plot(trains[C], color=QUIET, ls="dashed")
        accuracy.plot(tests[C], color=BLUE)
        accuracy.plot([k], [row.validation_accuracy], **dot)
        error.plot([k], [found.error], **dot)
        seconds.plot(1e3 * path.by("solve_seconds")[C], color=BLUE)
        seconds.plot([k], [1e3 * row.solve_seconds], **dot)
        return (
            f"k = {k}, C = {C:g}: accuracy <b>{row.validation_accuracy:.1%}</b> on "
            f"test rows, {row.train_accuracy:.1%} on training rows; the kernel matrix is "
            f"reproduced to <b>{found.error:.2%}</b>; {row.n_iter} Newton steps in "
            f"{1e3 * row.solve_seconds:.1f} ms from the C before, relative gap "
            f"{max(row.gap, 0):.0e}. Landmarks and map of all {len(path.table)} machines took "
            f"{path.map_seconds:.2f} s"
        )

    def code(self, rows, data, k, C):
        most = max(each for each in LANDMARKS if each <= len(rows.y))
        return f"""from kernlab import LASN
from kernlab.approximations import Nystrom
{data}
nystrom = Nystrom(gamma="variance", n_landmarks={most}, random_state=0)
nested = nystrom.fit(X).leading({min(k, most)}).landmarks_
machine = LASN({min(k, most)}, landmarks=nested, C={C:g}).fit(X, y)"""


bandwidth, landmarks, fourier, landmark_path = Bandwidth(), Landmarks(), Fourier(), LandmarkPath()
