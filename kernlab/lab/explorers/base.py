"""An explorer: a pure function that draws, controls that call it, and a picture for everyone else.

    def draw(dataset, gamma):                    # the values of the controls -> picture, caption
        return figure, "accuracy <b>91.2 %</b>"

    def code(dataset, gamma):                    # the same -> Python for who takes it along
        return f"LASN(gamma={gamma:g}).fit(X, y)"

    controls = {"dataset": choice("data set", ["a", "b"], "a"),
                "gamma": log_slider("gamma", 1.0, -2, 2)}
    Explorer(draw, controls, "a machine by gamma", code=code)

What it draws depends on the values alone, and the limits of its axes at most on the data set, so
that the eye sees what a slider moves. Displayed in a notebook, an explorer carries several forms of
itself: the live widget, a picture of its default state (for a headless run, the web, or paper), a
line of text, and, where its frames can be listed, a page that needs no Python.
"""

import base64
import html
import io
import os
import re
import warnings
from collections.abc import Callable, Mapping

import ipywidgets as widgets
import numpy as np
from IPython.display import display
from PIL import Image

from kernlab.lab.explorers.frames import FRAMES_KEY, RUNNER_VARIABLE, frames_page
from kernlab.lab.plots.style import house_style, small_picture

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
DOTS_PER_INCH = 110
_COMPRESSION = 3  # of 9: a third of the time of the default, for a picture a little larger

# Beside each other from 1,200 px on; the sign of work appears where an answer takes its time.
_STYLE = """<style>
.kernlab-explorer { display: flex; flex-flow: row wrap; gap: 0 1em; align-items: flex-start; }
.kernlab-panel { flex: 0 0 300px; }
.kernlab-panel .widget-label { width: 6.5em; }
.kernlab-stage { position: relative; flex: 1 1 300px; min-width: 0; overflow: visible; }
.kernlab-stage .widget-html, .kernlab-stage .widget-html-content { height: auto; line-height: 1.4; }
.kernlab-stage img { max-width: 100%; height: auto; display: block; }
.kernlab-stage pre { user-select: all; padding: .5em; background: #F4F4F4; color: #222222; }
.kernlab-plane image { pointer-events: none; }
.kernlab-explorer :focus-visible, .kernlab-explorer .noUi-handle:focus {
  outline: 3px solid #0062B0; outline-offset: 2px; }
.kernlab-busy .kernlab-stage::before { content: "computing \\2026"; position: absolute; z-index: 5;
  top: .3em; left: .3em; padding: .1em .6em; color: #FFFFFF; background: #222222;
  visibility: hidden; animation: kernlab-appear 0s .15s forwards; }
@keyframes kernlab-appear { to { visibility: visible; } }
@media (min-width: 1200px) { .kernlab-explorer { flex-wrap: nowrap; } }
</style>"""

# ipywidgets gives handles of sliders neither a name nor the value that is written beside them.
NAME_HANDLES = (
    "setTimeout(() => (this.closest('.kernlab-explorer') || this).querySelectorAll('.noUi-handle')"
    ".forEach((handle) => { const box = handle.closest('.widget-inline-hbox');"
    "handle.setAttribute('aria-label', box.querySelector('.widget-label').textContent);"
    "handle.setAttribute('aria-valuetext', box.querySelector('.widget-readout').textContent); }))"
)


def figure_png(figure):
    """A figure as PNG, at a resolution that renders quickly."""
    figure.set_dpi(DOTS_PER_INCH)
    figure.canvas.draw()
    return _encoded(figure.canvas)


def _encoded(canvas):
    pixels = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])  # opaque
    picture = io.BytesIO()
    Image.fromarray(pixels).save(picture, format="png", compress_level=_COMPRESSION)
    return picture.getvalue()


