"""Figures: one function each, drawn from a study's tidy table.

A figure module defines ``FIGURES``, a list of `FigureSpec`, and is named in the one list below; the
notebooks, the report and the tests then know its figures.
"""

from kernlab.plots import fpc, hss, lasn, llsvm, sparse
from kernlab.plots.registry import FigureSpec, by_study, draw_figures, finished, save

FIGURE_MODULES = (llsvm, lasn, sparse, hss, fpc)

FIGURES = by_study(spec for module in FIGURE_MODULES for spec in module.FIGURES)
"""All figures: study id -> list of `FigureSpec`."""

__all__ = ["FIGURES", "FigureSpec", "draw_all", "finished", "save"]


def draw_all(study, table, profile, out=None):
    """Draw every figure of a study into ``<output_dir(profile, out)>/figures``.

    Parameters
    ----------
    study : str
        The study's id.
    table : DataFrame
        Its tidy table.
    profile : str
    out : path, optional

    Returns
    -------
    list of Path
        The PNG files; SVG and caption lie beside them.
    """
    return draw_figures(FIGURES.get(study, []), table, profile, out)
