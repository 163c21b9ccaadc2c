"""Figures of the ADMM-HSS paper's studies."""

import numpy as np
from matplotlib.ticker import NullFormatter, PercentFormatter

from kernlab.lab.papers.hss.machines import BLOCKS, HSS, IDENTITY
from kernlab.lab.papers.hss.matrix import CLOSE, COARSE, EXACT, PICTURE, SINGULAR_VALUES, one_set
from kernlab.lab.papers.hss.tables import OPTIMUM, PRINTED, TEN_STEPS, TIGHT, chosen
from kernlab.lab.plots import style
from kernlab.lab.plots.marks import dots, heatmap, panels, published_values
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import BLUE, BROWN, DARK, GREEN, GREY, PURPLE, QUIET, RED, YELLOW

DOTTED = {"marker": "o", "ms": 4}
_RAMP = ("#440154", "#414487", "#2A788E", "#22A884", "#6A9C26", "#B98800", "#CC3311")


def ramp(count):
    """Colours for `count` ordered values, from dark to light."""
    return [_RAMP[round(i)] for i in np.linspace(0, len(_RAMP) - 1, count)]


@figure("hss-f1", "decay")
def draw_decay(table):
    """Figure 1 of the paper. Left, singular values of Gaussian kernel matrices for five widths h,
    relative to the largest: only wide kernels are of low rank as a whole. Right, the matrix at h =
    1 with its rows in random order and after 2-means clustering; the rank of the block that couples
    the two halves counts singular values above 1 % of the norm of K.
    """
    table = one_set(table)
    figure, (decay, *pictures) = style.new_figure(1, 3, panel=(3.5, 3.2), width_ratios=[1.5, 1, 1])
    values = list(table[table["method"] == SINGULAR_VALUES].groupby("h"))
    for (h, rows), colour in zip(values, ramp(len(values)), strict=True):
        decay.plot(rows["place"], rows["singular_value"], color=colour, label=f"h = {h:g}")
    decay.set(yscale="log", xlim=(0, 1), ylim=(1e-10, 2), xlabel="$i / n$")
    decay.set_title(f"{table['dataset'].iloc[0]}: singular values / largest")
    shown = table[table["method"] == PICTURE]
    for ax, (order, rows) in zip(pictures, shown.groupby("variant", sort=False), strict=False):
        picture = rows.pivot(index="block_row", columns="block_column", values="value")
        ax.imshow(picture, cmap="Greys", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], title=order.capitalize())
        ax.grid(visible=False)
        rank = rows["off_diagonal_rank"].iloc[0]
        ax.set_xlabel(f"off-diagonal block: rank {rank:.0f}", fontsize=8)
    return figure


@figure("hss-error", "tolerance")
def draw_errors(table):
    r"""Error of $\tilde K$ on sampled columns, relative in the Frobenius norm, against the
    tolerance of the local decisions (dashed: equal). With the reference's columns, nearest
    neighbours only, the error lags behind where the far field matters; columns from afar bring it
    down with the tolerance.
    """
    modes = {"fast": ("near and far columns", BLUE), "paper": ("neighbours only", RED)}
    whole = table[table["level_of_level"] == 0]
    figure, parts = panels(whole, ["dataset", "h"], (3.6, 3.2), sharey=True)
    for ax, (name, h), here in parts:
        for mode, (label, colour) in modes.items():
            rows = here[here["method"] == mode].sort_values("rel_tol")
            errors = rows["sampled_error"].clip(lower=1e-10)
            label = label if ax is parts[0][0] else "_"  # whose legend serves all
            ax.plot(rows["rel_tol"], errors, color=colour, label=label, **DOTTED)
        ends = here["rel_tol"].agg(["min", "max"])
        ax.plot(ends, ends, color=QUIET, ls="dashed", lw=1, label="_guide")
        ax.set(xscale="log", yscale="log", xlabel="rel_tol", title=f"{name}, h = {h:g}")
        ax.invert_xaxis()
        ax.xaxis.set_minor_formatter(NullFormatter())
    parts[0][0].set_ylabel("sampled relative error")
    parts[0][0].legend(loc="lower left")
    return figure


