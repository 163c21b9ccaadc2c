"""The shape of a compact kernel, and whether it is a kernel: alpha, the exponent l, dimensions.

A function of the distance is positive definite on p features if and only if its Fourier transform
in p dimensions is nowhere negative (Bochner). Askey's rule l >= floor(p/2) + 1 is enough for it.
Below the rule the Gaussian factor may still save it, or not: the transform tells.
"""

from dataclasses import dataclass

import ipywidgets as widgets
import numpy as np
from scipy.special import gammaln, jv

from kernlab.explorers.base import Explorer, log_slider
from kernlab.kernels import askey_exponent
from kernlab.plots.style import QUIET, house_style, new_figure

NODES, FREQUENCIES = 400, 240
ROUNDING = 1e-11  # of the transform at zero: what is smaller is not told from zero
BLUE, RED, GREEN, DARK = "#0062B0", "#CC3311", "#009E73", "#222222"


@dataclass(frozen=True)
class Shape:
    """A compact kernel with sigma = 1 as a function of distance, and its Fourier transform."""

    alpha: float
    l: float  # noqa: E741 - the exponent's name in the paper
    n_features: int
    frequencies: np.ndarray
    transform: np.ndarray  # divided by its value at zero

    @property
    def follows_rule(self):
        return self.l >= askey_exponent(self.n_features)

    @property
    def lowest(self):
        return float(self.transform.min())

    @property
    def is_negative_somewhere(self):
        return self.lowest < -ROUNDING


def taper(distances, alpha, l):  # noqa: E741
    """(1 - alpha d)_+^l, which makes the Gaussian kernel compact."""
    return np.clip(1.0 - alpha * distances, 0.0, None) ** l


def compact_value(distances, alpha, l):  # noqa: E741
    """Equation 38 at sigma = 1."""
    return taper(distances, alpha, l) * np.exp(-(distances**2) / 2.0)


def analyse_shape(alpha, l, n_features):  # noqa: E741
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
    order = n_features / 2.0 - 1.0
    # Zeros of J move out with its order: three of its arches, on the scale of the support.
    reach = (order + 2.0 * np.cbrt(order + 1.0) + 16.0) / _typical(d, density)
    t = np.linspace(0.0, reach, FREQUENCIES)[1:]
    transform = mean_of_cosine(np.outer(t, d), order) @ density / density.sum()
    return Shape(alpha, l, n_features, t, transform)


def _typical(d, density):
    return float(d @ density / density.sum())


def mean_of_cosine(x, order):
    """O(x): the mean of cos(x u_1) over the unit sphere of 2 order + 2 dimensions."""
    log_factor = gammaln(order + 1.0) + order * np.log(2.0 / x)
    return np.exp(log_factor) * jv(order, x)


@house_style()
def draw_shape(shape):
    """The kernel beside the Gaussian one; its Fourier transform, red where it is negative."""
    figure, (value, frequency) = new_figure(1, 2, panel=(4.6, 3.3))
    figure.set_layout_engine("none")  # fixed margins: no layout to solve at every move
    for place, ax in zip((0.06, 0.56), (value, frequency), strict=True):
        ax.set_position([place, 0.14, 0.42, 0.76])
    d = np.linspace(0.0, 4.5, 300)
    value.plot(d, np.exp(-(d**2) / 2.0), color=DARK, lw=1.2, label="Gaussian")
    value.plot(d, taper(d, shape.alpha, shape.l), color=QUIET, ls="dotted", label="taper")
    value.plot(d, compact_value(d, shape.alpha, shape.l), color=GREEN, label="sparse kernel")
    if 1.0 / shape.alpha < d[-1]:
        value.axvline(1.0 / shape.alpha, color=QUIET, lw=0.8, ls="dashed")
        value.annotate(r" $1/\alpha$", (1.0 / shape.alpha, 0.55), fontsize=8, color=QUIET)
    value.set(title="kernel", xlabel=r"distance, in $\sigma$", ylim=(-0.03, 1.05))
    value.legend(loc="upper right")
    t, transform = shape.frequencies, shape.transform
    # Equal steps for equal factors on both sides of zero, as far as rounding lets one see.
    frequency.set_yscale("symlog", linthresh=1e-6, linscale=0.5)
    frequency.axhline(0.0, color=DARK, lw=0.8)
    frequency.plot(t, np.where(transform >= 0, transform, np.nan), color=BLUE)
    frequency.plot(t, np.where(transform < 0, transform, np.nan), color=RED)
    frequency.set(
        title=f"its Fourier transform in {shape.n_features} dimensions",
        xlabel="frequency",
        ylim=(-1.0, 1.5),
        yticks=[-1e-2, -1e-4, -1e-6, 0, 1e-6, 1e-4, 1e-2, 1],
    )
    return figure


def describe(shape):
    """Whether it is a kernel, and how one knows, in one line of HTML."""
    bound = askey_exponent(shape.n_features)
    rule = f"Askey's rule asks for l of at least {bound} with {shape.n_features} features"
    if shape.follows_rule:
        return f"<b>positive definite</b> on any rows: {rule}"
    if shape.is_negative_somewhere:
        return (
            f"<b>not positive definite</b>: the transform falls to {shape.lowest:.1e} of its top, "
            f"so there are rows whose matrix has a negative eigenvalue; {rule}"
        )
    return (
        "<b>no negative value found</b> as far as rounding shows: the Gaussian factor seems to "
        f"save it, though {rule}"
    )


def compact_shape():
    """The explorer: alpha in units of 1/sigma, the exponent l, and the number of features."""

    def draw(alpha, l, n_features):  # noqa: E741
        shape = analyse_shape(alpha, l, n_features)
        return draw_shape(shape), describe(shape)

    controls = {
        "alpha": log_slider("alpha sigma", 1 / 3, -1.5, 1, step=0.02),
        "l": log_slider("l", 3.0, -0.5, 2, step=0.02),
        "n_features": widgets.IntSlider(
            value=3, min=2, max=64, description="features", continuous_update=False
        ),
    }
    return Explorer(draw, controls, "the shape of a compact kernel, by alpha, l and features")
