"""Figures of the studies across papers."""

from itertools import cycle

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from kernlab.approximations import APPROXIMATIONS
from kernlab.lab.papers.across import protocol
from kernlab.lab.papers.across.algebra import reason
from kernlab.lab.papers.across.choosing import ALLOWED, beside_showdown
from kernlab.lab.papers.across.contestants import CONTESTANTS
from kernlab.lab.papers.across.costs import MEMORY_FACTOR, TIME_FACTOR, exponents
from kernlab.lab.papers.across.errata import CORRECTED, ERRATA, PRINTED
from kernlab.lab.papers.across.protocol import CLOSE
from kernlab.lab.papers.across.strengths import PROPERTIES
from kernlab.lab.plots.labels import label_lines, spread
from kernlab.lab.plots.marks import (
    dots,
    log_percent,
    name_rows,
    panels,
    plain_log_ticks,
    say_percent,
    ticks_at,
)
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, new_figure, text_colour
from kernlab.solvers import SOLVERS

BUDGETS = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])  # seconds of training
PROTOCOL = (
    "For every method hyper-parameters were searched on the same part of the training rows, with "
    "the same number of settings, and one machine was then fitted to all training rows; its dial "
    "(landmarks, components, trees, degree, share of the rows, ...) gives its points."
)
CENTRED = {"ha": "center", "va": "center"}
_MARKS = {"paper": "o", "kernel": "s", "linear": "D", "trees": "^", "null": "x"}
KINDS = {
    "paper": "the papers' machines",
    "kernel": "other kernel machines",
    "linear": "linear, and several of them",
    "trees": "trees",
    "null": "null rows",
}


def front(rows, cost):
    """The rows that no other beats in both error and cost, from the cheapest on."""
    ordered = rows.sort_values([cost, "error"])
    return ordered[ordered["error"] < ordered["error"].cummin().shift(fill_value=np.inf)]


@figure("showdown", "fronts", also=PROTOCOL)
def draw_times(table):
    """Test error against training time, a panel for each set, both axes logarithmic: medians over
    the repeats, with a stroke from the least error to the greatest. Broad grey: the front of all
    methods, with the name of each where it joins the front. The lower left is better.
    """
    return draw_fronts(table, "fit_seconds", "training seconds")


@figure("showdown", "prediction", also=PROTOCOL)
def draw_predictions(table):
    """Test error against the time of predicting a row. Machines with the exact kernel pay for each
    support vector, trees for each tree, and maps for each landmark.
    """
    return draw_fronts(table, "predict_microseconds_per_row", "microseconds per predicted row")


@figure("showdown", "memory", also=PROTOCOL)
def draw_sizes(table):
    """Test error against the size of the trained machine, as stored."""
    table = table.assign(model_bytes=table["model_bytes"] / 1e6)
    return draw_fronts(table, "model_bytes", "megabytes")


