"""FPC's propositions and theorems drawn: ranks, duality, convergence, rates, margins."""


from kernlab.lab.papers.fpc.figures.axes import RIDGE, look, mean_band, ridge_below
from kernlab.lab.plots import marks
from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, DARK, QUIET, RED, method_colour, new_figure

TOLERANCE = 5e-4  # that FPC stops at
GUIDE = {"color": QUIET, "ls": (0, (4, 3))}


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
        label_lines(ax)
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
    for ax, *_ in parts:
        label_lines(ax)
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
