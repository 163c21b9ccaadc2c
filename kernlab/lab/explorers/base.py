"""What a reader sees of an explorer: controls beside a picture, and what stands in for both.

A picture depends on the values of the controls alone. Displayed in a notebook, an explorer carries
several forms of itself: the live widget, a picture of its default state (for a headless run, the
web, or paper), a line of text, and, where its frames can be listed, a page that needs no Python.
"""

import base64
import html
import io
import itertools
import json
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import ipywidgets as widgets
import numpy as np
from IPython.display import display
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from PIL import Image

from kernlab.lab.plots.style import small_picture

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
FRAMES_KEY = "kernlab_frames"  # in an output's metadata: the page that stands in for the widget
RUNNER_VARIABLE = "KERNLAB_NOTEBOOK"  # set where notebooks are run to be kept
DOTS_PER_INCH = 110
_COMPRESSION = 1  # of 9: a third of the time of the default, for a picture a quarter larger

_FOLDER = Path(__file__).parent
# Beside each other from 1,200 px on; the sign of work appears where an answer takes its time.
_STYLE = f"<style>\n{(_FOLDER / 'explorer.css').read_text(encoding='utf-8')}</style>"

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
    return canvas_png(figure.canvas)


def canvas_png(canvas):
    """What has been drawn on a canvas."""
    pixels = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])  # opaque
    picture = io.BytesIO()
    Image.fromarray(pixels).save(picture, format="png", compress_level=_COMPRESSION)
    return picture.getvalue()


class Picture:
    """Where an explorer shows its PNG, with words for who cannot see it."""

    def __init__(self):
        self.widget = widgets.HTML()

    def show(self, png, alt):
        self.widget.value = picture_html(png, alt, NAME_HANDLES)


def picture_html(png, alt, onload=""):
    """An image that holds its bytes and knows its size, so that nothing jumps or flickers."""
    width, height = (int.from_bytes(png[at : at + 4]) for at in (16, 20))
    return (
        f'<img src="data:image/png;base64,{base64.b64encode(png).decode()}" width="{width}" '
        f'height="{height}" decoding="sync" alt="{html.escape(alt)}" onload="{onload}">'
    )