def draw_fronts(table, cost, xlabel, methods=None):
    """A panel for each set: test error against a cost, a colour for each method.

    Parameters
    ----------
    table : DataFrame
        Finished rows of the study.
    cost : str
        A column.
    xlabel : str
    methods : sequence of str, optional
        Those shown; all by default.
    """
    settings = protocol.settings_of(table).dropna(subset=["error", cost])
    settings = settings[settings[cost] > 0]
    shown = [m for m in CONTESTANTS if m in set(settings["method"]) and m in (methods or m)]
    settings = settings[settings["method"].isin(shown)]
    names = list(dict.fromkeys(settings["dataset"]))
    columns = min(4, len(names) + 1)
    columns += (len(names) + 1) % columns == 1  # or the key alone would have a row
    n_rows = -(-(len(names) + 1) // columns)
    figure, axes = new_figure(n_rows, columns, panel=(3.5, 2.9), squeeze=False)
    for ax, name in zip(axes.flat, names, strict=False):
        rows = settings[settings["dataset"] == name]
        for method in shown:
            own = rows[rows["method"] == method]
            if len(own):
                _draw_method(ax, front(own, cost), own, cost, method)
        ax.set(xscale="log", yscale="log", title=name)
        _draw_best(ax, front(rows, cost), cost)
        ax.yaxis.set_major_formatter(say_percent)
        ax.yaxis.set_minor_formatter(_percent_of_few)
        ax.tick_params(axis="y", which="minor", labelsize=7)
        ax.xaxis.set_minor_formatter(NullFormatter())
    for ax in axes[:, 0]:
        ax.set_ylabel("test error")
    for ax in axes.flat[max(0, len(names) - columns) : len(names)]:
        ax.set_xlabel(xlabel)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    _draw_key(axes.flat[len(names)], shown)
    return figure


def _draw_method(ax, best, own, cost, method):
    colour, mark = method_colour(method), _MARKS[CONTESTANTS[method].kind]
    ax.plot(best[cost], best["error"], color=colour, lw=1.0, alpha=0.8, zorder=2)
    edge = {} if mark == "x" else {"edgecolor": "white", "linewidth": 0.4}
    ax.vlines(own[cost], own["least"], own["most"], color=colour, lw=0.8, alpha=0.6, zorder=2)
    ax.scatter(own[cost], own["error"], s=16, marker=mark, color=colour, zorder=3, **edge)


def _draw_best(ax, best, cost):
    """The front of all methods, with the name of each left of where it first stands on it."""
    ax.step(best[cost], best["error"], where="post", color="#DDDDDD", lw=5, zorder=1)
    left, right = ax.get_xlim()
    ax.set_xlim(left * (left / right) ** 0.3, right)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom * (bottom / top) ** 0.12, top)
    first = best.drop_duplicates("method").iloc[::-1]
    points = ax.transData.transform(first[[cost, "error"]].to_numpy())
    points = ax.transAxes.inverted().transform(points)
    levels = spread(points[:, 1] - 0.04, 0.062, 0.02, 0.95)
    for method, (x, y), level in zip(first["method"], points, levels, strict=True):
        colour = method_colour(method)
        ax.annotate(
            method, (x, y), xytext=(x - 0.035, min(level, y)), xycoords="axes fraction",
            ha="right", va="center", fontsize=6.3, color=text_colour(colour), zorder=4,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.5, "shrinkA": 0, "shrinkB": 2},
        )  # fmt: skip


def _draw_key(ax, shown):
    handles = []
    for kind, title in KINDS.items():
        own = [m for m in shown if CONTESTANTS[m].kind == kind]
        if own:
            handles.append(Line2D([], [], ls="", label=title))
        handles += [
            Line2D([], [], color=method_colour(m), marker=_MARKS[kind], ms=4.5, lw=1.0, label=m)
            for m in own
        ]
    legend = ax.legend(handles=handles, loc="upper left", fontsize=6.5, ncols=2,
                       handlelength=1.6, borderaxespad=0.0, columnspacing=1.0)  # fmt: skip
    for text in legend.get_texts():
        if text.get_text() in KINDS.values():
            text.set(color=QUIET, style="italic")


def _percent_of_few(value, _=None):
    """Minor ticks at 2 and 5 of each decade."""
    digit = round(value / 10 ** np.floor(np.log10(value)))
    return say_percent(value) if digit in (2, 5) else ""


@figure("showdown", "pooled", point=f"{100 * CLOSE:g}")
def draw_pooled(table, **_):
    """All sets together. Left, the training seconds after which a method has an error at most
    {point} point above that of the best kernel machine on the set: a dot for each set, a stroke at
    the median over all sets, where it is finite, and on how many sets the method comes so close at
    all. Right, the least error that a method has within so many training seconds, in points above
    the best kernel machine: the median over sets; a line begins where the method has trained on
    half of them.
    """
    near = protocol.seconds_to_come_close(table)
    reached, middle = np.isfinite(near).sum(axis=1), near.median(axis=1)
    finite = np.isfinite(middle)
    order = sorted(near.index, key=lambda m: (-1e3 if finite[m] else -reached[m], middle[m]))
    figure, (left, right) = new_figure(1, 2, panel=(5.4, 0.22 * len(order) + 1.4))
    beside = {"fontsize": 7.5, "va": "center", "color": QUIET}
    for height, method in enumerate(order):
        values, colour = near.loc[method], method_colour(method)
        met = values[np.isfinite(values)]
        left.scatter(met, [height] * len(met), s=10, color=colour, alpha=0.5)
        if finite[method]:
            left.plot(middle[method], height, "|", color=colour, ms=13, mew=2.5)
        told = f"{reached[method]} of {len(values)}"
        left.text(1.02, height, told, transform=left.get_yaxis_transform(), **beside)
    name_rows(left, order, legend=False)
    far = 1.6 * near.to_numpy()[np.isfinite(near)].max() if reached.any() else 1.0
    left.set(xscale="log", title="Time to the same error")
    left.set_xlim(right=far)
    left.set_xlabel(f"training seconds to within {100 * CLOSE:g} point of the best kernel machine")
    excess = {T: protocol.excess_at(table, T).median(axis=1) for T in BUDGETS}
    for method in near.index:
        line = np.array([excess[T].get(method, np.inf) for T in BUDGETS])
        if np.isfinite(line).any():
            look = {"color": method_colour(method), "label": method, "lw": 1.3}
            shown = np.where(np.isfinite(line), 100 * line, np.nan)
            right.plot(BUDGETS, shown, marker="o", ms=3, **look)
    right.axhline(0.0, color=QUIET, lw=0.8)
    right.set(xscale="log", xlabel="training seconds allowed", title="Error at equal time")
    right.set_yscale("symlog", linthresh=1.0)
    right.set_ylim(bottom=min(-0.3, 1.2 * right.dataLim.y0))
    right.yaxis.set_major_formatter("{x:g}")
    plain_log_ticks(right.xaxis)
    right.set_ylabel("points above the best kernel machine (median)")
    label_lines(right, fontsize=7.0)
    return figure


