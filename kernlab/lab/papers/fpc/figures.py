"""Figures of the FPC paper's studies: theory, simulations, tables."""

from functools import partial

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from kernlab.datasets.generators import fpc_bayes_curve
from kernlab.lab.papers.fpc.simulations import NOISES, RECOMMENDED
from kernlab.lab.papers.fpc.toy import toy
from kernlab.lab.plots import marks
from kernlab.lab.plots.marks import draw_methods, published_values
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, new_figure
from kernlab.lab.published import printed
from kernlab.runtime import format_bytes

RIDGE = (
    "Ridge is regression on the labels, FPC's own first step; the hinge optimum is the minimiser "
    "that FPC's iteration would reach in the end."
)
TOLERANCE = 5e-4  # that FPC stops at
GUIDE = {"color": QUIET, "ls": (0, (4, 3))}
CURVE = np.linspace(0.0, 1.0, 200)
STYLES = ("solid", "dashed")
MARKS = "Dots: measured here; short strokes of the same colour: the paper's means."
mean_band = partial(marks.band, middle="mean")
"""The mean over repeats, as the paper draws it, with 20 to 80 % of the repeats shaded."""


def look(method, **more):
    """Ridge regression broad and pale: FPC lies on it, and both should be seen."""
    broad = {"lw": 5.0, "alpha": 0.45, "zorder": 1.5} if method == "ridge" else {}
    return {"color": method_colour(method), **broad, **more}


def ridge_below(table):
    """(method, its rows), ridge regression first."""
    groups = table.groupby("method", sort=False)
    return sorted(groups, key=lambda pair: pair[0] != "ridge")


@figure("fpc-p1", "ranks")
def draw_ranks(table):
    r"""Proposition 1 in numbers: the rank of the functions $(1 + x \cdot \eta)^s$, as a share of
    the dimension of the polynomials of degree s, for six ways to place as many centres. Filled: in
    exact arithmetic, where only degenerate sets fall short. Red rings: what double precision sees
    of it, which is less at high degrees.
    """
    kinds = list(dict.fromkeys(table["variant"]))
    figure, parts = marks.panels(table, ["variables", "degree"], panel=(3.4, 2.6), sharey=True)
    looks = {
        "exact_rank": {"color": DARK, "s": 34, "label": "exact"},
        "double_rank": {"fc": "none", "ec": RED, "s": 78, "label": "seen by doubles"},
    }
    for ax, (d, s), rows in parts:
        heights = [kinds.index(kind) for kind in rows["variant"]]
        for column, look_of in looks.items():
            ax.scatter(rows[column] / rows["dimension"], heights, **look_of)
        ax.axvline(1.0, color=QUIET, lw=0.8, zorder=0)
        dimension = rows["dimension"].iloc[0]
        ax.set_title(f"Degree {s} in {d} variables: dimension {dimension:.0f}", fontsize=8)
        ax.set(xlim=(0, 1.08), xlabel="rank / dimension")
        marks.name_rows(ax, kinds, legend=ax is parts[-1][0])
    return figure


@figure("fpc-p2", "duality")
def draw_duality(table):
    """Proposition 2 in numbers: the least mean hinge loss by a linear programming solver, the value
    of the dual programme, and kernlab's optimum fall together; FPC's usual stop (dots on the right)
    is far above.
    """
    labels = [f"{r.dataset}, degree {r.degree}" for r in table.itertuples()]
    names = list(dict.fromkeys(labels))
    heights = [names.index(label) for label in labels]
    figure, ax = new_figure(panel=(6.2, 0.35 * len(names) + 1.2))
    looks = (
        ("early_objective", "FPC's usual stop", method_colour("FPC"), "o", 36),
        ("primal_value", "linear programme", DARK, "|", 170),
        ("dual_value", "its dual", BLUE, "_", 90),
        ("objective", "kernlab's optimum", method_colour("hinge optimum"), ".", 30),
    )
    for column, label, colour, marker, size in looks:
        ax.scatter(table[column], heights, s=size, color=colour, marker=marker, label=label)
    ax.set_xlabel("mean hinge loss")
    marks.name_rows(ax, names)
    return figure


