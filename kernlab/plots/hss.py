"""Figures of the ADMM-HSS paper's studies."""

from kernlab.plots.data_tables import sizes_figure

FIGURES = [sizes_figure("hss-t1", "ADMM-HSS")]
