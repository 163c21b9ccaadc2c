"""The figure of equation 9: the error of the objective below its bounds."""

from matplotlib.ticker import NullFormatter

from kernlab.lab.plots.labels import label_lines
from kernlab.lab.plots.style import QUIET, new_figure

COLUMNS = {
    "norm_bound": ("bound by norms", QUIET, "dashed"),
    "quadratic_bound": ("bound by quadratic forms", "#0062B0", "solid"),
    "objective_error": ("measured", "#CC3311", "solid"),
}
SMALLEST = 1e-9


def draw_bound(table):
    """Error and bounds relative to the optimum against rel_tol; a row for each form of K~."""
    cases = list(dict.fromkeys(zip(table["dataset"], table["h"], strict=True)))
    forms = list(dict.fromkeys(table["variant"]))
    figure, axes = new_figure(
        len(forms), len(cases), panel=(4.0, 2.7), sharex=True, sharey=True, squeeze=False
    )
    for line, form in zip(axes, forms, strict=True):
        for ax, (name, h) in zip(line, cases, strict=True):
            here = table[(table["dataset"] == name) & (table["h"] == h)]
            rows = here[here["variant"] == form].sort_values("rel_tol", ascending=False)
            for column, (label, colour, style) in COLUMNS.items():
                relative = (rows[column] / rows["optimum"].abs()).clip(lower=SMALLEST)
                ax.plot(
                    rows["rel_tol"], relative, color=colour, ls=style, marker="o", ms=4, label=label
                )
            indefinite = rows[~rows["semidefinite"].astype(bool)]
            ax.set_title(f"{name}, h = {h:g}, {form}")
            note = rf"$\tilde K$ indefinite in {len(indefinite)} of {len(rows)}"
            ax.annotate(note, (0.03, 0.05), xycoords="axes fraction", fontsize=8, color=QUIET)
            ax.set(xscale="log", yscale="log")
            ax.xaxis.set_minor_formatter(NullFormatter())
    for ax in axes[-1]:
        ax.set_xlabel("rel_tol")
    axes[0, 0].invert_xaxis()
    for line in axes:
        line[0].set_ylabel("relative to the optimum")
        label_lines(line[-1])
    return figure
