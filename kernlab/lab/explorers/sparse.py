"""The sparse kernel: its matrix and factor, its shape, and what lines separate."""

from types import SimpleNamespace

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from scipy.special import gammaln, jv

from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import askey_exponent, gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import empty_plane, heading, panel
from kernlab.lab.explorers.samples import SHAPES
from kernlab.lab.papers.common.fitting import seconds_in, seconds_of
from kernlab.lab.papers.sparse.shatter import labellings, separating_line
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, new_figure

STAGES = {"assemble": "#8C8C8C", "factor": RED, "solve": BLUE}


class SparseKernel(ui.Declared):
    """a sparse kernel matrix and its factor, by sigma and order"""

    given = ui.Given(toys=("Swiss roll", *SHAPES), first="Swiss roll", rows=600)
    controls = ui.Controls(
        sigma=ui.log_slider("sigma", 0.16, -2, 0.3, step=0.05),
        C=ui.log_slider("C", 1.0, -3, 3),
        ordering=ui.choice(
            "order", {"minimum degree (AMD)": "amd", "as the rows come": "natural"}, "amd"
        ),
    )
    places = (0.01, 0.13, 0.3, 0.77), (0.335, 0.13, 0.3, 0.77), (0.735, 0.13, 0.245, 0.77)
    size = (9.9, 3.3)
    code = """from kernlab import SparseCholeskySVC
{data}
machine = SparseCholeskySVC(C={C:.4g}, sigma={sigma:.4g}, solver="newton",
    ordering={ordering!r}).fit(X, y)"""

    def compute(self, rows, sigma, C=1.0, ordering="amd"):
        """Both paths at one sigma, and the Gaussian kernel's machine beside them."""
        machines, spent = {}, {}
        for path in ("cholesky", "newton"):
            machine = SparseCholeskySVC(C=C, sigma=sigma, solver=path, ordering=ordering)
            took = machine.fit(rows.X, rows.y).timings_
            factor = seconds_in(machine, "order", "factor", "features")
            spent[path] = [took["approximate"] - factor, factor, took["solve"]]
            machines[path] = machine
        exact = LibSVM(C=C, gamma=gamma_from_sigma(sigma))
        machines["LIBSVM"], seconds = seconds_of(lambda: exact.fit(rows.X, rows.y))
        spent["LIBSVM"] = [0.0, 0.0, seconds]
        predicted = {path: machine.predict(rows.X_test) for path, machine in machines.items()}
        approximation = machines["cholesky"].approximation_
        order = approximation.permutation_
        return SimpleNamespace(
            matrix=approximation.matrix_[order][:, order],  # in the order of the factor
            factor=approximation.factor_.lower,
            sparsity=approximation.sparsity_,
            accuracy={path: np.mean(labels == rows.y_test) for path, labels in predicted.items()},
            milliseconds={path: 1e3 * np.array(each) for path, each in spent.items()},
            agreement=np.mean(predicted["cholesky"] == predicted["newton"]),
        )

    def still(self, matrix, factor, times):
        for ax in (matrix, factor):
            empty_plane(ax)
            ax.set(xlim=(-0.5, self.given.rows - 0.5), ylim=(self.given.rows - 0.5, -0.5))
        times.set_yticks(range(3), ["factor", "no factor", "LIBSVM"])
        panel(times, "milliseconds", log="x", xlim=(0.02, 3000), ylim=(3.2, -0.6),
              xticks=(0.1, 1, 10, 100, 1000))  # fmt: skip
        handles = [Patch(color=colour, label=stage) for stage, colour in STAGES.items()]
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.0), "ncols": 3, "fontsize": 7}
        times.legend(handles=handles, handlelength=1.0, columnspacing=0.8, **place)

    def draw(self, fit, matrix, factor, times):
        end = self.given.rows - 0.5
        for ax, entries, name, colour in (
            (matrix, fit.matrix, "kernel matrix K", BLUE), (factor, fit.factor, "its factor L", RED)
        ):  # fmt: skip
            n, look = entries.shape[0], ListedColormap(["white", colour])
            picture = np.zeros((n, n), dtype=bool)
            picture[entries.nonzero()] = True
            ax.imshow(picture, cmap=look, extent=(-0.5, end, end, -0.5), aspect="auto")
            heading(ax, name)
            words = f"{entries.nnz:,} entries, {entries.nnz / n**2:.1%}"
            ax.text(0.5, -0.03, words, transform=ax.transAxes, ha="center", va="top")
        spent = np.maximum(list(fit.milliseconds.values()), 0.02)
        for place, colour in enumerate(STAGES.values()):
            heights = np.arange(3) + 0.22 * (place - 1)
            times.barh(heights, spent[:, place], color=colour, height=0.2)
        return (
            f"accuracy <b>{fit.accuracy['newton']:.1%}</b> on fresh rows "
            f"(the Gaussian kernel at this sigma {fit.accuracy['LIBSVM']:.1%}); "
            f"<b>{fit.sparsity:.1%}</b> of K are zeros; the two paths agree on "
            f"{fit.agreement:.1%} of the fresh rows"
        )


