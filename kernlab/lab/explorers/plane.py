"""Machines in the plane: their two sides, boundary and margins, and points that can be moved."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

BLUE, RED, DARK = "#0062B0", "#CC3311", "#222222"
_SIDES = LinearSegmentedColormap.from_list("sides", ["#BBD7EE", "#FFFFFF", "#F6CFC6"])
GRID = 90


def grid_points(X, size=GRID):
    """A grid over the rows of X and a little beyond: its two axes, and all its points."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = (np.linspace(low[i], high[i], size) for i in range(2))
    return across, up, np.column_stack([axis.ravel() for axis in np.meshgrid(across, up)])


def draw_sides(ax, across, up, decisions):
    """The two sides as colours, the boundary as a solid line, the margins dashed."""
    decisions = np.reshape(decisions, (len(up), len(across)))
    ax.imshow(
        np.clip(decisions, -1.5, 1.5),
        extent=(across[0], across[-1], up[0], up[-1]),
        origin="lower",
        aspect="auto",
        cmap=_SIDES,
        vmin=-1.5,
        vmax=1.5,
        interpolation="bilinear",
    )
    levels = [level for level in (-1.0, 0.0, 1.0) if decisions.min() < level < decisions.max()]
    if levels:
        styles = ["solid" if level == 0 else "dashed" for level in levels]
        ax.contour(across, up, decisions, levels, colors=DARK, linestyles=styles, linewidths=1)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)


def draw_rows(ax, X, y, size=14, **look):
    """Rows in the colours of their classes."""
    for label, colour in ((-1, BLUE), (1, RED)):
        ax.scatter(*X[y == label].T, s=size, color=colour, **{"linewidths": 0.4} | look)