@figure("showdown", "errors")
def draw_errors(table):
    """The least test error of each method on each set over its dial, the training seconds of that
    machine, and half the range of its error over the repeats; bold is the best of all. Colours give
    the distance to the best kernel machine: blue is below it, red above. A dash: no fit within the
    cap.
    """
    settings = protocol.settings_of(table).dropna(subset="error")
    names = list(dict.fromkeys(settings["dataset"]))
    methods = [m for m in CONTESTANTS if m in set(settings["method"])]
    best, least = protocol.best_kernel_error(settings), settings.groupby("dataset")["error"].min()
    figure, ax = new_figure(panel=(0.92 * max(3, len(names)) + 2.0, 0.36 * len(methods) + 1.0))
    shade = np.full((len(methods), len(names)), np.nan)
    for (i, j), _ in np.ndenumerate(shade):
        name = names[j]
        rows = settings[(settings["method"] == methods[i]) & (settings["dataset"] == name)]
        if rows.empty:
            ax.text(j, i, "–", color=QUIET, **CENTRED)
            continue
        row = rows.loc[rows["error"].idxmin()]
        weight = "bold" if row["error"] <= least[name] else "normal"
        shade[i, j] = 100 * (row["error"] - best.get(name, np.nan))
        error, seconds = f"{100 * row['error']:.1f} %", f"{row['fit_seconds']:.2g} s"
        if row["most"] > row["least"]:
            seconds += f", ±{50 * (row['most'] - row['least']):.1f}"
        ax.text(j, i - 0.14, error, fontsize=8, weight=weight, **CENTRED)
        ax.text(j, i + 0.24, seconds, fontsize=6, color="#444444", **CENTRED)
    mesh = ax.imshow(shade, cmap="RdBu_r", vmin=-5, vmax=5, alpha=0.6, aspect="auto")
    bar = figure.colorbar(mesh, ax=ax, pad=0.02, aspect=30)
    bar.set_label("points above the best kernel machine")
    bar.outline.set_visible(False)
    ax.set_xticks(range(len(names)), names, rotation=25, ha="left")
    ax.set_yticks(range(len(methods)), methods)
    ax.xaxis.tick_top()
    _bare(ax)
    return figure


def _bare(ax):
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)


@figure("strengths", "properties")
def draw_strengths(table):
    """What decides, one property of the rows at a time while nothing else changes: the test error,
    the mean of both classes'. Medians over the repeats, with strokes from the least to the
    greatest. Turned, a box is another to cuts along features and the same to distances; beside
    irrelevant features it is the other way round.
    """
    figure, parts = panels(table, "variant", panel=(3.4, 3.0), across=3)
    for ax, name, rows in parts:
        one = PROPERTIES[name]
        places = {value: place for place, value in enumerate(sorted(rows["value"].unique()))}
        for method, own in rows.groupby("method", sort=False):
            errors = own.groupby("value")["balanced_error"]
            x, colour = [places[value] for value in errors.groups], method_colour(method)
            ax.vlines(x, errors.min(), errors.max(), color=colour, lw=0.8, alpha=0.6)
            look = {"marker": "o", "ms": 3.5, "lw": 1.3, "color": colour}
            ax.plot(x, errors.median(), label=method, **look)
        ticks = [f"{value:g}" for value in places]
        ax.set_xticks(range(len(places)), ticks)
        ax.set(title=name, xlabel=one.axis, yscale="log")
        log_percent(ax.yaxis)
        label_lines(ax, fontsize=7.0)
    return figure


