"""FPC's simulations drawn: the toy, tolerances, parameters, degrees, centres, noise."""

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.papers.fpc.figures.axes import RIDGE, look, mean_band, ridge_below
from kernlab.lab.papers.fpc.noise import NOISES
from kernlab.lab.papers.fpc.simulations import RECOMMENDED
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.marks import log_percent, name_rows, plain_log_ticks, say_percent
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, new_figure

CURVE = np.linspace(0.0, 1.0, 200)
STYLES = ("solid", "dashed")


@figure("fpc-f5", "rows")
def draw_toy(table):
    """Figure 5 of the paper: the toy's training rows (red +1, blue -1), the Bayes curve h, and
    rings around the tenth of the labels that are reversed.
    """
    figure, ax = new_figure(panel=(4.6, 4.2))
    _draw_rows(ax, table, "label", 9)
    wrong = table[table["reversed"] > 0]
    ax.scatter(wrong["x1"], wrong["x2"], s=30, facecolors="none", edgecolors=DARK, lw=0.6)
    return figure


def _draw_rows(ax, rows, labels, size):
    for label, colour in ((-1, BLUE), (1, RED)):
        side = rows[rows[labels] == label]
        ax.scatter(side["x1"], side["x2"], s=size, color=colour, linewidths=0, alpha=0.55)
    ax.plot(CURVE, fpc_bayes_curve(CURVE), color=DARK, lw=1.4)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.grid(False)


@figure("fpc-f6", "tolerance", also=RIDGE)
def draw_tolerance(table):
    r"""Figure 6 of the paper: errors and iterations of FPC against the tolerance $10^{-\gamma}$.
    Past the recommended $5 \cdot 10^{-4}$ (dashed) iterations multiply and errors hardly move.
    Means over repeats, shaded from 20 to 80 %.
    """
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.3))
    rows = table[table["exponent"].notna()]
    _draw_errors(left, rows, "exponent")
    _draw_levels(left, table, rows["exponent"])
    mean_band(right, rows, "exponent", "n_iter", **look("FPC"))
    for ax, title in ((left, "Error"), (right, "Iterations")):
        ax.axvline(RECOMMENDED, color=QUIET, lw=0.9, ls=(0, (4, 3)), label="_recommended")
        ax.set(xlabel=r"$\gamma$ (tolerance $10^{-\gamma}$)", title=title, yscale="log")
    right.annotate(
        "recommended: 5e-4 ", (RECOMMENDED, 0.95), xycoords=("data", "axes fraction"),
        fontsize=7.5, color=QUIET, ha="right", va="top",
    )  # fmt: skip
    plain_log_ticks(right.yaxis)
    log_percent(left.yaxis)
    label_lines(left)
    return figure


def _draw_errors(ax, table, x):
    """Test errors of the machines that have the parameter, and FPC's training error."""
    for method, rows in ridge_below(table):
        mean_band(ax, rows, x, "test_error", label=f"{method}, test", **look(method))
    ours = table[table["method"] == "FPC"]
    mean_band(ax, ours, x, "train_error", label="FPC, training", **look("FPC", ls="dotted"))


def _draw_levels(ax, table, values):
    """The test errors of the machines that have no such parameter, as level lines."""
    for method in ("ridge", "hinge optimum"):
        rows = table[table["method"] == method]
        if len(rows):
            ends = values.agg(["min", "max"])
            mean = rows["test_error"].mean()
            ax.plot(ends, [mean, mean], label=f"{method}, test", **look(method))


@figure("fpc-f6-readings", "errors")
def draw_readings(table):
    """Test errors of FPC at the tolerances $10^{-3.2}$ (filled) and $10^{-5}$ (hollow) under
    several readings of the simulation, with the mean number of steps; grey lines: the errors that
    the paper states for them (solid, dashed), with 3 and 1734 steps.
    """
    readings = list(dict.fromkeys(table["variant"]))
    figure, ax = new_figure(panel=(6.4, 0.36 * len(readings) + 1.1))
    colour = method_colour("FPC")
    said = {"textcoords": "offset points", "va": "center", "fontsize": 6.5, "color": QUIET}
    for exponent, face, offset, style in ((3.2, colour, -0.13, "solid"), (5.0, "white", 0.13, "--")):
        rows = table[table["exponent"] == exponent]
        means = rows.groupby("variant")[["test_error", "n_iter"]].mean().loc[readings]
        heights = np.arange(len(readings)) + offset
        ax.scatter(means["test_error"], heights, s=34, facecolors=face, edgecolors=colour, zorder=3)
        for error, height, steps in zip(means["test_error"], heights, means["n_iter"], strict=True):
            ax.annotate(f"{steps:.0f} steps", (error, height), xytext=(6, 0), **said)
        ax.axvline(rows["stated_error"].iloc[0], color=QUIET, lw=0.9, ls=style)
    ax.set_xlabel("test error")
    ax.margins(x=0.12)
    ax.xaxis.set_major_formatter(say_percent)
    name_rows(ax, readings, legend=False)
    return figure


@figure("fpc-f7", "alpha", number=7, name="alpha", what="proximal", penalty=r"$\alpha$")
@figure("fpc-f8", "beta", number=8, name="beta", what="Lagrangian", penalty=r"$1 / \beta$")
def draw_parameter(table, name, **_):
    r"""Figure {number} of the paper: errors of FPC against the {what} parameter $\{name}$, and of
    ridge regression with the penalty {penalty}. The hinge optimum does not depend on it. Means over
    repeats, shaded from 20 to 80 %.
    """
    figure, ax = new_figure(panel=(5.0, 3.3))
    turned = table[table[name].notna()]
    _draw_errors(ax, turned, name)
    _draw_levels(ax, table[table[name].isna()], turned[name])
    ax.set(xscale="log", yscale="log", xlabel=rf"$\{name}$", ylabel="error")
    log_percent(ax.yaxis)
    label_lines(ax)
    return figure


