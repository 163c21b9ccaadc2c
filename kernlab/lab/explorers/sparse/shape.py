"""The shape of a compact kernel, and whether it is a kernel: alpha, the exponent l, dimensions.

A function of the distance is positive definite on p features if and only if its Fourier transform
in p dimensions is nowhere negative (Bochner). That of the sparse kernel has two parts at high
frequencies t: one from the tip at distance zero, positive, which falls as t^-(p+1); and waves from
the edge at 1 / alpha, which fall as t^-(l + (p+1)/2). So l >= (p+1)/2, which is Askey's rule for
whole l, is needed as well as enough: below it the waves win in the end, and all that the Gaussian
factor does is to make them small.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import gammaln, jv

from kernlab.kernels import askey_exponent
from kernlab.lab.explorers.base import Explorer, Scene, log_slider, whole
from kernlab.lab.explorers.plane import BLUE, DARK, RED, fixed_figure, heading
from kernlab.lab.plots.marks import plain_log_ticks
from kernlab.lab.plots.style import QUIET, house_style

NODES, FREQUENCIES = 500, 200
ROUNDING = 1e-14  # of the transform at zero: what is smaller is not told from zero
GREEN = "#009E73"
PLACES = [(0.06, 0.14, 0.42, 0.76), (0.56, 0.14, 0.42, 0.76)]


@dataclass(frozen=True)
class Shape:
    """A compact kernel with sigma = 1 as a function of distance, and its Fourier transform."""

    alpha: float
    l: float
    n_features: int
    frequencies: np.ndarray
    transform: np.ndarray  # divided by its value at zero

    @property
    def is_positive_definite(self):
        return self.l >= (self.n_features + 1) / 2

    @property
    def negative(self):
        """Where the transform is seen to be negative."""
        return self.transform < -ROUNDING


def taper(distances, alpha, l):
    """(1 - alpha d)_+^l, which makes the Gaussian kernel compact."""
    return np.clip(1.0 - alpha * distances, 0.0, None) ** l


def compact_value(distances, alpha, l):
    """Equation 38 at sigma = 1."""
    return taper(distances, alpha, l) * np.exp(-(distances**2) / 2.0)


def analyse_shape(alpha, l, n_features):
    """The kernel and its radial Fourier transform in as many dimensions as there are features.

    F(t) is proportional to the integral over d from 0 to 1 / alpha of k(d) d^(p-1) O(t d), with
    O(x) = Gamma(p/2) (2/x)^(p/2-1) J_(p/2-1)(x), the mean of cos over the sphere.
    """
    end = min(1.0 / alpha, 12.0 + np.sqrt(n_features))  # beyond, the Gaussian factor has vanished
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    d = end * (nodes + 1.0) / 2.0
    with np.errstate(under="ignore"):
        log_density = (n_features - 1) * np.log(d / end)
        density = weights * np.exp(log_density) * compact_value(d, alpha, l)
    # The rule integrates waves of up to about as many radians as it has nodes.
    t = np.geomspace(0.5, 1.6 * NODES / end, FREQUENCIES)
    cosines = mean_of_cosine(np.outer(t, d), n_features / 2.0 - 1.0)
    return Shape(alpha, l, n_features, t, cosines @ density / density.sum())


def mean_of_cosine(x, order):
    """O(x): the mean of cos(x u_1) over the unit sphere of 2 order + 2 dimensions."""
    small = x < 1e-3  # where the Bessel function would underflow
    at = np.where(small, 1.0, x)
    values = np.exp(gammaln(order + 1.0) + order * np.log(2.0 / at)) * jv(order, at)
    return np.where(small, 1.0 - x**2 / (4.0 * (order + 1.0)), values)


@cache
@house_style()
def _scene():
    figure, (value, frequency) = fixed_figure(PLACES, (9.2, 3.3))
    d = np.linspace(0.0, 4.5, 300)
    value.plot(d, np.exp(-(d**2) / 2.0), color=DARK, lw=1.2, label="Gaussian")
    value.plot([], [], color=QUIET, ls="dotted", label="taper")
    value.plot([], [], color=GREEN, label="sparse kernel")
    value.set(title="kernel", xlabel=r"distance, in $\sigma$", ylim=(-0.03, 1.05), xlim=(-0.1, 4.6))
    value.legend(loc="upper right")
    frequency.axhspan(ROUNDING / 10, ROUNDING, color="#EEEEEE", zorder=0)
    frequency.set(xlabel="frequency", xscale="log", yscale="log")
    frequency.set(ylim=(ROUNDING / 10, 3.0), xlim=(0.5, 1e4))
    plain_log_ticks(frequency.xaxis)
    return Scene(figure)


def draw_shape(shape):
    """The kernel beside the Gaussian one; its Fourier transform, red where it is negative."""
    d, end = np.linspace(0.0, 4.5, 300), 1.0 / shape.alpha
    size = np.maximum(np.abs(shape.transform), ROUNDING / 10)
    wrong = shape.negative

    def moving(value, frequency):
        value.plot(d, taper(d, shape.alpha, shape.l), color=QUIET, ls="dotted")
        value.plot(d, compact_value(d, shape.alpha, shape.l), color=GREEN)
        if end < d[-1]:
            value.axvline(end, color=QUIET, lw=0.8, ls="dashed")
            value.annotate(r" $1/\alpha$", (end, 0.55), fontsize=8, color=QUIET)
        heading(frequency, f"its Fourier transform in {shape.n_features} dimensions")
        frequency.plot(shape.frequencies, size, color=BLUE, lw=1.0)
        frequency.plot(shape.frequencies[wrong], size[wrong], "o", ms=3.5, color=RED)
        if wrong.any():
            frequency.annotate("negative", (0.97, 0.95), xycoords="axes fraction", color=RED,
                               ha="right", va="top")  # fmt: skip

    return _scene().png(moving)


def describe(shape):
    """Whether it is a kernel, and how one knows, in one line of HTML."""
    bound = askey_exponent(shape.n_features)
    rule = f"with {shape.n_features} features l must be at least {(shape.n_features + 1) / 2:g}"
    if shape.is_positive_definite:
        return f"<b>positive definite</b> on any rows: {rule} (a whole l: {bound})"
    text = f"<b>not positive definite</b> on all rows: {rule}. Its transform "
    if shape.negative.any():
        where = shape.frequencies[shape.negative]
        return (
            f"{text}is negative (red) from frequency {where[0]:.2g} on, and falls to "
            f"{shape.transform.min():.0e} of its top"
        )
    return (
        f"{text}turns negative beyond the frequencies shown or below what rounding lets one see: "
        "hardly any rows would notice"
    )


def compact_shape():
    """The explorer: alpha in units of 1/sigma, the exponent l, and the number of features."""

    def draw(alpha, l, n_features):
        shape = analyse_shape(alpha, l, n_features)
        return draw_shape(shape), describe(shape)

    def code(alpha, l, n_features):
        return (
            "from kernlab import SparseCholeskySVC\n"
            f"# rows of {n_features} features, distances in units of sigma\n"
            f"machine = SparseCholeskySVC(sigma=1.0, alpha={alpha:.4g}, l={l:.4g})"
        )

    controls = {
        "alpha": log_slider("alpha sigma", 1 / 3, -1.5, 1, step=0.02),
        "l": log_slider("l", 3.0, -0.5, 2, step=0.02),
        "n_features": whole("features", 3, 2, 64),
    }
    text = "the shape of a compact kernel, by alpha, l and features"
    return Explorer(draw, controls, text, code=code)