@figure("hss-error", "ranks")
def draw_ranks(table):
    r"""Mean rank of the bases on each level of the tree, in the default mode. Where ranks fall to 0
    at the top, $\tilde K$ is block diagonal there.
    """
    rows = table[(table["method"] == "fast") & (table["level_of_level"] > 0)]
    figure, parts = panels(rows, ["dataset", "h"], panel=(3.6, 3.2))
    for ax, (name, h), here in parts:
        groups = sorted(here.groupby("rel_tol"), reverse=True, key=lambda group: group[0])
        for (tolerance, levels), colour in zip(groups, ramp(len(groups)), strict=True):
            levels = levels.sort_values("level_of_level")
            look = DOTTED | {"color": colour, "label": f"rel_tol {tolerance:g}"}
            ax.plot(levels["level_of_level"], levels["mean_rank_of_level"], **look)
        ax.set(xlabel="level (1: halves of the data)", title=f"{name}, h = {h:g}")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
    parts[0][0].set_ylabel("mean rank")
    return figure


@figure("hss-e9", "bound")
def draw_bound(table):
    r"""Equation 9 measured: the difference of the optimal dual objectives with $\tilde K$ and with
    K (red), and the equation's two bounds. Above, $\tilde K$ as compressed, which is mostly
    indefinite, so that the proof does not apply; below, with its eigenvalues lifted to zero, where
    it does. The bound by quadratic forms becomes sharp as the tolerance tightens, the one by norms
    does not.
    """
    looks = {
        "norm_bound": {"label": "bound by norms", "color": QUIET, "ls": "dashed"},
        "quadratic_bound": {"label": "bound by quadratic forms", "color": BLUE},
        "objective_error": {"label": "measured", "color": RED},
    }
    cases = list(table.groupby(["dataset", "h"], sort=False))
    forms = list(dict.fromkeys(table["variant"]))
    shared = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = style.new_figure(len(forms), len(cases), panel=(4.0, 2.7), **shared)
    for line, form in zip(axes, forms, strict=True):
        for ax, ((name, h), here) in zip(line, cases, strict=True):
            rows = here[here["variant"] == form].sort_values("rel_tol", ascending=False)
            for column, look in looks.items():
                relative = (rows[column] / rows["optimum"].abs()).clip(lower=1e-9)
                unnamed = {} if ax is line[-1] else {"label": "_"}
                ax.plot(rows["rel_tol"], relative, **DOTTED | look | unnamed)
            indefinite = len(rows) - int(rows["semidefinite"].astype(bool).sum())
            note = rf"$\tilde K$ indefinite in {indefinite} of {len(rows)}"
            ax.annotate(note, (0.03, 0.05), xycoords="axes fraction", fontsize=8, color=QUIET)
            ax.set(xscale="log", yscale="log", title=f"{name}, h = {h:g}, {form}")
            ax.xaxis.set_minor_formatter(NullFormatter())
    for ax in axes[-1]:
        ax.set_xlabel("rel_tol")
    axes[0, 0].invert_xaxis()
    for line in axes:
        line[0].set_ylabel("relative to the optimum")
    return figure


@figure("hss-f2", "heatmap")
def draw_heatmaps(table):
    r"""Figure 2 of the paper: test accuracy over C and h. Left, after the paper's ten steps with
    $\beta = 100$: from some C on nothing changes, because no dual variable has come so far. Right,
    at the optimum (on as many rows as the title says), where C does matter. A frame marks the best
    cell; each h took one compression, and for ten steps one factorisation.
    """
    table = table.assign(accuracy=100 * table["test_accuracy"])
    ends = table.groupby("dataset")["accuracy"].agg(["min", "max"])
    figure, parts = panels(table, ["dataset", "method"], (4.6, 2.8), across=2)
    for ax, (name, method), rows in parts:
        limits = dict(zip(("vmin", "vmax"), ends.loc[name], strict=True))
        look = {"label": "test accuracy (%)", "best": "highest", "values": ".1f"}
        heatmap(ax, rows, "C", "h", "accuracy", **look, **limits)
        ax.set_title(f"{name}, {method}, {rows['n_train'].iloc[0]:,.0f} rows")
    return figure