class Scene:
    """A figure that is drawn once, for pictures that differ in a few artists.

    Laying out axes, ticks and labels takes matplotlib some 100 ms, a line on them one or two. Axes
    keep the limits that they have when the scene is made.
    """

    def __init__(self, figure):
        figure.set_dpi(DOTS_PER_INCH)
        for ax in figure.axes:
            ax.set_autoscale_on(False)
        self.axes = figure.axes
        self._canvas = figure.canvas
        self._canvas.draw()
        figure.set_layout_engine("none")
        self._background = self._canvas.copy_from_bbox(figure.bbox)

    def png(self, draw):
        """The picture with what `draw(*axes)` adds to the axes, which is removed afterwards."""
        kept = {id(artist) for ax in self.axes for artist in ax.get_children()}
        with house_style():
            draw(*self.axes)
        added = [a for ax in self.axes for a in ax.get_children() if id(a) not in kept]
        self._canvas.restore_region(self._background)
        for artist in sorted(added, key=lambda artist: artist.zorder):
            artist.axes.draw_artist(artist)
        for artist in added:
            artist.remove()
        return _encoded(self._canvas)


class Picture:
    """Where an explorer shows its PNG, with words for who cannot see it."""

    def __init__(self):
        self.widget = widgets.HTML()
        self.png = None

    def show(self, png, alt):
        self.png = png
        self.widget.value = picture_html(png, alt, NAME_HANDLES)


def picture_html(png, alt, onload=""):
    """An image that holds its bytes and knows its size, so that nothing jumps or flickers."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return (
        f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}" width="{width}" '
        f'height="{height}" decoding="sync" alt="{html.escape(alt)}" onload="{onload}">'
    )


class Explorer:
    """Controls around a pure function that draws.

    Parameters
    ----------
    draw : callable
        Values of the controls by name -> (Figure or PNG, caption in HTML).
    controls : mapping
        Name -> widget with a `value` and a `description`; see `log_slider`, `slider`, `whole`,
        `stops`, `choice` and `toggle`.
    text : str
        What the explorer shows, in a line: it stands in where there is no picture.
    code : callable, optional
        Values -> the Python code of what is shown, for the button "code".
    frames : mapping, optional
        Name -> values of one or two controls: their pictures, all others at their first value, are
        carried along and can be looked through without Python.
    picture : object, optional
        Shows the PNG: `widget`, and `show(png, alt)`. A `Picture` by default.

    Attributes
    ----------
    png : bytes, the picture shown
    caption : str, in HTML
    alt : str, the picture in words
    values : dict, of the controls
    """

    def __init__(
        self,
        draw: Callable[..., tuple],
        controls: Mapping[str, widgets.Widget],
        text: str,
        *,
        code: Callable[..., str] | None = None,
        frames: Mapping[str, list] | None = None,
        picture: Picture | None = None,
    ):
        self.draw, self.text, self.code, self.frames = draw, text, code, frames
        self.alt = text
        self.controls = dict(controls)
        self._first, self._held = self.values, False
        self._picture = picture or Picture()
        self._caption, self._code, self._pinned = (widgets.HTML() for _ in range(3))
        self._caption.add_class("kernlab-caption")
        self._pinned.add_class("kernlab-pinned")
        stage = widgets.VBox([self._picture.widget, self._caption, self._code, self._pinned])
        stage.add_class("kernlab-stage")
        shown = [c for c in self.controls.values() if c is not self._picture]
        panel = widgets.VBox([*shown, self._buttons(), widgets.HTML(_STYLE)])
        panel.add_class("kernlab-panel")
        self.widget = widgets.Box([panel, stage])
        self.widget.add_class("kernlab-explorer")
        for control in self.controls.values():
            control.observe(self._refresh, names="value")
        self._refresh()

    def _buttons(self):
        layout = {"width": "auto"}
        reset = widgets.Button(
            description="reset", tooltip="All controls as at first", layout=layout
        )
        self._pin = widgets.ToggleButton(
            description="pin", tooltip="Keep this picture below, to compare", layout=layout
        )
        self._as_code = widgets.ToggleButton(
            description="code", tooltip="What is shown as Python code, to copy", layout=layout
        )
        reset.on_click(lambda _: self.reset())
        self._pin.observe(self._show_pinned, names="value")
        self._as_code.observe(lambda _: self._show_code(), names="value")
        return widgets.HBox([reset, self._pin, *([self._as_code] if self.code else [])])

    @property
    def values(self):
        return {name: control.value for name, control in self.controls.items()}

    @property
    def png(self):
        return self._picture.png

    @property
    def caption(self):
        return self._caption.value

    @property
    def pinned(self):
        """The picture kept for comparison with its caption, in HTML; empty without."""
        return self._pinned.value

    def set(self, **values):
        """Move several controls, and draw once."""
        self._held = True
        try:
            for name, value in values.items():
                self.controls[name].value = value
        finally:
            self._held = False
        self._refresh()

    def reset(self):
        """All controls as at first."""
        self.set(**self._first)

    def pin(self, keep=True):
        """Keep the present picture below the one that moves on, or let it go."""
        self._pin.value = False
        self._pin.value = keep

    def settings(self):
        """The values of the controls in words."""
        told = [
            (c.description, c.value) for c in self.controls.values() if hasattr(c, "description")
        ]
        return ", ".join(f"{name} {_say(value)}" for name, value in told)

    def _refresh(self, _change=None):
        if self._held:
            return
        self.widget.add_class("kernlab-busy")
        try:
            picture, caption = self._drawn(self.values)
        except (ValueError, MemoryError) as error:
            self._caption.value = f"<b>Not drawn:</b> {html.escape(str(error))}"
        else:
            self.alt = f"{self.text}; {self.settings()}. {_plain(caption)}"
            self._picture.show(picture, self.alt)
            self._caption.value = f'<div role="status">{caption}</div>'
            self._show_code()
        finally:
            self.widget.remove_class("kernlab-busy")

    def _drawn(self, values):
        """The picture as PNG, and the caption with what was warned of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            picture, caption = self.draw(**values)
        notes = dict.fromkeys(html.escape(str(warning.message)) for warning in caught)
        png = picture if isinstance(picture, bytes) else figure_png(picture)
        return png, "<br>".join([caption, *notes])

    def _show_pinned(self, change):
        kept = f"<p><b>pinned:</b> {html.escape(self.settings())}</p>"
        shown = kept + picture_html(self.png, f"pinned: {self.alt}") + self.caption
        self._pinned.value = shown if change["new"] else ""

    def _show_code(self):
        copy = "navigator.clipboard.writeText(this.nextElementSibling.textContent)"
        self._code.value = (
            f'<button onclick="{copy}">copy</button><pre tabindex="0" aria-label="code">'
            f"{html.escape(self.code(**self.values))}</pre>"
            if self.code and self._as_code.value
            else ""
        )

    def _ipython_display_(self):
        display(self.bundle(), raw=True, metadata=self.metadata())

    def bundle(self):
        """The explorer by MIME type: the live widget, and what stands in where there is none."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        picture = {"image/png": small_picture(self.png)} if self.png else {}
        return {WIDGET_VIEW: view, **picture, "text/plain": f"<Explorer: {self.text}>"}

    def metadata(self):
        """The page of frames, for the copies of a notebook that a runner makes."""
        if not self.frames or not os.environ.get(RUNNER_VARIABLE):
            return {}
        rest = {name: value for name, value in self.values.items() if name not in self.frames}
        page = frames_page(
            lambda **chosen: self._drawn(rest | chosen),
            {name: (self.controls[name].description, list(v)) for name, v in self.frames.items()},
            {name: self.values[name] for name in self.frames},
            self.text,
        )
        return {FRAMES_KEY: page}


def _plain(caption):
    """A caption without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", caption))


