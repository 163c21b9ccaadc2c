"""An explorer that works without Python: every picture of a few controls, and a page around them.

The pictures differ in a few lines only. So the first is kept whole, and each other as what it
changes of it: a mostly transparent layer of a few kilobytes.
"""

import base64
import html
import io
import itertools
import json

import numpy as np
from PIL import Image

FRAMES_KEY = "kernlab_frames"  # in an output's metadata: the page that stands in for the widget
RUNNER_VARIABLE = "KERNLAB_NOTEBOOK"  # set where notebooks are run to be kept

_PAGE = """<div class="kernlab-frames"><div>{controls}</div>
<div style="position: relative; width: max-content; max-width: 100%">
<img alt="{alt}" style="max-width: 100%; display: block" src="data:image/png;base64,{first}">
<img alt="" style="position: absolute; inset: 0; width: 100%">
</div><p role="status">{caption}</p><script>(() => {{
  const root = document.currentScript.parentElement, frames = {frames};
  const inputs = [...root.querySelectorAll("input")];
  const show = () => {{
    const at = inputs.reduce((sum, input) => sum * (+input.max + 1) + +input.value, 0);
    const layer = root.querySelectorAll("img")[1], [png, caption] = frames[at];
    layer.src = png ? "data:image/png;base64," + png : "data:,";
    layer.style.visibility = png ? "visible" : "hidden";
    root.querySelector("p").innerHTML = caption;
    inputs.forEach((input) => {{
      const word = JSON.parse(input.dataset.words)[+input.value];
      input.nextElementSibling.textContent = word;
      input.setAttribute("aria-valuetext", word);
    }});
  }};
  inputs.forEach((input) => input.addEventListener("input", show));
  show();
}})();</script></div>"""

_CONTROL = (
    '<label style="margin-right: 2em">{name} <input type="range" min="0" max="{last}" value="{at}" '
    "data-words='{words}'> <output></output></label>"
)


def frames_page(drawn, controls, chosen, text):
    """A piece of HTML with sliders for some controls: name -> (description, values).

    `drawn` makes of their values a PNG and a caption in HTML; `chosen` are those to begin with.
    """
    first, caption = drawn(**chosen)
    background, frames = _pixels(first), []
    for point in itertools.product(*(values for _, values in controls.values())):
        png, words = drawn(**dict(zip(controls, point, strict=True)))
        frames.append([_layer(background, _pixels(png)), words])
    return _PAGE.format(
        controls="".join(_control(*each, chosen[name]) for name, each in controls.items()),
        alt=html.escape(text),
        first=_text(Image.fromarray(background).quantize(256)),
        caption=caption,
        frames=json.dumps(frames).replace("</", "<\\/"),
    )


def _control(description, values, first):
    words = html.escape(json.dumps([f"{value:g}" for value in values]))
    name, last, at = html.escape(description), len(values) - 1, values.index(first)
    return _CONTROL.format(name=name, last=last, at=at, words=words)


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