STROKE = {"marker": "|", "s": 130, "linewidths": 2, "zorder": 2}
DOTS = {
    r"$\tilde K = I$": {"color": GREY, "s": 40},
    "block diagonal": {"color": GREEN, "s": 40},
    "HSS, ten steps": {"color": PURPLE, "s": 40},
    "HSS, chosen on training rows": {"facecolors": "none", "edgecolors": PURPLE, "s": 90},
    "HSS, converged": {"color": RED, "marker": "D", "s": 30},
    "rel_tol 0.01, converged": {"color": BLUE, "marker": "D", "s": 30},
    "published": STROKE | {"color": DARK},
    "LIBSVM, published": STROKE | {"color": YELLOW},
    "RACQP, published": STROKE | {"color": BROWN},
}
IN_TEN_STEPS = {IDENTITY: r"$\tilde K = I$", BLOCKS: "block diagonal", HSS: "HSS, ten steps"}
AT_OPTIMUM = {PRINTED: "HSS, converged", TIGHT: "rel_tol 0.01, converged"}
STAGES = {
    "compression": ("approximate_seconds", "compression time", BLUE),
    "factorisation": ("factor_seconds", "factorisation time", GREEN),
    "ADMM, one C": ("solve_seconds", "ADMM time", RED),
}


@figure("hss-t4", "accuracy", study="hss-t4", number=4)
@figure("hss-t5", "accuracy", study="hss-t5", number=5)
def draw_accuracies(table, study, **_):
    r"""Table {number} measured: test accuracy after the paper's ten steps with the HSS matrix, with
    the identity and with the diagonal blocks alone in its place, h and C chosen by test accuracy as
    in the paper (hollow: on a fifth of the training rows); of the same problem solved to its
    optimum with the same $\tilde K$, and with a close one (diamonds, C chosen by test accuracy);
    and the published accuracies of this method, of LIBSVM and of RACQP (bars, where the paper has
    the set; hss-t2 and hss-t3 measure those two).
    """
    found = {
        name: _accuracies(study, name, rows) for name, rows in table.groupby("dataset", sort=False)
    }
    return _draw_dots(found, DOTS, 0.42 * len(found) + 1.6)


def _draw_dots(found, looks, height):
    figure, ax = style.new_figure(panel=(6.0, height))
    dots(ax, found, looks)
    ax.set_xlabel("test accuracy")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    return figure


def _accuracies(study, name, rows):
    """Test accuracy by label for one data set, where there is one."""
    found = {}
    steps = rows[rows["method"] == TEN_STEPS]
    for matrix, of_matrix in steps.groupby("matrix"):
        found[IN_TEN_STEPS[matrix]] = chosen(of_matrix, "test_accuracy")["test_accuracy"]
    ours = steps[steps["matrix"] == HSS]
    if len(ours):
        found["HSS, chosen on training rows"] = chosen(ours, "cv_accuracy")["test_accuracy"]
    for form, of_form in rows[rows["method"] == OPTIMUM].groupby("variant"):
        found[AT_OPTIMUM[form]] = of_form["test_accuracy"].max()
    sources = {"": study, "LIBSVM, ": "hss-t2", "RACQP, ": "hss-t3"}
    return found | {f"{who}published": _printed(of, name) for who, of in sources.items()}


def _printed(study, name, column="accuracy"):
    return published_values(study, "{method}").get((name, column))


@figure("hss-t4", "seconds", study="hss-t4", number=4)
@figure("hss-t5", "seconds", study="hss-t5", number=5)
def draw_seconds(table, study, **_):
    """Table {number} measured: seconds of compression, factorisation and ten ADMM steps for one C
    at the chosen h (dots), and as published, on another machine (bars, where the paper has the
    set).
    """
    rows = table[(table["method"] == TEN_STEPS) & (table["matrix"] == HSS)]
    groups = rows.groupby("dataset", sort=False)
    best = {name: chosen(part, "test_accuracy") for name, part in groups}
    figure, axes = style.new_figure(
        1, len(STAGES), panel=(2.9, 0.34 * len(best) + 1.5), sharey=True
    )
    for ax, (title, (column, printed, colour)) in zip(axes, STAGES.items(), strict=True):
        both = {
            name: {"measured": row[column], "published": _printed(study, name, printed)}
            for name, row in best.items()
        }
        looks = {"published": DOTS["published"], "measured": {"color": colour, "s": 36}}
        dots(ax, both, looks, legend=False)
        ax.set(xscale="log", xlabel="seconds", title=title)
        # Whole decades: a log axis within one would have no plain label.
        low, high = np.log10(ax.get_xlim())
        ax.set_xlim(10.0 ** np.floor(low), 10.0 ** np.ceil(high))
        ax.xaxis.set_minor_formatter(NullFormatter())
    return figure