ROUNDING = 1e-14  # of the transform at zero: what is smaller is not told from zero
DISTANCES = np.linspace(0.0, 4.5, 300)


def taper(distances, alpha, l):
    """(1 - alpha d)_+^l, which makes the Gaussian kernel compact."""
    return np.clip(1.0 - alpha * distances, 0.0, None) ** l


def compact_value(distances, alpha, l):
    """Equation 38 at sigma = 1."""
    return taper(distances, alpha, l) * np.exp(-(distances**2) / 2.0)


def mean_of_cosine(x, order):
    """The mean of cos(x u_1) over the unit sphere of 2 order + 2 dimensions."""
    small = x < 1e-3  # where the Bessel function would underflow
    at = np.where(small, 1.0, x)
    values = np.exp(gammaln(order + 1.0) + order * np.log(2.0 / at)) * jv(order, at)
    return np.where(small, 1.0 - x**2 / (4.0 * (order + 1.0)), values)


def radial_transform(alpha, l, n_features, value=compact_value, nodes=500):
    """A compact kernel's Fourier transform by frequency, divided by its value at zero.

    F(t) is proportional to the integral over d from 0 to 1 / alpha of k(d) d^(p-1) O(t d), with
    O(x) = Gamma(p/2) (2/x)^(p/2-1) J_(p/2-1)(x), the mean of cos over the sphere.
    """
    end = min(1.0 / alpha, 12.0 + np.sqrt(n_features))  # beyond, the Gaussian factor has vanished
    at, weights = np.polynomial.legendre.leggauss(nodes)
    d = end * (at + 1.0) / 2.0
    with np.errstate(under="ignore"):
        density = weights * np.exp((n_features - 1) * np.log(d / end)) * value(d, alpha, l)
    # The rule integrates waves of up to about as many radians as it has nodes.
    t = np.geomspace(0.5, 1.6 * nodes / end, 200)
    return t, mean_of_cosine(np.outer(t, d), n_features / 2.0 - 1.0) @ density / density.sum()


class CompactShape(ui.Declared):
    """the shape of a compact kernel, by alpha, l and features"""

    controls = ui.Controls(
        alpha=ui.log_slider("alpha sigma", 1 / 3, -1.5, 1, step=0.02),
        l=ui.log_slider("l", 3.0, -0.5, 2, step=0.02),
        n_features=ui.slider("features", 3, 2, 64),
    )
    places = (0.06, 0.14, 0.42, 0.76), (0.56, 0.14, 0.42, 0.76)
    size = (9.2, 3.3)
    code = """from kernlab import SparseCholeskySVC
# rows of {n_features} features, distances in units of sigma
machine = SparseCholeskySVC(sigma=1.0, alpha={alpha:.4g}, l={l:.4g})"""

    def compute(self, alpha, l, n_features):
        """Whether the transform is negative anywhere, and whether the rule says so.

        A function of the distance is positive definite on p features if and only if its transform
        is nowhere negative (Bochner). At high frequencies t it has two parts: one from the tip at
        distance zero, positive, which falls as t^-(p+1); and waves from the edge at 1 / alpha,
        which fall as t^-(l + (p+1)/2). So l >= (p+1)/2 is needed as well as enough.
        """
        frequencies, transform = radial_transform(alpha, l, n_features)
        return SimpleNamespace(
            frequencies=frequencies,
            transform=transform,
            negative=transform < -ROUNDING,  # where it is seen to be
            least_l=(n_features + 1) / 2,
        )

    def still(self, value, frequency):
        value.plot(DISTANCES, np.exp(-(DISTANCES**2) / 2.0), color=DARK, lw=1.2, label="Gaussian")
        value.plot([], [], color=QUIET, ls="dotted", label="taper")
        value.plot([], [], color=method_colour("sparse"), label="sparse kernel")
        panel(value, "kernel", xlabel=r"distance, in $\sigma$", xlim=(-0.1, 4.6),
              ylim=(-0.03, 1.05), legend="upper right")  # fmt: skip
        frequency.axhspan(ROUNDING / 10, ROUNDING, color="#EEEEEE", zorder=0)
        panel(frequency, "", log="xy", xlabel="frequency", xlim=(0.5, 1e4),
              ylim=(ROUNDING / 10, 3.0), xticks=(1, 10, 100, 1000))  # fmt: skip

    def draw(self, shape, value, frequency, alpha, l, n_features):
        value.plot(DISTANCES, taper(DISTANCES, alpha, l), color=QUIET, ls="dotted")
        value.plot(DISTANCES, compact_value(DISTANCES, alpha, l), color=method_colour("sparse"))
        if 1.0 / alpha < DISTANCES[-1]:
            value.axvline(1.0 / alpha, color=QUIET, lw=0.8, ls="dashed")
            value.annotate(r" $1/\alpha$", (1.0 / alpha, 0.55), fontsize=8, color=QUIET)
        size, wrong = np.maximum(np.abs(shape.transform), ROUNDING / 10), shape.negative
        heading(frequency, f"its Fourier transform in {n_features} dimensions")
        frequency.plot(shape.frequencies, size, color=BLUE, lw=1.0)
        frequency.plot(shape.frequencies[wrong], size[wrong], "o", ms=3.5, color=RED)
        if wrong.any():
            frequency.annotate("negative", (0.97, 0.95), xycoords="axes fraction", color=RED,
                               ha="right", va="top")  # fmt: skip
        rule = f"with {n_features} features l must be at least {shape.least_l:g}"
        if l >= shape.least_l:
            bound = askey_exponent(n_features)
            return f"<b>positive definite</b> on any rows: {rule} (a whole l: {bound})"
        text = f"<b>not positive definite</b> on all rows: {rule}. Its transform "
        if wrong.any():
            first, least = shape.frequencies[wrong][0], shape.transform.min()
            text += f"is negative (red) from frequency {first:.2g} on, and falls to {least:.0e}"
            return f"{text} of its top"
        text += "turns negative beyond the frequencies shown or below what rounding lets one see"
        return f"{text}: hardly any rows would notice"


