"""Figures of weak scaling, of what the defaults give, and of memory."""

import numpy as np

from kernlab.lab.plots.marks import ticks_at
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import method_colour, new_figure

POINTS = 0.25  # below the best accuracy of a set, where the shade is darkest


@figure("dask-scaling", "model")
def seconds_by_workers(table):
    """Seconds of a LASN fit against the number of workers. Left: dots are measured on one and
    on two processes of one machine, with as many rows for each; the line comes from fits with a
    third and two thirds of those rows and from the overhead of a reduction, measured by itself.
    Right: what the same model says of many more rows on workers of 64 GB. Features that do not
    fit are formed again in every pass.
    """
    drawn, axes = new_figure(1, 2, panel=(4.5, 3.6))
    is_measured, colour = table["fit_seconds"].notna(), method_colour("LASN")
    for ax, rows in zip(axes, (table[is_measured], table[~is_measured]), strict=True):
        ax.plot(rows["workers"], rows["model_seconds"], color=colour, label="model")
        ax.plot(rows["workers"], rows["fit_seconds"], "o", color=colour, label="measured")
        ax.set(xscale="log", xlabel="workers")
        ticks_at(ax.xaxis, rows["workers"])
        last = rows.iloc[-1]
        ax.set_title(f"{last['rows_in_all']:,.0f} rows, k = {last['landmarks_in_all']:.0f}")
    each = table["rows_in_all"].iloc[0]
    axes[0].set_title(f"{each:,.0f} rows a worker, k = {table['landmarks_in_all'].iloc[0]:.0f}")
    axes[0].set_ylim(bottom=0.0)
    axes[1].set_yscale("log")
    axes[0].set_ylabel("seconds of a fit")
    return drawn


@figure("trust-defaults", "accuracy")
def accuracy_of_defaults(table):
    """Test accuracy in per cent of every machine as it comes, on sets that nobody tuned it for; the
    darker, the farther below the best of the set. A star: it warned, of being no better than a
    linear machine or the most frequent class, or of a kernel that hardly sees other rows. The last
    three are what it is held against.
    """
    methods, sets = (list(dict.fromkeys(table[name])) for name in ("method", "dataset"))
    given = {"index": "dataset", "columns": "method"}
    shares = table.pivot_table(values="test_accuracy", **given).reindex(sets)[methods]
    told = table.assign(told=table["warned"].notna() & (table["warned"] != ""))
    warned = told.pivot_table(values="told", aggfunc="max", **given).reindex(sets)[methods]
    below = np.minimum(shares.max(axis=1).to_numpy()[:, None] - shares.to_numpy(), POINTS)
    drawn, ax = new_figure(panel=(8.4, 0.29 * len(sets) + 0.5))
    ax.imshow(below, cmap="Oranges", vmin=0.0, vmax=1.6 * POINTS, aspect="auto")
    for (i, j), share in np.ndenumerate(shares.to_numpy()):
        star = "*" if warned.iloc[i, j] == 1 else ""
        said = "" if np.isnan(share) else f"{100 * share:.1f}{star}"
        ax.text(j, i, said, ha="center", va="center", fontsize=7.5)
    names = [name.replace(" by cross-validation", "=cv") for name in methods]
    ax.set_xticks(range(len(methods)), names, fontsize=7, rotation=35, ha="left")
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(sets)), sets, fontsize=8)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return drawn


@figure("trust-memory", "growth")
def growth_and_promise(table):
    """What the process of a fit grew by, beside the memory that it was allowed: a panel for each
    limit, a row for each machine, a dot for each kind of rows. Hollow: the fit was refused
    beforehand, with its arithmetic. The line is 1.1 times the limit and 50 MB: a dot to the right
    of it is a promise that was broken.
    """
    limits = sorted(dict.fromkeys(table["promise_bytes"]))
    methods = list(dict.fromkeys(table["method"]))
    drawn, axes = new_figure(1, len(limits), panel=(3.1, 0.34 * len(methods) + 0.9), sharey=True)
    for ax, limit in zip(np.atleast_1d(axes), limits, strict=True):
        rows = table[table["promise_bytes"] == limit]
        for refused, part in rows.groupby(rows["is_refused"].astype(str) == "True"):
            place, colours = part["method"].map(methods.index), part["method"].map(method_colour)
            face = "none" if refused else colours
            ax.scatter(part["grown_bytes"] / 1e6, place, s=22, facecolors=face, edgecolors=colours)
        ax.axvline(1.1 * limit / 1e6 + 50, color="#222222", lw=1.0)
        ax.set(title=f"allowed {limit / 1e6:.0f} MB", xlabel="growth in MB", xlim=(0, None))
        ax.set_yticks(range(len(methods)), methods, fontsize=8)
    np.atleast_1d(axes)[0].invert_yaxis()
    return drawn
