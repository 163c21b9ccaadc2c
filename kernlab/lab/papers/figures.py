"""Every figure: one function each, drawn from a study's tidy table.

A figure module defines ``FIGURES``, a list of `FigureSpec`, and is named in the one list below; the
notebooks, the report and the tests then know its figures.
"""

from kernlab.lab.papers.fpc import figures as fpc
from kernlab.lab.papers.hss import figures as hss
from kernlab.lab.papers.lasn import figures as lasn
from kernlab.lab.papers.llsvm import figures as llsvm
from kernlab.lab.papers.sparse import figures as sparse
from kernlab.lab.plots.registry import FigureSpec, by_study, draw_figures, finished, save

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
