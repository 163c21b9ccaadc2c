"""Figures of the FPC paper's studies."""

from kernlab.lab.papers.common.data_tables import sizes_figure
from kernlab.lab.papers.fpc.figures import simulations, tables, theory
from kernlab.lab.plots.registry import declared

FIGURES = [
    *declared(vars(theory), vars(simulations), vars(tables)),
    sizes_figure("fpc-t1", "FPC"),
]
