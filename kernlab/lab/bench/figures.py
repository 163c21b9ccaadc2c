"""The figure of weak scaling."""

from kernlab.lab.plots.marks import ticks_at
from kernlab.lab.plots.registry import figure
from kernlab.lab.plots.style import method_colour, new_figure


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