@figure("fpc-thm12", "convergence")
def draw_convergence(table):
    r"""Theorems 1 and 2 in numbers, on the toy with degree 9. Left: the squared H-norm of ADMM's
    steps never grows; with $\beta = 1$ it falls below the usual tolerance (dashed) after 3 steps,
    where FPC stops (large dots), and then rests for a hundred. Right: the loss above its minimum
    has hardly moved by then; an interior point method arrives.
    """
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.3))
    steps = table[table["step"] > 0]
    for (method, variant), rows in steps.groupby(["method", "variant"], sort=False):
        excess = rows["excess"].clip(lower=1e-9)
        if method != "FPC":
            right.plot(rows["step"], excess, color=method_colour(method), label="interior point")
            continue
        label = variant.replace("beta", "β").replace("alpha", "α")
        stop = rows[rows["change"] < TOLERANCE].head(1)
        for ax, values, column in ((left, rows["change"], "change"), (right, excess, "excess")):
            (line,) = ax.plot(rows["step"], values, label=label)
            dot = {"color": line.get_color(), "marker": "o", "ms": 7, "mec": "white"}
            ax.plot(stop["step"], stop[column], **dot)
    left.axhline(TOLERANCE, lw=0.9, **GUIDE)
    left.annotate(
        "tolerance 5e-4 ", (1.0, TOLERANCE), xycoords=("axes fraction", "data"), fontsize=7.5,
        color=QUIET, ha="right", va="bottom",
    )  # fmt: skip
    titles = "Squared H-norm of a step", "Loss above its minimum"
    for ax, title in zip((left, right), titles, strict=True):
        ax.set(title=title, xscale="log", yscale="log", xlabel="step k")
        marks.plain_log_ticks(ax.xaxis)
    return figure


@figure("fpc-thm3", "rates", also=RIDGE)
def draw_rates(table):
    """Theorem 3 in numbers: excess error on the toy against the number of rows, with the degree
    that the theorem prescribes for two degrees of smoothness; dashed, its rate. Means over repeats,
    shaded from 20 to 80 %.
    """
    figure, parts = marks.panels(table, "variant", panel=(4.2, 3.3), sharey=True)
    for ax, variant, part in parts:
        for method, rows in ridge_below(part):
            marker = {} if method == "ridge" else {"marker": "o", "ms": 4}
            mean_band(ax, rows, "rows", "excess_error", label=method, **look(method, **marker))
        ax.set(xscale="log", yscale="log", xlabel="training rows m", title=variant.capitalize())
        rate = part.groupby("rows")["rate"].first()
        start = part[part["method"] == "FPC"].groupby("rows")["excess_error"].mean().iloc[0]
        ax.plot(rate.index, rate / rate.iloc[0] * start, label="rate", **GUIDE)
        marks.log_percent(ax.yaxis)
        marks.plain_log_ticks(ax.xaxis)
    parts[0][0].set_ylabel("excess error")
    return figure


@figure("fpc-f2", "margin")
def draw_shrinking_margin(table):
    """Figure 2b of the paper from real fits: on separable rows of the toy the margin of a machine
    without slack shrinks as rows are added, and more and more of them lie near the curve. Medians
    over repeats, shaded from 20 to 80 %.
    """
    figure, axes = new_figure(1, 2, panel=(4.0, 3.0))
    drawn = {
        "margin": ("Width of the margin", -1.0),
        "rows_near": ("Rows within 0.02 of the curve", 1.0),
    }
    for ax, (column, (title, slope)) in zip(axes, drawn.items(), strict=True):
        marks.band(ax, table, "rows", column, color=method_colour("LIBSVM"), marker="o")
        ax.set(title=title, xscale="log", yscale="log", xlabel="training rows")
        marks.slope_guide(ax, slope)
        marks.log_numbers(ax.xaxis)
        marks.log_numbers(ax.yaxis)
    return figure


@figure("fpc-f5", "rows")
def draw_toy(table):
    """Figure 5 of the paper: the toy's training rows (red +1, blue -1), the Bayes curve h, and
    rings around the tenth of the labels that are reversed.
    """
    figure, ax = new_figure(panel=(4.6, 4.2))
    _draw_rows(ax, table["x1"], table["x2"], table["label"], 9)
    wrong = table[table["reversed"] > 0]
    ax.scatter(wrong["x1"], wrong["x2"], s=30, facecolors="none", edgecolors=DARK, lw=0.6)
    return figure