@figure("algebra", "pairs")
def draw_algebra(table):
    """Every approximation of the kernel matrix (rows) with every solver (columns, with the loss
    that it is given): test error, below it the time that the solver took and its relative duality
    gap. Pairs that cannot work together say what the approximation does not offer. Solvers of one
    problem agree along a row, whatever they cost.
    """
    rows, columns = list(APPROXIMATIONS), list(SOLVERS)
    losses = [f"{name}\n{SOLVERS[name].losses[0].replace('_', ' ')}" for name in columns]
    figure, parts = panels(table, "dataset", panel=(9.6, 4.0), across=1)
    for ax, name, part in parts:
        own = part.set_index(["approximation", "solver"])
        shade = np.full((len(rows), len(columns)), np.nan)
        for (i, j), _ in np.ndenumerate(shade):
            _draw_pair(ax, i, j, own, rows[i], columns[j], shade)
        best, worst = np.nanmin(shade), np.nanmax(shade)
        look = {"vmin": best, "vmax": worst + 0.5 * (worst - best) + 1e-9, "alpha": 0.7}
        ax.imshow(shade, cmap="Blues", aspect="auto", **look)
        ax.set_xticks(range(len(columns)), losses, fontsize=7)
        ax.set_yticks(range(len(rows)), rows)
        ax.set_title(name)
        _bare(ax)
    return figure


def _draw_pair(ax, i, j, own, approximation, solver, shade):
    if (approximation, solver) not in own.index:
        told = reason(approximation, solver) or "not run"
        ax.text(j, i, told, color=QUIET, fontsize=7, style="italic", **CENTRED)
        return
    row = own.loc[[(approximation, solver)]].iloc[0]
    shade[i, j] = row["error"]
    ax.text(j, i - 0.18, f"{100 * row['error']:.1f} %", fontsize=8.5, **CENTRED)
    spent = row["solve_seconds"]
    seconds = f"{spent:.2g} s" if spent >= 0.1 else f"{1e3 * spent:.2g} ms"
    unknown = "no bound" if str(row["converged"]) == "True" else "not converged"
    gap = unknown if np.isnan(row["gap"]) else f"gap {max(row['gap'], 1e-16):.0e}"
    ax.text(j, i + 0.22, f"{seconds}, {gap}", fontsize=5.8, color="#444444", **CENTRED)


@figure("scaling", "growth")
def draw_scaling(table):
    """Training time on a checkerboard against the number of rows, and at a fixed number of rows
    against the number of landmarks or random features; both axes logarithmic. Beside each line the
    power with which it grows over the upper half of its sizes, with its standard error. A line ends
    before a fit would pass the cap.
    """
    grown = exponents(table).set_index(["variant", "method"])
    axis = {"rows": ("size", "training rows n")}
    axis["landmarks"] = ("dial", "landmarks or components k")
    table = table.sort_values("variant", ascending=False, kind="stable")
    figure, parts = panels(table, "variant", panel=(5.6, 4.6))
    for ax, variant, part in parts:
        x, xlabel = axis[variant]
        for method, rows in part.groupby("method", sort=False):
            power, error = grown.loc[(variant, method), ["exponent", "standard_error"]]
            within = "" if np.isnan(error) else f" \u00b1 {error:.2f}"
            label = method if np.isnan(power) else f"{method}: {power:.2f}{within}"
            means = rows.groupby(x)["fit_seconds"].median()
            look = {"marker": "o", "ms": 3.5, "lw": 1.3, "color": method_colour(method)}
            ax.plot(means.index, means, label=label, **look)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="training seconds")
        plain_log_ticks(ax.xaxis)
        label_lines(ax, fontsize=7.5)
    return figure


@figure("costs", "predictions", time=f"{TIME_FACTOR:g}", memory=f"{MEMORY_FACTOR:g}")
def draw_costs(table, **_):
    """What was predicted before a fit beside what the fit took, a dot for each: its seconds, and
    the bytes by which memory grew. Predictions are right on the solid line; between the dashed ones
    they are within a factor of {time} of the seconds and {memory} of the bytes. Above each panel
    stands how many of the fits lie there.
    """
    figure, axes = new_figure(1, 2, panel=(4.6, 4.0))
    shown = ("seconds", TIME_FACTOR, 1.0, "s"), ("bytes", MEMORY_FACTOR, 1e6, "MB")
    for ax, (what, factor, unit, say) in zip(axes, shown, strict=True):
        marks = zip(cycle("o^sDvPX"), table.groupby("method", sort=False))
        for mark, (method, rows) in marks:  # some pairs have no colour of their own
            look = {"color": method_colour(method), "label": method, "marker": mark, "s": 18}
            ax.scatter(rows[f"predicted_{what}"] / unit, rows[f"fit_{what}"] / unit, **look)
        ends = table[[f"predicted_{what}", f"fit_{what}"]].to_numpy() / unit
        ends = np.array([ends[ends > 0].min(), ends.max()])
        for times, style in ((1.0, "-"), (factor, "--"), (1.0 / factor, "--")):
            ax.plot(ends, times * ends, color=QUIET, lw=0.8, ls=style, zorder=1)
        off = np.log(table[f"fit_{what}"] / table[f"predicted_{what}"]).abs()
        near = f"{(off <= np.log(factor)).sum()} of {len(table)} within a factor of {factor:g}"
        ax.set(xscale="log", yscale="log", title=near)
        ax.set(xlabel=f"predicted {say}", ylabel=f"measured {say}")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handletextpad=0.2)
    return figure


