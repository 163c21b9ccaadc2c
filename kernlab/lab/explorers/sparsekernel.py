"""A sparse kernel as its width grows: what of the matrix is left, what fills in, what it costs."""

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kernlab.datasets import generators
from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.playground import TOYS
from kernlab.lab.plots.marks import spy
from kernlab.lab.plots.style import house_style, method_colour, new_figure
from kernlab.runtime import single_blas_thread

ROWS = 600  # at these a dense factor still takes less time than its picture
SETS = {"Swiss roll": generators.swiss_roll, **{n: t for n, t in TOYS.items() if n != "gaussians"}}
ORDERINGS = {"minimum degree (AMD)": "amd", "as the rows come": "natural"}
PATHS = {"cholesky": "factor", "newton": "no factor"}
STAGES = {"assemble": "#8C8C8C", "factor": "#CC3311", "solve": "#0062B0"}


@dataclass(frozen=True)
class SparseFit:
    """Both paths at one sigma, the Gaussian kernel beside them, and what their picture shows."""

    matrix: sp.csr_matrix  # in the order of the factor
    factor: sp.csc_matrix
    sparsity: float
    accuracy: dict
    milliseconds: dict  # by path and stage
    agreement: float


def some_rows(dataset, rows=ROWS, seed=0):
    """Training rows with labels, as many fresh ones: features of unit variance."""
    both = [SETS[dataset](rows, seed=s) for s in (seed, seed + 1)]
    (X, y), (X_test, y_test) = both
    centre, scale = X.mean(axis=0), X.std(axis=0)
    return (X - centre) / scale, y, (X_test - centre) / scale, y_test


def fit_sparse(dataset, sigma, C=1.0, ordering="amd", rows=ROWS):
    """Train by both paths, and the Gaussian kernel's machine at the same sigma."""
    X, y, X_test, y_test = some_rows(dataset, rows)
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


@house_style()
def draw_sparse(fit):
    """The kernel matrix, its factor, and the time of each stage by path."""
    figure, (matrix, factor, times) = new_figure(1, 3, panel=(3.3, 3.3))
    figure.set_layout_engine("none")  # fixed margins: no layout to solve at every release
    for place, ax in zip((0.01, 0.335, 0.735), (matrix, factor, times), strict=True):
        ax.set_position([place, 0.13, 0.3 if ax is not times else 0.245, 0.77])
    spy(matrix, fit.matrix, title="kernel matrix K")
    spy(factor, fit.factor, title="its factor L", colour="#CC3311")
    for ax, entries in ((matrix, fit.matrix), (factor, fit.factor)):
        ax.set_xlabel(f"{entries.nnz:,} entries, {entries.nnz / np.prod(entries.shape):.1%}")
    names = {**PATHS, "LIBSVM": "LIBSVM"}
    left = np.zeros(len(names))
    for stage, colour in STAGES.items():
        widths = np.array([fit.milliseconds[path].get(stage, 0.0) for path in names])
        times.barh(list(names.values()), widths, left=left, color=colour, label=stage, height=0.55)
        left += widths
    times.get_yticklabels()[-1].set_color(method_colour("LIBSVM"))
    times.set(title="milliseconds", ylim=(3.6, -0.6))
    times.grid(axis="y", visible=False)
    times.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.0), ncols=3, fontsize=7,
                 handlelength=1.0, columnspacing=0.8)  # fmt: skip
    return figure


def describe(fit):
    """What the picture does not show, in one line of HTML."""
    return (
        f"accuracy <b>{fit.accuracy['newton']:.1%}</b> on fresh rows "
        f"(the Gaussian kernel at this sigma {fit.accuracy['LIBSVM']:.1%}); "
        f"<b>{fit.sparsity:.1%}</b> of K are zeros; the two paths agree on "
        f"{fit.agreement:.1%} of the fresh rows"
    )


def sparse_kernel():
    """The explorer: data set, sigma, C and the order of the rows in the factor."""

    def draw(dataset, sigma, C, ordering):
        fit = fit_sparse(dataset, sigma, C, ORDERINGS[ordering])
        return draw_sparse(fit), describe(fit)

    controls = {
        "dataset": choice("data set", list(SETS), "Swiss roll"),
        "sigma": log_slider("sigma", 0.16, -2, 0.3, step=0.05),
        "C": log_slider("C", 1.0, -3, 3),
        "ordering": choice("order", list(ORDERINGS), "minimum degree (AMD)"),
    }
    return Explorer(draw, controls, "a sparse kernel matrix and its factor, by sigma and order")