def _draw_rows(ax, x1, x2, labels, size):
    for label, colour in ((-1, BLUE), (1, RED)):
        side = labels == label
        ax.scatter(x1[side], x2[side], s=size, color=colour, linewidths=0, alpha=0.55)
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
        ax.axvline(RECOMMENDED, lw=0.9, label="_recommended", **GUIDE)
        ax.set(xlabel=r"$\gamma$ (tolerance $10^{-\gamma}$)", title=title, yscale="log")
    right.annotate(
        "recommended: 5e-4 ", (RECOMMENDED, 0.95), xycoords=("data", "axes fraction"),
        fontsize=7.5, color=QUIET, ha="right", va="top",
    )  # fmt: skip
    marks.plain_log_ticks(right.yaxis)
    marks.log_percent(left.yaxis)
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
    for exponent, face, offset, style in (
        (3.2, colour, -0.13, "solid"),
        (5.0, "white", 0.13, "--"),
    ):
        rows = table[table["exponent"] == exponent]
        means = rows.groupby("variant")[["test_error", "n_iter"]].mean().loc[readings]
        heights = np.arange(len(readings)) + offset
        ax.scatter(means["test_error"], heights, s=34, facecolors=face, edgecolors=colour, zorder=3)
        for error, height, steps in zip(means["test_error"], heights, means["n_iter"], strict=True):
            ax.annotate(f"{steps:.0f} steps", (error, height), xytext=(6, 0), **said)
        ax.axvline(rows["stated_error"].iloc[0], color=QUIET, lw=0.9, ls=style)
    ax.set_xlabel("test error")
    ax.margins(x=0.12)
    ax.xaxis.set_major_formatter(marks.say_percent)
    marks.name_rows(ax, readings, legend=False)
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
    marks.log_percent(ax.yaxis)
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
        marks.log_percent(ax.yaxis)
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
            X, y, *_ = toy(part["n_train"].iloc[0], part["repeat"].iloc[0], **NOISES[kind])
            _draw_rows(ax, *X.T, y, 3)
            for learnt in ("ridge", "FPC") if method == "FPC" else (method,):
                _draw_boundary(ax, here[here["method"] == learnt], learnt)
            width = NOISES[kind].get("width")
            for side in (-1, 1) if width else ():  # the band that wrong labels lie in, or outside
                edge = fpc_bayes_curve(CURVE) + side * width
                ax.plot(CURVE, edge, color=QUIET, lw=1.0, ls="dotted")
            error = part["test_error"].iloc[0]
            ax.set_title(f"{method}, {kind}: {100 * error:.1f} %", fontsize=8)
            ax.label_outer()
    return figure


def _draw_boundary(ax, part, method):
    broad = {"lw": 6.0, "alpha": 0.45} if method == "ridge" else {"lw": 2.0}
    for _, line in part.groupby("line"):
        ax.plot(line["x1"], line["x2"], color=method_colour(method), **broad)


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
    return figure


@figure("fpc-t2", "accuracy", also=f"{MARKS} {RIDGE}")
def draw_accuracy(table):
    """Table II: test accuracy, means over repeats."""
    theirs = "fpc-t2", "{method} accuracy"
    return draw_methods(table, "test_accuracy", "test accuracy", log=False, theirs=theirs)


@figure("fpc-t7", "accuracy", also=MARKS)
def draw_images(table):
    """Table VII: test accuracy on images by their features, means over repeats."""
    found = published_values("fpc-t7", "{method}").items()
    theirs = {("dogs-vs-cats", row): value for (row, name), value in found if name == "accuracy"}
    return draw_methods(table, "test_accuracy", "test accuracy", log=False, theirs=theirs)


@figure("fpc-t3", "seconds", also=MARKS)
def draw_training(table):
    """Table III: seconds of one training at the parameters that the validation rows chose, on a
    logarithmic axis. The paper's seconds of support vector machines are of the whole search, or
    look like it: divided by its 121 and 1210 settings they are those of one training.
    """
    theirs = "fpc-t3", "{method} training time"
    return draw_methods(table, "fit_seconds", "seconds to train", theirs=theirs)


@figure("fpc-t4", "seconds", also=MARKS)
def draw_testing(table):
    """Table IV: seconds to predict all test rows, on a logarithmic axis. Where the paper prints 0
    there is no stroke.
    """
    theirs = "fpc-t4", "{method} test time"
    return draw_methods(table, "predict_seconds", "seconds to predict", theirs=theirs)


@figure("fpc-t4", "sparsity", also=MARKS)
def draw_sparsity(table):
    """Table IV: support vectors, trees or centres that a prediction depends on."""
    theirs = "fpc-t4", "{method} sparsity"
    figure = draw_methods(table, "sparsity", "support vectors, trees or centres", theirs=theirs)
    marks.log_numbers(figure.axes[0].xaxis)
    return figure