NAMES = "ABCD"


def _points(count, **places):
    return [(places[f"{name}_x"], places[f"{name}_y"]) for name in NAMES[:count]]


class Shattering(ui.Declared):
    """labellings of points that can be moved, and lines"""

    controls = ui.Controls(
        count=ui.choice("points", {"two": 2, "three": 3, "four": 4}, 4),
        **{
            f"{name}_{axis}": ui.slider(f"{name} {word}", at, 0.05, 0.95, 0.05, release=False)
            for name, *place in (("A", 0.2, 0.2), ("B", 0.8, 0.2), ("C", 0.8, 0.8), ("D", 0.2, 0.8))
            for axis, word, at in zip("xy", ("across", "up"), place, strict=True)
        },
    )

    def compute(self, **places):
        """All ways of labelling the points up to exchange, and a line for each or None."""
        points = np.array(_points(**places))
        labels = labellings(len(points))
        lines = [separating_line(points, y) for y in labels]
        failed = [y for y, line in zip(labels, lines, strict=True) if line is None]
        return SimpleNamespace(points=points, labels=labels, lines=lines, failed=failed)

    def draw(self, found):
        n, count, across = len(found.points), len(found.labels), 4
        figure, axes = new_figure(-(-count // across), across, panel=(1.8, 1.8), squeeze=False)
        for ax, labels, line in zip(axes.flat, found.labels, found.lines, strict=False):
            ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(), yticks=(), xlabel="" if line else "no line")
            ax.set_facecolor("white" if line else "#F6DAD3")
            ax.scatter(*found.points.T, c=[RED if sign > 0 else BLUE for sign in labels], s=95)
            for name, point in zip(NAMES, found.points, strict=False):
                ax.annotate(name, point, color="white", fontsize=6.5, ha="center", va="center")
            if line and any(line[:2]):  # else all points are of one class
                normal = np.array(line[:2])
                foot = -line[2] * normal / (normal @ normal)
                ax.axline(foot, foot + normal[::-1] * (-1, 1), color=DARK, lw=1.2)
        for ax in axes.flat[count:]:
            ax.set_axis_off()
        if not found.failed:
            return figure, (
                f"all <b>{count} of {count}</b> labellings (up to exchanging the classes) have a "
                f"line: these {n} points are <b>shattered</b>"
            )
        red, blue = (
            ", ".join(name for name, sign in zip(NAMES, found.failed[0], strict=False) if sign == c)
            for c in (1, -1)
        )
        four = "; of four points in the plane two such groups always do (Radon), wherever they lie"
        return figure, (
            f"<b>{count - len(found.failed)} of {count}</b> labellings have a line. The hulls of "
            f"{red} and of {blue} meet, so that no line keeps them apart{four if n > 3 else ''}"
        )

    def code(self, **values):
        points = [(round(x, 2), round(y, 2)) for x, y in _points(**values)]
        return f"""from kernlab.lab.papers.sparse.shatter import labellings, separating_line

points = {points}
lines = [separating_line(points, labels) for labels in labellings({len(points)})]"""


sparse_kernel, compact_shape, shattering = SparseKernel(), CompactShape(), Shattering()
