"""Features that look at the data beside features that do not: landmarks and random waves."""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from kernlab.approximations import FourierMap, Nystrom
from kernlab.estimators import KernelMachine
from kernlab.lab.explorers.base import Explorer, Scene, log_slider
from kernlab.lab.explorers.plane import (
    draw_rows,
    draw_sides,
    empty_plane,
    fixed_figure,
    heading,
    square,
)
from kernlab.lab.explorers.samples import TOYS, sample_choice, samples
from kernlab.lab.plots.style import QUIET, house_style, method_colour
from kernlab.runtime import single_blas_thread

ROWS, GRID = 1000, 60
COUNTS = (4, 10, 20, 40, 100, 200, 400)  # of features, for the curve of errors
MAPS = {
    "Nyström": ("nystrom", "n_landmarks", method_colour("LASN")),
    "random Fourier": ("fourier", "n_components", method_colour("random Fourier features")),
}
PLACES = [(0.005, 0.03, 0.33, 0.87), (0.34, 0.03, 0.33, 0.87), (0.735, 0.15, 0.255, 0.75)]


@dataclass(frozen=True)
class Comparison:
    """Two machines with as many features, and what their picture shows; dicts by map."""

    rows: tuple
    decisions: dict  # on the grid
    errors: dict  # of the kernel matrix
    accuracies: dict


def fit_both(rows, count, gamma, C, seed=0):
    """Train the same machine on landmarks and on random waves."""
    found = {}
    with single_blas_thread():
        for name, (approximation, parameter, _) in MAPS.items():
            machine = KernelMachine(
                approximation, "newton", gamma=gamma, C=C, random_state=seed,
                approximation_params={parameter: min(count, len(rows.y))},
            ).fit(rows.X, rows.y)  # fmt: skip
            found[name] = (
                machine.decision_function(square(GRID)[1]),
                machine.approximation_.error(rows.X, n_sampled=300),
                machine.score(rows.X_test, rows.y_test),
            )
    return Comparison(rows, *({name: part[i] for name, part in found.items()} for i in range(3)))


def error_curves(rows, gamma, seed=0):
    """The error of the kernel matrix by the number of features, for both maps."""
    with single_blas_thread():
        most = min(max(COUNTS), len(rows.y))
        nystrom = Nystrom(gamma=gamma, n_landmarks=most, random_state=seed).fit(rows.X)
        nested = [nystrom.leading(min(k, nystrom.rank_)) for k in COUNTS]
        waves = [FourierMap(gamma=gamma, n_components=k, random_state=seed) for k in COUNTS]
        found = (nested, [each.fit(rows.X) for each in waves])
        return {
            name: [max(each.error(rows.X, n_sampled=300), 1e-9) for each in maps]
            for name, maps in zip(MAPS, found, strict=True)
        }


@cache
@house_style()
def _scene():
    figure, (*planes, errors) = fixed_figure(PLACES, (10.5, 3.7))
    for ax, (name, (*_, colour)) in zip(planes, MAPS.items(), strict=True):
        empty_plane(ax)
        errors.plot([], [], color=colour, label=name, marker=".")
    ends = np.array([COUNTS[0], COUNTS[-1]])
    errors.plot(ends, ends**-0.5, color=QUIET, lw=0.8, ls="dotted", label=r"$1/\sqrt{D}$")
    errors.set(xscale="log", yscale="log", xlim=(3, 500), ylim=(5e-10, 3))
    errors.set(xlabel="features D", title="Relative error of the kernel matrix")
    errors.set_xticks([4, 10, 40, 100, 400], ["4", "10", "40", "100", "400"])
    errors.minorticks_off()
    errors.legend(loc="lower left", fontsize=8)
    return Scene(figure)


def draw_both(found, curves, count):
    """Both boundaries; the error of the kernel matrix by the number of features."""

    def moving(*axes):
        for ax, (name, (*_, colour)) in zip(axes, MAPS.items(), strict=False):
            draw_sides(ax, square(GRID)[0], found.decisions[name])
            draw_rows(ax, found.rows.X[:500], found.rows.y[:500], size=4, alpha=0.5, linewidths=0)
            heading(ax, f"{name}: {found.accuracies[name]:.1%}")
            axes[-1].plot(COUNTS, curves[name], color=colour, marker=".")
            axes[-1].plot([count], [max(found.errors[name], 1e-9)], "o", ms=8, color=colour)

    return _scene().png(moving)


def describe(found, count):
    """What both reach, in one line of HTML."""
    said = [
        f"{name}: accuracy <b>{found.accuracies[name]:.1%}</b> on fresh rows, the kernel matrix "
        f"reproduced to {found.errors[name]:.2%}"
        for name in MAPS
    ]
    return f"{count} features each. {'; '.join(said)}"


def fourier(*data):
    """The explorer: data set, number of features, bandwidth and C.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=TOYS)
    curves = lru_cache(maxsize=16)(
        lambda name, gamma: error_curves(sets[name].rows(ROWS, plane=True), gamma)
    )

    def draw(dataset, count, gamma, C):
        count = 2 * round(count / 2)  # a cosine and a sine of each wave
        found = fit_both(sets[dataset].rows(ROWS, plane=True), count, gamma, C)
        return draw_both(found, curves(dataset, gamma), count), describe(found, count)

    def code(dataset, count, gamma, C):
        count = 2 * round(count / 2)
        made = [
            f'KernelMachine("{approximation}", "newton", gamma={gamma:.4g}, C={C:.4g},\n'
            f'    random_state=0, approximation_params={{"{parameter}": {count}}}).fit(X, y)'
            for approximation, parameter, _ in MAPS.values()
        ]
        return (
            f"from kernlab import KernelMachine\n{sets[dataset].code(ROWS, plane=True)}\n"
            f"machine = {made[0]}\nwaves = {made[1]}"
        )

    controls = {
        "dataset": sample_choice(data, sets, "spirals"),
        "count": log_slider("features D", 30, 0.6, 2.6),
        "gamma": log_slider("gamma", 4.0, -2, 2),
        "C": log_slider("C", 10.0, -4, 4),
    }
    text = "landmarks beside random Fourier features, by their number, gamma and C"
    return Explorer(draw, controls, text, code=code)