@figure("recommended", "errors", allowed=f"{100 * ALLOWED:g}")
def draw_recommended(table, **_):
    """The test error of the machine that `recommend` found within its budget, beside the least
    error of any kernel machine in the showdown on the same rows, and of any method at all. Right,
    what it took, and how far it is from the best kernel machine in points; at most {allowed} are
    wanted. No stroke: the set is not among the showdown's on record.
    """
    told = beside_showdown(table)
    figure, ax = new_figure(panel=(6.4, 0.34 * len(told) + 1.2))
    look = {"marker": "|", "s": 130, "linewidths": 2.2}
    looks = {
        "best of all": look | {"color": "#AAAAAA"},
        "best kernel machine": look | {"color": BLUE},
        "recommend": {"color": RED, "s": 34},
    }
    columns = dict(zip(looks, ("best", "best_kernel", "error"), strict=True))
    found = {
        row["dataset"]: {label: row[c] for label, c in columns.items() if row[c] == row[c]}
        for _, row in told.iterrows()
    }
    dots(ax, found, looks, legend=False)
    for height, row in told.iterrows():
        more = 100 * (row["error"] - row["best_kernel"])
        text = f"{row['fit_seconds']:.0f} s" + ("" if np.isnan(more) else f", {more:+.2f} points")
        place = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 8}
        ax.text(1.02, height, text, color=RED if more > 100 * ALLOWED else QUIET, **place)
    ax.set_xlabel("test error")
    ax.set_xscale("symlog", linthresh=0.01)
    ends = ax.get_xlim()
    shown = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
    ticks_at(ax.xaxis, [tick for tick in shown if tick <= ends[1]], say_percent)
    ax.set_xlim(-5e-4, ends[1])
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2)
    return figure


@figure("errata", "differences")
def draw_errata(table):
    """What the papers' misprints would cost: each formula run as it is printed (red, dashed) and as
    it is meant (blue). Dotted: the value that the paper prints.
    """
    places = {name: place for place, name in enumerate(ERRATA)}
    table = table.sort_values("method", key=lambda names: names.map(places), kind="stable")
    figure, parts = panels(table, "method", panel=(3.1, 2.9), across=5)
    for ax, name, rows in parts:
        _draw_erratum(ax, ERRATA[name], rows)
    return figure


def _draw_erratum(ax, erratum, rows):
    forms = (PRINTED, RED, erratum.printed, "--"), (CORRECTED, BLUE, erratum.corrected, "-")
    for place, (variant, colour, formula, style) in enumerate(forms):
        own = rows[rows["variant"] == variant].sort_values("x")
        if erratum.axis:
            marks = {"marker": "o", "ms": 3 if len(own) < 12 else 0, "ls": style, "lw": 1.5}
            ax.plot(own["x"], own["value"], color=colour, **marks)
        else:
            ax.bar(place, own["value"], color=colour, width=0.6)
        told = {"color": text_colour(colour), "fontsize": 7.5, "transform": ax.transAxes}
        ax.text(0.0, 1.14 - 0.1 * place, f"{variant}: {formula}", **told)
    if erratum.published is not None:
        ax.axhline(erratum.published, color=DARK, lw=1.0, ls=":")
        ax.text(0.5, erratum.published, "published", fontsize=7, ha="center", va="bottom")
    if not erratum.axis:
        ax.set_xticks((0, 1), (PRINTED, CORRECTED))
    ax.set_title(erratum.where, pad=38)
    ax.set(xlabel=erratum.axis, ylabel=erratum.quantity, yscale="log" if erratum.log else "linear")
    if "error" in erratum.quantity or "accuracy" in erratum.quantity:
        ax.yaxis.set_major_formatter(say_percent)
