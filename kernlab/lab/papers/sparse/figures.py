"""Figures of the sparse Cholesky thesis' studies."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import PercentFormatter

from kernlab.lab.papers.sparse.suited import SUITED, losses
from kernlab.lab.plots import marks, style
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, DARK, GREEN, QUIET, RED, YELLOW

CLASSES = (BLUE, RED, YELLOW)


@figure("sparse-margin", "lines")
def draw_margins(table):
    """The margin of a linear support vector machine, from real fits. Left: two clouds that a line
    separates; the widest margin (dashed) is held by the few ringed support vectors. Middle and
    right: clouds that overlap, with a small and a large C; the smaller C buys a wider margin with
    more rows inside it, all of which become support vectors.
    """
    figure, parts = marks.panels(table, "variant", panel=(3.7, 2.6), sharex=True, sharey=True)
    limits = [(table[x].min() - 0.4, table[x].max() + 0.4) for x in ("x1", "x2")]
    for ax, case, rows in parts:
        first = rows.iloc[0]
        for level, line in ((-1.0, "dashed"), (0.0, "solid"), (1.0, "dashed")):
            _draw_line(ax, first, level, ls=line, zorder=2)
        _draw_classes(ax, rows, s=16, linewidths=0.4)
        supports = rows[rows["dual"] > 1e-9 * rows["C"]]
        rings = {"facecolors": "none", "edgecolors": DARK, "lw": 0.8}
        ax.scatter(supports["x1"], supports["x2"], s=44, **rings)
        ax.set_title(f"{case.capitalize()}: C = {first['C']:g}, width {first['width']:.2f}")
        ax.set(xlim=limits[0], ylim=limits[1], xlabel="$x_1$", aspect="equal")
    parts[0][0].set_ylabel("$x_2$")
    return figure


def _draw_line(ax, row, level=0.0, **look):
    """The line on which w . x + b has this value."""
    w = row[["w1", "w2"]].to_numpy(float)
    foot = w * (level - row["b"]) / (w @ w)
    along = 50 * np.array([-w[1], w[0]]) / np.hypot(*w)
    ax.plot(*np.array([foot - along, foot + along]).T, color=DARK, lw=1.0, **look)


def _draw_classes(ax, rows, **look):
    for label, colour in ((-1, BLUE), (1, RED)):
        side = rows[rows["label"] == label]
        ax.scatter(side["x1"], side["x2"], color=colour, zorder=3, **look)


@figure("sparse-shatter", "labellings")
def draw_shattering(table):
    """Figure 4 in full: all labellings of a few points in the plane, up to exchanging the classes,
    with a separating line where there is one. Three points in general position are shattered, four
    never are: the VC dimension of lines is three.
    """
    cases = list(table.groupby("variant", sort=False))
    most = int(table["labelling"].max()) + 1
    figure, axes = style.new_figure(len(cases), most, panel=(1.15, 1.2), squeeze=False)
    for line, (case, rows) in zip(axes, cases, strict=True):
        for ax in line:
            ax.set_axis_off()
        for number, part in rows.groupby("labelling"):
            _draw_labelling(line[int(number)], part)
        line[0].set_title(case, fontsize=8, loc="left")
    return figure


def _draw_labelling(ax, rows):
    ax.set_axis_on()
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
    ax.spines[:].set(visible=True, color="#BBBBBB", linewidth=0.8)
    ax.grid(False)
    _draw_classes(ax, rows, s=26, clip_on=False)
    first = rows.iloc[0]
    if not first["separable"]:
        ax.set_facecolor("#f2e3e0")
        ax.text(0.04, 0.96, "no line", ha="left", va="top", fontsize=7, color="#7A1F0F")
    elif first[["w1", "w2"]].any():  # of equal labels any line far away will do
        _draw_line(ax, first)


@figure("sparse-l31", "limits")
def draw_limits(table):
    r"""Lemma 3.1 in numbers: how far the sparse kernel matrix is from the Gaussian one (red) and
    from the identity (blue), in the Frobenius norm, relative to either, against $\alpha$ in units
    of $1/\sigma$. Both limits are reached, but the thesis' $\alpha = 1/(3\sigma)$ (dashed) is near
    neither. Equal rows keep their entries at any $\alpha$.
    """
    figure, parts = marks.panels(table, "dataset", sharey=True)
    lines = {
        "to_gaussian": {"label": "from the Gaussian matrix", "color": RED},
        "to_identity": {"label": "from the identity", "color": BLUE},
        "sparsity": {"label": "zeros", "color": QUIET, "ls": "dotted"},
    }
    for ax, name, rows in parts:
        rows = rows.sort_values("alpha_sigma")
        for column, look in lines.items():
            ax.plot(rows["alpha_sigma"], rows[column], **look)
        ax.axvline(1 / 3, color=DARK, lw=0.8, ls="dashed", zorder=1)
        ax.annotate(r"  $\alpha = 1/(3\sigma)$", (1 / 3, 1.18), fontsize=7.5, color=DARK)
        ax.set(xscale="log", ylim=(-0.03, 1.25), title=name, xlabel=r"$\alpha\sigma$")
    parts[0][0].set_ylabel("relative distance, and share of zeros")
    return figure


@figure("sparse-l33", "radii")
def draw_radii(table):
    """Lemma 3.3 in numbers: the Gershgorin radius of every row, sorted by that of the Gaussian
    matrix (black); the sparse matrix' (green) is smaller in each. Only where it is below 1 (dashed)
    do the circles prove the matrix positive definite; the smallest eigenvalue in the titles is
    positive all the same, by Askey's theorem.
    """
    rows = table[table["dataset"] == table["dataset"].iloc[0]].sort_values("sigma_factor")
    figure, parts = marks.panels(rows, "sigma_factor", panel=(3.5, 3.0))
    for ax, _, part in parts:
        part = part.sort_values("place")
        ax.plot(part["place"], part["gaussian"], color=DARK, label="Gaussian")
        ax.plot(part["place"], part["compact"], color=GREEN, lw=0.9, label="sparse")
        ax.axhline(1.0, color=QUIET, lw=0.8, ls="dashed")
        sigma, smallest = part.iloc[0][["sigma", "smallest_eigenvalue"]]
        ax.set_title(f"$\\sigma$ = {sigma:.3g}: $\\lambda_{{min}}$ = {smallest:.2g}")
        ax.set(xlabel="rows, by Gaussian radius", yscale="log")
        ax.xaxis.set_major_formatter(PercentFormatter(1.0))
    parts[0][0].set_ylabel("Gershgorin radius")
    return figure


@figure("sparse-e41", "trade-off")
def draw_trade_off(table):
    r"""Equations 39 to 41: similarity to the Gaussian matrix and share of zeros against $\alpha$,
    and the $\alpha$ that three rules choose: the trade-off with $\beta = 1$, the thesis'
    $1/(3\sigma)$, and the first quartile of the distances.
    """
    figure, parts = marks.panels(table, "dataset", panel=(4.8, 3.4), sharey=True)
    rules = {
        "alpha_at_beta_1": r"$\beta$ = 1",
        "alpha_of_thesis": r"$1/(3\sigma)$",
        "alpha_of_quartile": "first quartile",
    }
    for ax, name, rows in parts:
        rows = rows.sort_values("alpha")
        ax.plot(rows["alpha"], rows["similarity"], color=RED, label="similarity A")
        ax.plot(rows["alpha"], rows["sparsity"], color=BLUE, label="sparsity S")
        both = rows["similarity"] + rows["sparsity"]
        ax.plot(rows["alpha"], both / 2, color=DARK, ls="dotted", label="(A + S) / 2")
        found = sorted((rows[column].iloc[0], text) for column, text in rules.items())
        for rank, (alpha, text) in enumerate(found):
            # The smallest is named on its left, the others on their right, one above the other.
            ax.axvline(alpha, color=QUIET, lw=0.8, ls="dashed", zorder=1)
            ax.annotate(
                f"{text}: {alpha:.3g}", (alpha, 1.06 + 0.08 * rank), fontsize=7.5,
                xytext=(5 if rank else -5, 0), textcoords="offset points",
                ha="left" if rank else "right",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        ax.set(xscale="log", ylim=(-0.03, 1.3), title=name, xlabel=r"$\alpha$")
    parts[0][0].set_ylabel("similarity, and share of zeros")
    return figure


@figure("sparse-f3", "fill-in")
def draw_fill(table):
    """Figure 3 and real kernel matrices: each matrix in the order named (blue) and its Cholesky
    factor (red), a pixel per block, darker where it is fuller. The arrowhead fills up entirely in
    its own order and not at all with AMD. Kernel matrices, of real rows and of a Swiss roll, fill
    in whatever the order, but far less with a good one: rows that are near each other then stand
    beside each other.
    """
    cases = list(table.groupby(["dataset", "method"], sort=False))
    across = min(4, len(cases))  # so that those of one matrix can be compared
    figure, axes = style.new_figure(
        2 * -(-len(cases) // across), across, panel=(2.5, 2.7), squeeze=False
    )
    for ax in axes.ravel():
        ax.set_axis_off()
    for place, ((name, method), rows) in enumerate(cases):
        line, column = 2 * (place // across), place % across
        axes[line, column].set_title(f"{name}, {method}", fontsize=9)
        for ax, picture in zip(axes[line : line + 2, column], ("matrix", "factor"), strict=True):
            ax.set_axis_on()
            _draw_picture(ax, rows, picture)
            if column == 0:
                ax.set_ylabel(picture)
    return figure


def _draw_picture(ax, rows, picture):
    part = rows[rows["picture"] == picture]
    side = int(part[["block_row", "block_column"]].max().max()) + 1
    shares = np.zeros((side, side))
    shares[part["block_row"].astype(int), part["block_column"].astype(int)] = part["share"]
    fading = LinearSegmentedColormap.from_list(
        "entries", ["#ffffff", BLUE if picture == "matrix" else RED]
    )
    shade = np.where(shares > 0, 0.3 + 0.7 * np.sqrt(shares.clip(max=1.0)), 0.0)
    ax.imshow(shade, cmap=fading, vmin=0, vmax=1, interpolation="nearest")
    ax.grid(False)
    ax.spines[["top", "right"]].set_visible(True)
    ax.set(xticks=[], yticks=[])
    entries, n = part[f"entries_of_{picture}"].iloc[0], part["n_train"].iloc[0]
    ax.set_xlabel(f"{entries:,.0f} entries, {entries / n**2:.1%} of $n^2$", fontsize=7.5)


@figure("sparse-f5", "roll")
def draw_roll(table):
    """Figure 5: the Swiss roll with its three classes, in space and unrolled. The classes alternate
    along the roll, so that no plane separates them.
    """
    figure, axes = style.new_figure(1, 2, panel=(4.4, 3.6), width_ratios=[1.15, 1])
    place = axes[0].get_subplotspec()
    figure.delaxes(axes[0])
    space = figure.add_subplot(place, projection="3d")
    for label, rows in table.groupby("label"):
        look = {"color": CLASSES[int(label)], "linewidths": 0}
        space.scatter(rows["x1"], rows["x3"], rows["x2"], s=4, **look)
        axes[1].scatter(rows["t"], rows["x2"], s=5, label=f"class {label:.0f}", **look)
    space.view_init(elev=40, azim=-72)
    space.set_box_aspect((1, 1, 0.7), zoom=1.15)
    space.set_title("in space", loc="left")
    space.tick_params(labelsize=6, pad=-2)
    axes[1].set(xlabel="along the roll", ylabel="height", title="unrolled")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), markerscale=2)
    return figure


@figure("sparse-f6", "sigma")
def draw_against_sigma(table):
    r"""Figure 6: test accuracy of the sparse and of the Gaussian kernel against $\sigma$ (left;
    dotted, the sparse kernel by cross-validation on training rows alone), and the share of zeros in
    the kernel matrix and in its factor (right).
    """
    figure, (left, right) = style.new_figure(1, 2, panel=(4.6, 3.4), sharex=True)
    table = table.sort_values("sigma", kind="stable")
    dots = {"marker": "o", "ms": 3.5}
    green = {"color": style.method_colour("SparseCholeskySVC")}
    sparse = table[table["method"] == "SparseCholeskySVC"]
    names = {"SparseCholeskySVC": "sparse", "LIBSVM": "Gaussian (LIBSVM)"}
    for method, label in names.items():
        rows = table[table["method"] == method]
        look = dots | {"color": style.method_colour(method), "label": label}
        left.plot(rows["sigma"], rows["test_accuracy"], **look)
    left.plot(
        sparse["sigma"], sparse["cv_accuracy"], ls="dotted", label="sparse, held out", **green
    )
    right.plot(sparse["sigma"], sparse["sparsity"], label="K", **dots, **green)
    right.plot(sparse["sigma"], sparse["factor_sparsity"], color=RED, label="L", **dots)
    left.set(ylabel="test accuracy", title=f"{table['dataset'].iloc[0]}: accuracy")
    right.set(title="zeros in the kernel matrix and its factor")
    for ax in (left, right):
        ax.set(xscale="log", xlabel=r"$\sigma$")
        marks.ticks_at(ax.xaxis, sorted(table["sigma"].unique()))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return figure


@figure("sparse-t2", "time")
def draw_table(table):
    """Table 2 measured: test error against seconds to train, for both paths of the sparse kernel at
    each exponent l (the number in its dot), LIBSVM with the Gaussian kernel, and a linear machine.
    Lower and further to the left is better.
    """
    figure, parts = marks.panels(table, "dataset", panel=(3.7, 2.9), across=3)
    within = {"fontsize": 6, "color": "white", "ha": "center", "va": "center_baseline", "zorder": 4}
    shown = {}
    for ax, name, part in parts:
        for method, rows in part.groupby("method", sort=False):
            errors = (1.0 - rows["test_accuracy"]).clip(lower=1e-4)
            look = {"color": style.method_colour(method), "s": 75, "zorder": 3}
            shown[method] = ax.scatter(rows["fit_seconds"], errors, **look)
            for row, error in zip(rows.itertuples(), errors, strict=True):
                ax.annotate(f"{row.l:g}" if row.l else "", (row.fit_seconds, error), **within)
        ax.set(xscale="log", yscale="log", title=name, xlabel="seconds to train")
        ax.margins(x=0.25)
        marks.plain_log_ticks(ax.xaxis)
        marks.log_percent(ax.yaxis)
        if ax.get_subplotspec().is_first_col():
            ax.set_ylabel("test error")
    last = parts[: min(3, len(parts))][-1][0]
    last.legend(shown.values(), shown, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


@figure("sparse-slip", "accuracy")
def draw_slip(table):
    """The listing orders the dual variables by the permutation P where its inverse is needed. Test
    accuracy as printed (red) and corrected (green), and with all dual variables set to their mean
    (grey), where near rows just vote: the printed order leaves no more than that. Where the kernel
    vanishes off the diagonal (l = 129) nothing is lost, because nothing was there.
    """
    found = {}
    for (name, sigma, l), rows in table.groupby(["dataset", "sigma", "l"], sort=False):
        accuracies = dict(zip(rows["variant"], rows["test_accuracy"], strict=True))
        found[f"{name}, $\\sigma$ = {sigma:g}, l = {l:g}"] = accuracies
    colours = {"equal weights": "#B5B5B5", "as printed": RED, "corrected": GREEN}
    figure, ax = style.new_figure(panel=(6.0, 0.42 * len(found) + 1.2))
    marks.dots(ax, found, {form: {"color": colour, "s": 40} for form, colour in colours.items()})
    ax.set_xlabel("test accuracy")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return figure


@figure("sparse-cost", "stages")
def draw_cost(table):
    """Seconds of each stage on the Swiss roll against n, with about 100 near rows a row at any
    size: assembling the kernel by the thesis' double loop and by cells, factorising, and solving by
    LIBLINEAR on the factor or by Newton's method on the matrix. By cells the kernel is the cheapest
    stage of the path through the factor.
    """
    stages = {"assemble": "assemble K", "factor": "factorise", "solve": "solve"}
    colours = {"double loop": "#8C8C8C", "cholesky": GREEN, "newton": "#3B7D23"}
    figure, axes = style.new_figure(1, len(stages), panel=(3.7, 3.2), sharey=True)
    for ax, (stage, title) in zip(axes, stages.items(), strict=True):
        some = table[table[f"{stage}_seconds"] > 0].sort_values("rows", kind="stable")
        for method in dict.fromkeys(table["method"]):
            rows = some[some["method"] == method]
            look = {"color": colours[method], "marker": "o", "ms": 3.5, "label": method}
            if len(rows):
                ax.plot(rows["rows"], rows[f"{stage}_seconds"], **look)
        ax.set(xscale="log", yscale="log", title=title, xlabel="rows n")
        marks.ticks_at(ax.xaxis, sorted(table["rows"].unique()), lambda size: f"{size / 1000:g}k")
    for ax in axes:  # once all have their common limits
        marks.slope_guide(ax, 1)
    axes[0].set_ylabel("seconds")
    return figure


@figure("sparse-scaling", "sparsity")
def draw_scaling(table):
    r"""The share of entries that the kernel matrix has at the printed $\sigma$, by how the features
    are scaled, and the printed share (ring). The thesis does not say how it scaled; the dot inside
    the ring does.
    """
    names = {"none": "as it is", "unit": "[0, 1]", "symmetric": "[−1, 1]"}
    names["standard"] = "unit variance"
    colours = zip(names.values(), (DARK, BLUE, GREEN, YELLOW), strict=True)
    looks = {label: {"color": colour, "s": 30, "linewidths": 0} for label, colour in colours}
    ring = {"facecolors": "none", "edgecolors": RED, "linewidths": 1.6, "s": 130, "zorder": 2}
    found = {}
    for name, rows in table.groupby("dataset", sort=False):
        found[name] = dict(zip(rows["variant"].map(names), 1.0 - rows["sparsity"], strict=True))
        found[name]["printed"] = 1.0 - rows["printed_sparsity"].iloc[0]
    figure, ax = style.new_figure(panel=(6.0, 0.45 * len(found) + 1.3))
    marks.dots(ax, found, looks | {"printed": ring})
    ax.set(xscale="log", xlabel="share of entries in the kernel matrix")
    ax.xaxis.set_major_formatter(marks.say_percent)
    return figure


@figure("sparse-suited", "density")
def draw_suited(table):
    """Where a sparse kernel suits: its accuracy less that of the Gaussian kernel, in points,
    against the share of the kernel matrix that is kept, on 2000 rows of each set (in brackets its
    features), with the exponent of Askey's rule (left) and with l = 3 (middle); the green band is
    within a point. Sets of few features get there while the matrix is sparse, others late or never.
    Right: the share is known from a few rows before any run.
    """
    rows = losses(table)
    features = rows.groupby("dataset", sort=False)["n_features"].first()
    ramp = LinearSegmentedColormap.from_list("features", [GREEN, YELLOW, RED, "#6E1E3C"])
    places = (features.rank(method="first") - 1) / max(1, len(features) - 1)
    looks = {
        name: {"color": ramp(place), "marker": style.dataset_marker(name)}
        for name, place in places.items()
    }
    figure, (*axes, predicted) = style.new_figure(1, 3, panel=(4.5, 3.6))
    rules = {"askey-odd": "l by Askey's rule", "3": "l = 3"}
    for ax, (rule, title) in zip(axes, rules.items(), strict=True):
        for name, look in looks.items():
            part = rows[(rows["dataset"] == name) & (rows["variant"] == rule)]
            part = part.sort_values("density")
            look = look | {"label": f"{name} ({features[name]:.0f})", "ms": 4, "mew": 0}
            ax.plot(part["density"], -100 * part["loss"], **look)
        ax.axhspan(-100 * SUITED, 100 * SUITED, color="#E6F2EC", zorder=0)
        ax.set(title=title, xlabel="share of entries that is kept", xscale="log")
        marks.log_percent(ax.xaxis)
    low = min(ax.get_ylim()[0] for ax in axes)
    for ax in axes:
        ax.set_ylim(low, 6.0)
    axes[0].set_ylabel("points above the Gaussian kernel")
    for name, part in rows.groupby("dataset", sort=False):
        look = looks[name] | {"s": 34, "linewidths": 0}
        predicted.scatter(part["predicted_density"], part["measured_density"], **look)
    ends = rows["measured_density"].agg(["min", "max"])
    predicted.plot(ends, ends, color=QUIET, lw=0.8, zorder=1)
    predicted.set(title="density, predicted and found", xlabel="predicted from a few rows")
    predicted.set(xscale="log", yscale="log")
    marks.log_percent(predicted.xaxis)
    marks.log_percent(predicted.yaxis)
    return figure