class Explorer:
    """Controls around a pure function that draws: what a `Declared` gives when it is called.

    `draw` makes of the controls' values a Figure or PNG and a caption in HTML, `code` the Python
    lines of what is shown; `frames` are values of controls whose pictures are carried along. A
    control that has `show(png, alt)`, as a `Plane`, shows the picture itself.
    """

    def __init__(
        self,
        draw: Callable[..., tuple],
        controls: dict[str, widgets.Widget],
        text: str,
        code: Callable[..., str] | None = None,
        frames: dict[str, list] | None = None,
    ):
        self.draw, self.text, self.code, self.frames = draw, text, code, frames
        self.png, self.caption, self.alt = None, "", text
        self.controls = controls
        self._first, self._held = self.values, False
        own = [c for c in self.controls.values() if hasattr(c, "show")]
        self._picture = own[0] if own else Picture()
        self._caption, self._code, self.pinned = (widgets.HTML() for _ in range(3))
        self._caption.add_class("kernlab-caption")
        self.pinned.add_class("kernlab-pinned")  # the picture kept for comparison
        stage = widgets.VBox([self._picture.widget, self._caption, self._code, self.pinned])
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
        reset, self._pin, self._as_code = (
            kind(description=name, tooltip=words, layout={"width": "auto"})
            for kind, name, words in (
                (widgets.Button, "reset", "All controls as at first"),
                (widgets.ToggleButton, "pin", "Keep this picture below, to compare"),
                (widgets.ToggleButton, "code", "What is shown as Python code, to copy"),
            )
        )
        reset.on_click(lambda _: self.reset())
        self._pin.observe(self._show_pinned, names="value")
        self._as_code.observe(lambda _: self._show_code(), names="value")
        return widgets.HBox([reset, self._pin, *([self._as_code] if self.code else [])])

    @property
    def values(self):
        return {
            name: round(each.value) if getattr(each, "readout_format", "") == ".0f" else each.value
            for name, each in self.controls.items()
        }

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
        self.set(**self._first)

    def pin(self, keep=True):
        """Keep the present picture below the one that moves on, or let it go."""
        self._pin.value = False
        self._pin.value = keep

    def settings(self):
        """The values of the controls in words."""
        told = ((self.controls[name], value) for name, value in self.values.items())
        return ", ".join(
            f"{control.description} {f'{value:.3g}' if isinstance(value, float) else value}"
            for control, value in told
            if hasattr(control, "description")
        )

    def _refresh(self, _change=None):
        if self._held:
            return
        self.widget.add_class("kernlab-busy")
        try:
            picture, caption = self._drawn(self.values)
        except (ValueError, MemoryError) as error:
            self.caption = f"<b>Not drawn:</b> {html.escape(str(error))}"
        else:
            self.png, self.caption = picture, f'<div role="status">{caption}</div>'
            words = html.unescape(re.sub(r"<[^>]*>", "", caption))
            self.alt = f"{self.text}; {self.settings()}. {words}"
            self._picture.show(picture, self.alt)
            self._show_code()
        finally:
            self._caption.value = self.caption
            self.widget.remove_class("kernlab-busy")

    def _drawn(self, values):
        """The picture as PNG, and the caption with what was warned of."""
        with warnings.catch_warnings(record=True, action="always") as caught:
            picture, caption = self.draw(**values)
        notes = dict.fromkeys(html.escape(str(warning.message)) for warning in caught)
        png = picture if isinstance(picture, bytes) else figure_png(picture)
        return png, "<br>".join([caption, *notes])

    def _show_pinned(self, change):
        kept = f"<p><b>pinned:</b> {html.escape(self.settings())}</p>"
        shown = kept + picture_html(self.png, f"pinned: {self.alt}") + self.caption
        self.pinned.value = shown if change["new"] else ""

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
            [(self.controls[name], name, list(values)) for name, values in self.frames.items()],
            self.text,
        )
        return {FRAMES_KEY: page}


# -------------------------------------------------------------------- without Python: frames
def frames_page(drawn, controls, text):
    """A page that works without Python: sliders for some (control, its name, values).

    The pictures differ in a few lines only. So the first is kept whole, and each other as what it
    changes of it: a mostly transparent layer of a few kilobytes.

    `drawn` makes of their values a PNG and a caption in HTML.
    """
    names = [name for _, name, _ in controls]
    first, caption = drawn(**{name: control.value for control, name, _ in controls})
    background, frames = _pixels(first), []
    for point in itertools.product(*(values for *_, values in controls)):
        png, words = drawn(**dict(zip(names, point, strict=True)))
        frames.append([_layer(background, _pixels(png)), words])
    page = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True)
    return page.get_template("frames.html").render(
        controls=[(control.description, values, control.value) for control, _, values in controls],
        words=lambda values: Markup(html.escape(json.dumps([f"{v:g}" for v in values]))),
        alt=text,
        first=_text(Image.fromarray(background).quantize(256)),
        caption=Markup(caption),
        frames=Markup(json.dumps(frames).replace("</", "<\\/")),
    )


def _pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def _layer(background, pixels):
    """What a picture changes of the background, as PNG in base 64; empty where it is the same."""
    changed = (background != pixels).any(axis=2)
    if not changed.any():
        return ""
    layer = np.dstack([pixels, np.where(changed, 255, 0).astype(np.uint8)])
    layer[~changed] = 0
    return _text(Image.fromarray(layer).quantize(64, method=Image.Quantize.FASTOCTREE))


def _text(image):
    written = io.BytesIO()
    image.save(written, format="png")
    return base64.b64encode(written.getvalue()).decode()
