"""What a bandwidth makes of a data set: how far apart its rows are, and which of them are alike."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import pdist

from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider
from kernlab.lab.explorers.plane import BLUE, DARK, RED, draw_rows, empty_plane, fixed_figure
from kernlab.lab.explorers.samples import SETS, sample_choice, samples
from kernlab.lab.plots.style import QUIET, house_style

ROWS, BINS = 600, 60
KERNELS = {"rbf": 2, "laplacian": 1}  # the power of the distance in the exponent
PLACES = [(0.01, 0.03, 0.35, 0.87), (0.43, 0.15, 0.55, 0.75)]


@dataclass(frozen=True)
class Distances:
    """Some rows in the plane of their principal components, and all distances between them."""

    plane: np.ndarray
    y: np.ndarray
    distances: np.ndarray  # of the kernel, in units of their median
    alike: np.ndarray  # whether both rows of a pair are of one class
    median: float


def measure_distances(rows, kernel="rbf"):
    """Euclidean distances for the Gaussian kernel, city blocks for the Laplacian."""
    X, y = rows.X, rows.y
    centred = X - X.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    distances = pdist(X, "euclidean" if kernel == "rbf" else "cityblock")
    median = float(np.median(distances))
    alike = pdist(y[:, None]) == 0
    return Distances(plane / plane.std(axis=0), y, distances / median, alike, median)


@house_style()
def bandwidth_scene(found):
    """The rows in the plane; the distances of pairs within a class and across."""
    figure, (plane, pairs) = fixed_figure(PLACES, (9.4, 3.7))
    empty_plane(plane, 3.5, "Two principal components")
    draw_rows(plane, found.plane, found.y, size=8, alpha=0.6, linewidths=0)
    for chosen, colour, name in ((found.alike, BLUE, "same class"), (~found.alike, RED, "other")):
        counts, edges = np.histogram(found.distances[chosen], BINS, (0.0, 3.0))
        pairs.stairs(counts / max(counts.max(), 1), edges, color=colour, alpha=0.8, label=name)
    pairs.plot([], [], color=DARK, lw=2, label="kernel")
    pairs.set(xlim=(0, 3), ylim=(0, 1.08), xlabel="distance of a pair, in medians")
    pairs.set_title("Pairs of rows, and the kernel (dashed: its mean)")
    pairs.legend(loc="upper right", fontsize=8)
    return Scene(figure)


def describe(found, values):
    """The kernel between rows of a class and across, and how many directions it has."""
    within, across = values[found.alike].mean(), values[~found.alike].mean()
    n = len(found.y)
    # |K|_F^2 with ones on the diagonal: a matrix of rank r with equal eigenvalues has n^2 / r.
    rank = n**2 / (n + 2.0 * np.sum(values**2))
    return (
        f"mean kernel value <b>{within:.3f}</b> within a class, <b>{across:.3f}</b> across; "
        f"the kernel matrix of {n} rows has as many directions as one of rank <b>{rank:.0f}</b>: "
        "1 sees no difference between rows, and one per row no likeness"
    )


def bandwidth(*data):
    """The explorer: data set, kernel and gamma.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, sets=SETS)

    @lru_cache(maxsize=16)
    def measured(dataset, kernel):
        found = measure_distances(sets[dataset].rows(ROWS), kernel)
        return found, bandwidth_scene(found)

    def draw(dataset, kernel, gamma):
        found, scene = measured(dataset, kernel)
        at, power = np.linspace(0.0, 3.0, 200), KERNELS[kernel]
        curve, values = (
            np.exp(-gamma * (found.median * each) ** power) for each in (at, found.distances)
        )

        def moving(_, pairs):
            pairs.plot(at, curve, color=DARK, lw=2)
            pairs.axhline(values.mean(), color=QUIET, lw=0.9, ls="dashed")

        return scene.png(moving), describe(found, values)

    def code(dataset, kernel, gamma):
        return (
            f"from kernlab import LASN\n{sets[dataset].code(ROWS)}\n"
            f"machine = LASN(100, kernel={kernel!r}, gamma={gamma:.4g}, random_state=0).fit(X, y)"
        )

    controls = {
        "dataset": sample_choice(data, sets, "magic"),
        "kernel": choice("kernel", list(KERNELS), "rbf"),
        "gamma": log_slider("gamma", 0.05, -4, 2),
    }
    text = "how far apart the rows of a set are, and what gamma makes of it"
    return Explorer(draw, controls, text, code=code)