@figure("fpc-f9", "degrees", also=RIDGE)
def draw_degrees(table):
    """Figure 9 of the paper: errors against the degree, of FPC and of a regularised polynomial
    machine (its regularisation chosen by the test rows, as in the paper).
    """
    figure, axes = new_figure(1, 2, panel=(4.4, 3.3), sharey=True)
    for ax, part in zip(axes, ("test", "train"), strict=True):
        for method, rows in ridge_below(table):
            mean_band(ax, rows, "degree", f"{part}_error", label=method, **_dotted(method))
        title = "Test error" if part == "test" else "Training error"
        ax.set(title=title, xlabel="degree s", yscale="log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        log_percent(ax.yaxis)
    for ax in axes:
        label_lines(ax)
    return figure


def _dotted(method, **more):
    """The look of a machine whose every value is marked; ridge stays a broad line."""
    return look(method, **({} if method == "ridge" else {"marker": "o", "ms": 3}), **more)


@figure("fpc-f10", "schemes")
def draw_schemes(table):
    """Figure 10 of the paper: test error of FPC at the best degree against the number of rows, for
    centres drawn uniformly, taken as the first rows, or drawn from the rows. Means over repeats,
    shaded from 20 to 80 %.
    """
    figure, ax = new_figure(panel=(5.0, 3.3))
    for place, (scheme, rows) in enumerate(table.groupby("variant", sort=False)):
        mean_band(ax, rows, "rows", "test_error", label=scheme, color=f"C{place}", marker="o", ms=3)
    ax.set(xlabel="training rows", ylabel="test error at the best degree", ylim=(0, None))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:.1%}")
    label_lines(ax)
    return figure


@figure("fpc-f11", "boundaries")
def draw_boundaries(table):
    """Figure 11 of the paper: what is learnt (coloured) under three kinds of label noise, beside
    the Bayes curve (black), with the test error; wrong labels lie between the dotted lines,
    everywhere, or beyond them. Above FPC, on the broad grey boundary of ridge regression; below the
    hinge optimum.
    """
    kinds = list(dict.fromkeys(table["variant"]))
    machines = [method for method in dict.fromkeys(table["method"]) if method != "ridge"]
    shared = {"squeeze": False, "sharex": True, "sharey": True}
    figure, axes = new_figure(len(machines), len(kinds), panel=(3.0, 2.9), **shared)
    for line, method in zip(axes, machines, strict=True):
        for ax, kind in zip(line, kinds, strict=True):
            here = table[table["variant"] == kind]
            part = here[here["method"] == method]
            _draw_rows(ax, part[part["kind"] == "row"], "value", 3)
            for learnt in ("ridge", "FPC") if method == "FPC" else (method,):
                _draw_boundary(ax, here[here["method"] == learnt], learnt)
            width = NOISES.get(kind, {}).get("width")
            for side in (-1, 1) if width else ():  # the band that wrong labels lie in, or outside
                edge = fpc_bayes_curve(CURVE) + side * width
                ax.plot(CURVE, edge, color=QUIET, lw=1.0, ls="dotted")
            error = part["test_error"].iloc[0]
            ax.set_title(f"{method}, {kind}: {100 * error:.1f} %", fontsize=8)
            ax.label_outer()
    return figure


def _draw_boundary(ax, part, method):
    grid = part[part["kind"] == "score"]
    if len(grid):
        scores = grid.pivot_table(index="x2", columns="x1", values="value")
        broad = {"linewidths": 6.0, "alpha": 0.45} if method == "ridge" else {"linewidths": 2.0}
        line = {"levels": [0.0], "colors": [method_colour(method)], **broad}
        ax.contour(scores.columns, scores.index, scores, **line)


@figure("fpc-f12", "noise", also=RIDGE)
def draw_noise(table):
    """Figure 12 of the paper: test error (above) and training error (below) against the share of
    wrong labels, by kind of noise and width of its region; where the training error is that share
    it lies on the thin line.
    """
    groups = list(table.groupby("variant", sort=False))
    shared = {"sharey": "row", "sharex": "col", "squeeze": False}
    figure, axes = new_figure(2, len(groups), panel=(3.3, 2.5), **shared)
    for column, (kind, part) in zip(axes.T, groups, strict=True):
        widths = list(dict.fromkeys(part["width"]))
        styles = dict(zip(widths, STYLES, strict=False))
        for ax, error in zip(column, ("test_error", "train_error"), strict=True):
            for method, rows in ridge_below(part):
                for width, style in styles.items():
                    means = rows[rows["width"] == width].groupby("ratio")[["noise_level", error]]
                    means = means.mean()
                    label = method if width == widths[-1] else "_"
                    marks = _dotted(method, ls=style, label=label)
                    ax.plot(means["noise_level"], means[error], **marks)
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 5, 10)))
                axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ends = [0.0, part["noise_level"].max()]
        column[1].plot(ends, ends, color=QUIET, lw=0.9, zorder=1, label="_equal")
        styled = ", ".join(f"{width:g} {style}" for width, style in styles.items())
        widths_said = f"\nwidth {styled}" if len(widths) > 1 else "\n"
        column[0].set_title(f"Noise {kind}{widths_said}", fontsize=8)
        column[1].set_xlabel("share of wrong labels")
    axes[0, 0].set_ylabel("test error")
    axes[1, 0].set_ylabel("training error")
    for ax in axes.ravel():
        label_lines(ax)
    return figure
