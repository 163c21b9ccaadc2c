"""What FPC's figures share: means over repeats, and the looks of its machines."""

from functools import partial

from kernlab.lab.plots.marks import band, log_numbers, log_percent, say_percent
from kernlab.lab.plots.style import method_colour

__all__ = ["log_numbers", "log_percent", "look", "mean_band", "ridge_below", "say_percent"]

RIDGE = (
    "Ridge is regression on the labels, FPC's own first step; the hinge optimum is the minimiser "
    "that FPC's iteration would reach in the end."
)
mean_band = partial(band, middle="mean")
"""The mean over repeats, as the paper draws it, with 20 to 80 % of the repeats shaded."""


def look(method, **more):
    """Ridge regression broad and pale: FPC lies on it, and both should be seen."""
    broad = {"lw": 5.0, "alpha": 0.45, "zorder": 1.5} if method == "ridge" else {}
    return {"color": method_colour(method), **broad, **more}


def ridge_below(table):
    """(method, its rows), ridge regression first."""
    groups = table.groupby("method", sort=False)
    return sorted(groups, key=lambda pair: pair[0] != "ridge")