@figure("hss-t4", "ranks", number=4)
@figure("hss-t5", "ranks", number=5)
def draw_table_ranks(table, **_):
    r"""Table {number}: the mean rank of the bases on every level of the tree at the chosen h, and
    the relative error of $\tilde K$ on sampled columns. At the top, where $\tilde K$ couples large
    parts of the data, next to nothing is left of the kernel.
    """
    steps = table[(table["method"] == TEN_STEPS) & (table["matrix"] == HSS)]
    figure, ax = style.new_figure(panel=(5.4, 3.2))
    for k, (name, rows) in enumerate(steps.groupby("dataset", sort=False)):
        best = chosen(rows, "test_accuracy")
        ranks = [float(rank) for rank in str(best["mean_ranks"]).split()]
        label = f"{name}, h = {best['h']:g}: error {best['sampled_error']:.0%}"
        ax.plot(range(1, len(ranks) + 1), ranks, color=f"C{k}", label=label, **DOTTED)
    ax.set(xlabel="level (1: halves of the data)", ylabel="mean rank")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return figure


@figure("hss-t2", "accuracy")
def draw_libsvm(table):
    """Table 2 measured: LIBSVM at the paper's h, for each of the values of C that tied in the
    paper's search. At the optimum they do not tie.
    """
    return _draw_exact_kernel(table, "hss-t2")


@figure("hss-t3", "accuracy")
def draw_racqp(table):
    """Table 3 measured: RACQP at the paper's h, for each of the values of C that tied in the
    paper's search, after the five steps that its authors publish and after 200. Its C counts twice,
    since its quadratic form has no factor of one half.
    """
    return _draw_exact_kernel(table, "hss-t3")


def _draw_exact_kernel(table, study):
    forms = (table["variant"] + table["C"].map(", C = {:g}".format)).str.removeprefix(", ")
    colours = (BLUE, RED, GREEN, PURPLE, YELLOW, BROWN)
    looks = {form: {"color": c, "s": 36} for form, c in zip(forms.unique(), colours, strict=False)}
    found = {}
    for name, rows in table.assign(form=forms).groupby("dataset", sort=False):
        found[name] = dict(zip(rows["form"], rows["test_accuracy"], strict=True))
        found[name]["published"] = _printed(study, name)
    return _draw_dots(found, looks | {"published": DOTS["published"]}, 0.4 * len(found) + 1.3)


@figure("hss-steps", "course")
def draw_steps(table):
    r"""Test accuracy and the relative duality gap with the exact kernel matrix, against the number
    of ADMM steps, for machines that see the exact K, close and coarse HSS matrices, the diagonal
    blocks and the identity. The dashed line marks the paper's ten steps: with $\beta = 100$ the gap
    is still of the size of the objective. Let run, each goes to an optimum of its own, the close
    HSS matrix to the nearest.
    """
    kinds = {EXACT: DARK, CLOSE: BLUE, COARSE: RED, BLOCKS: GREEN, IDENTITY: GREY}
    names, betas = (list(dict.fromkeys(table[what])) for what in ("dataset", "variant"))
    shape = len(names), 2 * len(betas)
    figure, axes = style.new_figure(*shape, panel=(2.9, 2.3), sharex=True, squeeze=False)
    for (name, beta), here in table.groupby(["dataset", "variant"], sort=False):
        place = 2 * betas.index(beta)
        pair = axes[names.index(name), place : place + 2]
        for kind, colour in kinds.items():
            rows = here[(here["method"] == kind) & ~here["at_optimum"].astype(bool)]
            rows = rows.sort_values("steps")
            for ax, value in zip(pair, ("test_accuracy", "exact_gap"), strict=True):
                shown = rows[value].clip(lower=1e-6)
                label = kind if ax in axes[:, -1] else "_"
                ax.plot(rows["steps"], shown, color=colour, marker="o", ms=3, label=label)
        for ax in pair:
            ax.axvline(10, color=GREY, lw=0.8, ls="dashed", zorder=1)
            ax.set_xscale("log")
        pair[0].set_title(f"{name}, {beta}")
        pair[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
        pair[0].set_ylabel("test accuracy")
        pair[1].set(yscale="log", ylabel="gap with exact K")
    for ax in axes[-1]:
        ax.set_xlabel("steps")
    return figure
