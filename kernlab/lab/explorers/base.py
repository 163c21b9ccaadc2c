"""An explorer: a pure function that draws, controls that call it, and a picture for everyone else.

The figure is shown as an image whose bytes are replaced, so nothing flickers or doubles under a
slider. Displayed in a notebook, an explorer carries three forms of itself: the live widget, a
picture of its default state (for a headless run, the web, or paper), and a line of text.
"""

import base64
import html
import io
import time
import warnings
from collections.abc import Callable, Mapping

import ipywidgets as widgets
from IPython.display import display

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
DOTS_PER_INCH = 110


def figure_png(figure):
    """A figure as PNG, at a resolution that renders quickly."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=DOTS_PER_INCH)
    return picture.getvalue()


class Explorer:
    """Controls around a pure figure function.

    Parameters
    ----------
    draw : callable
        Control values by name -> (Figure or PNG, caption in HTML). What it draws depends on the
        values alone.
    controls : mapping
        Name -> widget with a `value`.
    text : str
        What stands in for the explorer where there is no picture.
    """

    def __init__(
        self,
        draw: Callable[..., tuple],
        controls: Mapping[str, widgets.Widget],
        text: str,
    ):
        self.draw = draw
        self.controls = dict(controls)
        self.text = text
        self.seconds = None
        self._image = widgets.Image(
            format="png", layout=widgets.Layout(max_width="100%", align_self="flex-start")
        )
        self._caption = widgets.HTML()
        self._caption.add_class("kernlab-caption")
        for control in self.controls.values():
            control.observe(self._refresh, names="value")
        self._refresh()
        panel = widgets.VBox(
            list(self.controls.values()),
            layout=widgets.Layout(min_width="300px", padding="0 1em 0 0"),
        )
        picture = widgets.VBox([self._image, self._caption])
        self.widget = widgets.HBox([panel, picture], layout=widgets.Layout(flex_flow="row wrap"))
        self.widget.add_class("kernlab-explorer")

    @property
    def values(self):
        return {name: control.value for name, control in self.controls.items()}

    def _refresh(self, _change=None):
        began = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                picture, caption = self.draw(**self.values)
        except (ValueError, MemoryError) as error:
            self._caption.value = f"<b>Not drawn:</b> {html.escape(str(error))}"
            return
        notes = dict.fromkeys(html.escape(str(warning.message)) for warning in caught)
        self._image.value = picture if isinstance(picture, bytes) else figure_png(picture)
        self._caption.value = "<br>".join([caption, *notes])
        self.seconds = time.perf_counter() - began

    def _ipython_display_(self):
        display(self._bundle(), raw=True)

    def _bundle(self):
        return {
            WIDGET_VIEW: {
                "version_major": 2,
                "version_minor": 0,
                "model_id": self.widget.model_id,
            },
            "image/png": base64.b64encode(self._image.value).decode(),
            "text/plain": f"<Explorer: {self.text}>",
        }


def log_slider(description, value, low, high, step=0.1):
    """A slider over powers of ten that acts on release."""
    return widgets.FloatLogSlider(
        value=value,
        base=10,
        min=low,
        max=high,
        step=step,
        description=description,
        continuous_update=False,
        readout_format=".3g",
    )


def choice(description, options, value):
    return widgets.Dropdown(options=options, value=value, description=description)
