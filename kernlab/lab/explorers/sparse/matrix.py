"""A sparse kernel as its width grows: what of the matrix is left, what fills in, what it costs."""

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.sparse as sp
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers.base import Explorer, Scene, choice, log_slider
from kernlab.lab.explorers.plane import BLUE, RED, empty_plane, fixed_figure, heading
from kernlab.lab.explorers.samples import TOYS, sample_choice, samples
from kernlab.lab.plots.style import house_style, method_colour
from kernlab.runtime import single_blas_thread

ROWS = 600  # at these a dense factor still takes less time than its picture
SETS = ("Swiss roll", *(name for name in TOYS if name != "gaussians"))
ORDERINGS = {"minimum degree (AMD)": "amd", "as the rows come": "natural"}
PATHS = {"cholesky": "factor", "newton": "no factor"}
STAGES = {"assemble": "#8C8C8C", "factor": RED, "solve": BLUE}
PLACES = [(0.01, 0.13, 0.3, 0.77), (0.335, 0.13, 0.3, 0.77), (0.735, 0.13, 0.245, 0.77)]


@dataclass(frozen=True)
class SparseFit:
    """Both paths at one sigma, the Gaussian kernel beside them, and what their picture shows."""

    matrix: sp.csr_matrix  # in the order of the factor
    factor: sp.csc_matrix
    sparsity: float
    accuracy: dict
    milliseconds: dict  # by path and stage
    agreement: float


def fit_sparse(rows, sigma, C=1.0, ordering="amd"):
    """Train by both paths, and the Gaussian kernel's machine at the same sigma."""
    X, y, X_test, y_test = rows
    machines, spent, predicted = {}, {}, {}
    with single_blas_thread():
        for path in PATHS:
            machine = SparseCholeskySVC(C=C, sigma=sigma, solver=path, ordering=ordering)
            machines[path] = machine.fit(X, y)
            spent[path] = _stages(machine.timings_)
            predicted[path] = machine.predict(X_test)
    began = time.perf_counter()
    gaussian = LibSVM(C=C, gamma=gamma_from_sigma(sigma)).fit(X, y)
    spent["LIBSVM"] = {"solve": 1e3 * (time.perf_counter() - began)}
    approximation = machines["cholesky"].approximation_
    order = approximation.permutation_
    return SparseFit(
        matrix=approximation.matrix_[order][:, order],
        factor=approximation.factor_.lower,
        sparsity=approximation.sparsity_,
        accuracy={path: float(np.mean(labels == y_test)) for path, labels in predicted.items()}
        | {"LIBSVM": gaussian.score(X_test, y_test)},
        milliseconds=spent,
        agreement=float(np.mean(predicted["cholesky"] == predicted["newton"])),
    )


def _stages(timings):
    part = {name.removeprefix("approximate: "): 1e3 * s for name, s in timings.items()}
    factor = sum(part.get(name, 0.0) for name in ("order", "factor", "features"))
    return {
        "assemble": part["approximate"] - factor,
        "factor": factor,
        "solve": part["solve"],
    }


@cache
@house_style()
def _scene():
    figure, (*matrices, times) = fixed_figure(PLACES, (9.9, 3.3))
    for ax in matrices:
        empty_plane(ax)
        ax.set(xlim=(-0.5, ROWS - 0.5), ylim=(ROWS - 0.5, -0.5))
    times.set_yticks(range(3), [*PATHS.values(), "LIBSVM"])
    times.get_yticklabels()[-1].set_color(method_colour("LIBSVM"))
    times.set(title="milliseconds", ylim=(3.2, -0.6), xscale="log", xlim=(0.02, 3000))
    times.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    times.minorticks_off()
    times.grid(axis="y", visible=False)
    handles = [Patch(color=colour, label=stage) for stage, colour in STAGES.items()]
    place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 0.0), "ncols": 3, "fontsize": 7}
    times.legend(handles=handles, handlelength=1.0, columnspacing=0.8, **place)
    return Scene(figure)


def draw_sparse(fit):
    """The kernel matrix, its factor, and the time of each stage by path."""

    def moving(matrix, factor, times):
        for ax, entries, name, colour in (
            (matrix, fit.matrix, "kernel matrix K", BLUE),
            (factor, fit.factor, "its factor L", RED),
        ):
            n, shown = entries.shape[0], entries.tocoo()
            picture = np.zeros((n, n), dtype=bool)
            picture[shown.row, shown.col] = True
            ends = (-0.5, ROWS - 0.5, ROWS - 0.5, -0.5)
            ax.imshow(picture, cmap=ListedColormap(["white", colour]), extent=ends, aspect="auto")
            heading(ax, name)
            words = f"{entries.nnz:,} entries, {entries.nnz / n**2:.1%}"
            ax.text(0.5, -0.03, words, transform=ax.transAxes, ha="center", va="top")
        for place, (stage, colour) in enumerate(STAGES.items()):
            spent = [fit.milliseconds[path].get(stage, 0.0) for path in (*PATHS, "LIBSVM")]
            heights = np.arange(3) + 0.22 * (place - 1)
            times.barh(heights, np.maximum(spent, 0.02), color=colour, height=0.2)

    return _scene().png(moving)


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    return (
        f"accuracy <b>{fit.accuracy['newton']:.1%}</b> on fresh rows "
        f"(the Gaussian kernel at this sigma {fit.accuracy['LIBSVM']:.1%}); "
        f"<b>{fit.sparsity:.1%}</b> of K are zeros; the two paths agree on "
        f"{fit.agreement:.1%} of the fresh rows"
    )


def sparse_kernel(*data):
    """The explorer: data set, sigma, C and the order of the rows in the factor.

    `data`: names, paths, Datasets or pairs (X, y) to choose beside the listed sets.
    """
    sets = samples(data, toys=SETS)

    def draw(dataset, sigma, C, ordering):
        fit = fit_sparse(sets[dataset].rows(ROWS), sigma, C, ORDERINGS[ordering])
        return draw_sparse(fit), describe(fit)

    def code(dataset, sigma, C, ordering):
        return (
            f"from kernlab import SparseCholeskySVC\n{sets[dataset].code(ROWS)}\n"
            f"machine = SparseCholeskySVC(C={C:.4g}, sigma={sigma:.4g}, "
            f'solver="newton", ordering={ORDERINGS[ordering]!r}).fit(X, y)'
        )

    controls = {
        "dataset": sample_choice(data, sets, "Swiss roll"),
        "sigma": log_slider("sigma", 0.16, -2, 0.3, step=0.05),
        "C": log_slider("C", 1.0, -3, 3),
        "ordering": choice("order", list(ORDERINGS), "minimum degree (AMD)"),
    }
    text = "a sparse kernel matrix and its factor, by sigma and order"
    return Explorer(draw, controls, text, code=code)
