"""What FPC's figures share: means over repeats, the looks of its machines, errors in percent."""

from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from kernlab.lab.plots.marks import BAND
from kernlab.lab.plots.style import method_colour


def mean_band(ax, table, x, y, *, label=None, **line):
    """The mean over repeats, as the paper draws it, with 20 to 80 % of the repeats shaded."""
    groups = table[[x, y]].dropna().groupby(x)[y]
    if not len(groups):
        return
    means, low, high = groups.mean(), groups.quantile(BAND[0]), groups.quantile(BAND[1])
    (drawn,) = ax.plot(means.index, means, label=label, **line)
    if (high > low).any():
        ax.fill_between(means.index, low, high, color=drawn.get_color(), alpha=0.14, lw=0)


def level(ax, table, column, ends, *, label=None, **line):
    """A mean that does not depend on x, as a line from end to end."""
    mean = table[column].mean()
    ax.plot(ends, [mean, mean], label=label, **line)


def look(method, **more):
    """Ridge regression broad and pale: FPC lies on it, and both should be seen."""
    broad = {"lw": 5.0, "alpha": 0.45, "zorder": 1.5} if method == "ridge" else {}
    return {"color": method_colour(method), **broad, **more}


def ridge_below(table):
    """(method, its rows), ridge regression first."""
    groups = table.groupby("method", sort=False)
    return sorted(groups, key=lambda pair: pair[0] != "ridge")


def log_percent(axis):
    """A logarithmic axis of shares with 1 %, 2 %, 5 % written out."""
    log_numbers(axis, say_percent)


def say_percent(share, _=None):
    """0.025 as 2.5 %"""
    return f"{100 * share:.4g} %"


def log_numbers(axis, say="{:g}".format):
    """A logarithmic axis, its data drawn, with 1, 2, 5, 10, ... written out; far apart 1, 10."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    axis.set_minor_formatter(NullFormatter())