def _say(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def log_slider(description, value, low, high, step=0.1):
    """A slider over powers of ten, from 10^low to 10^high, that acts on release."""
    return widgets.FloatLogSlider(
        value=value, base=10, min=low, max=high, step=step, description=description,
        continuous_update=False, readout_format=".3g",
    )  # fmt: skip


def slider(description, value, low, high, step, *, release=True, readout=".2f"):
    """A slider over numbers; with release=False it acts while it is dragged."""
    return widgets.FloatSlider(
        value=value, min=low, max=high, step=step, description=description,
        continuous_update=not release, readout_format=readout,
    )  # fmt: skip


def whole(description, value, low, high, *, release=True):
    """A slider over whole numbers; with release=False it acts while it is dragged."""
    return widgets.IntSlider(
        value=value, min=low, max=high, description=description, continuous_update=not release
    )


def stops(description, values, value):
    """A slider over listed numbers that acts while it is dragged: for what is only looked up."""
    options = [(f"{each:g}", each) for each in values]
    return widgets.SelectionSlider(options=options, value=value, description=description)


def choice(description, options, value):
    """One of several: a list of values, or a mapping of names to values."""
    return widgets.Dropdown(options=options, value=value, description=description)


def toggle(description, value=False):
    return widgets.Checkbox(value=value, description=description, indent=False)