@figure("fpc-t5", "cost", also=RIDGE, study="fpc-t5", number="V")
@figure("fpc-t6", "cost", also=RIDGE, study="fpc-t6", number="VI")
def draw_massive(table, study, **_):
    """Table {number}: seconds and memory of five steps of FPC on generated rows, with as many
    centres as the polynomials have dimensions, and with the paper's number; and, where labelled
    rows are at hand, test accuracy beside the paper's on the whole file (dashed). Peaks are growth
    of the process and depend on what ran before: below some 30 MB they say nothing.
    """
    made = table["dataset"] == "generated"
    figure, axes = new_figure(1, 1 if made.all() else 2, panel=(4.6, 2.4), squeeze=False)
    _draw_cost(axes[0, 0], table[made])
    if not made.all():
        _draw_labelled(axes[0, 1], table[~made], study)
    return figure


def _draw_cost(ax, generated):
    """Seconds to train, and the most memory beyond what was held before there was any data."""
    labels = []
    for row in generated.itertuples():
        label = f"{row.n_centres:.0f} centres" if row.method == "FPC" else row.method
        if np.isfinite(getattr(row, "peak_bytes", np.nan)):
            peak, data = format_bytes(row.peak_bytes), format_bytes(row.data_bytes)
            label += f"\npeak {peak}, data {data}"
        labels.append(label)
    colours = [method_colour(method) for method in generated["method"]]
    ax.barh(range(len(labels)), generated["fit_seconds"], color=colours, height=0.5)
    ax.set_xlabel("seconds to train")
    if len(generated):
        ax.set_title(f"{generated['n_train'].iloc[0]:,} generated rows")
    marks.name_rows(ax, labels, legend=False)


def _draw_labelled(ax, labelled, study):
    names = []
    for row in labelled.itertuples():
        real = row.variant == "the real file" and row.method == "FPC"
        centres = f", {row.n_centres:.0f} centres" if real else ""
        names.append(f"{row.dataset}, {row.method}{centres}")
    colours = [method_colour(method) for method in labelled["method"]]
    ax.scatter(100 * labelled["test_accuracy"], range(len(names)), color=colours, s=40, zorder=3)
    paper = printed(study)["FPC", "accuracy"]
    ax.axvline(paper, lw=0.9, **GUIDE)
    ax.annotate(
        "paper ", (paper, 0.97), xycoords=("data", "axes fraction"), fontsize=7.5, color=QUIET,
        ha="right", va="top",
    )  # fmt: skip
    ax.set(xlabel="test accuracy in percent", title="Labelled rows")
    marks.name_rows(ax, names, legend=False)


@figure("bench-fpc", "seconds")
def draw_bench(table):
    """Left: seconds to train on MAGIC and test accuracy, FPC beside two support vector machines at
    their best parameters. Right: seconds of FPC on generated rows against their number.
    """
    figure, (left, right) = new_figure(1, 2, panel=(4.6, 3.0))
    magic = table[table["dataset"] == "magic"].groupby("method", sort=False)
    seconds, accuracies = magic["fit_seconds"].median(), magic["test_accuracy"].mean()
    heights = range(len(seconds))
    left.scatter(seconds, heights, s=44, color=[method_colour(name) for name in seconds.index])
    above = {"xytext": (0, 7), "textcoords": "offset points", "fontsize": 7.5, "ha": "center"}
    for height, name in enumerate(seconds.index):
        text = f"{seconds[name]:.2g} s, {100 * accuracies[name]:.1f} %"
        left.annotate(text, (seconds[name], height), **above)
    left.set(xscale="log", xlabel="seconds to train", title="MAGIC, 9,510 rows")
    marks.name_rows(left, seconds.index, legend=False)
    left.margins(x=0.2)
    made = table[table["dataset"] == "generated"]
    for (columns, centres), rows in made.groupby(["columns", "centres"], sort=False):
        medians = rows.groupby("rows")["fit_seconds"].median()
        label = f"{columns:.0f} features, {centres:.0f} centres"
        right.plot(medians.index, medians, marker="o", label=label)
    right.set(xscale="log", yscale="log", xlabel="training rows", title="Generated rows")
    right.set_ylabel("seconds")
    if len(made):
        marks.slope_guide(right, 1.0)
    marks.plain_log_ticks(right.xaxis)
    for axis in (left.xaxis, right.yaxis):
        marks.log_numbers(axis)
    return figure
