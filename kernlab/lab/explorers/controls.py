"""Controls as an explorer declares them: each a function that makes a widget."""

from functools import partial

import ipywidgets as widgets


class Controls(dict):
    """Name -> function that makes a control: `log_slider`, `choice`, ..."""


def log_slider(description, value, low, high, step=0.1, say=".3g"):
    """A slider over powers of ten, from 10^low to 10^high, that acts on release."""
    return partial(
        widgets.FloatLogSlider, value=value, base=10, min=low, max=high, step=step,
        description=description, continuous_update=False, readout_format=say,
    )  # fmt: skip


def count_slider(description, value, low, high):
    """The same for whole numbers: an explorer takes the nearest ones, as they are written."""
    return log_slider(description, value, low, high, say=".0f")


def slider(description, value, low, high, step=1, *, release=True):
    """A slider over numbers, whole ones if `value` is; with release=False it acts while dragged."""
    return partial(
        widgets.IntSlider if isinstance(value, int) else widgets.FloatSlider, value=value,
        min=low, max=high, step=step, description=description, continuous_update=not release,
    )  # fmt: skip


def stops(description, values, value):
    """A slider over listed numbers that acts while it is dragged: for what is only looked up."""
    options = [(f"{each:g}", each) for each in values]
    return partial(widgets.SelectionSlider, options=options, value=value, description=description)


def choice(description, options, value):
    """One of several: a sequence of values, or a mapping of names to values."""
    named = options.items() if isinstance(options, dict) else ((str(o), o) for o in options)
    return partial(widgets.Dropdown, options=list(named), value=value, description=description)
