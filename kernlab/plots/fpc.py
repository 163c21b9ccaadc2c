"""Figures of the FPC paper's studies."""

from kernlab.plots.data_tables import sizes_figure

FIGURES = [sizes_figure("fpc-t1", "FPC")]
