"""The look that all figures share: a colour belongs to a method and a marker to a data set.

Names that nobody foresaw get theirs by a hash of the name, so that they too keep them.
"""

import base64
import hashlib
import io
import re
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from PIL import Image

STYLE_FILE = Path(__file__).with_name("kernlab.mplstyle")

# The first six stay apart under all three kinds of colour blindness (a test simulates them), and
# every colour has a contrast of at least 3 to the white card.
METHOD_COLOURS = MappingProxyType({
    "LLSVM": "#0062B0", "LASN": "#CC3311", "SparseCholeskySVC": "#009E73", "HSSSVC": "#882255",
    "FPC": "#B98800", "LIBSVM": "#222222", "KernelMachine": "#E830E8", "linear": "#8A82B5",
    "poly2": "#6D30E8", "random forest": "#6F5142", "ridge": "#8C8C8C", "subsample": "#5B7F95",
    "Nystroem + LinearSVC": "#308CE8", "sklearnex": "#500C72", "Fourier + Newton": "#0B8C99",
    "CVM": "#D4507A", "LaSVM": "#7A8F00", "RACQP": "#A65BD6", "AMM": "#B5651D",
    "hist boosting": "#E8540F", "LightGBM": "#3B7D23", "thundersvm": "#9C6B9E",
    "Parzen": "#7D7D46", "majority": "#5A5A5A",
})  # fmt: skip
_ALIASES = MappingProxyType({
    "sparse": "SparseCholeskySVC", "sparserbf": "SparseCholeskySVC",
    "sparsecholesky": "SparseCholeskySVC", "hss": "HSSSVC", "admmhss": "HSSSVC",
    "ladcd": "Nystroem + LinearSVC", "latron": "poly2", "rbfsvm": "LIBSVM", "poly2svm": "poly2",
    "svc": "LIBSVM", "svmrbf": "LIBSVM", "linearsvc": "linear", "liblinear": "linear",
    "linearsvm": "linear", "rf": "random forest", "libsvmsubsample": "subsample",
    "subsamplelibsvm": "subsample", "nystroem": "Nystroem + LinearSVC",
    "nystroemlinear": "Nystroem + LinearSVC",
})  # fmt: skip
_REMAINING_COLOURS = (
    "#A02911", "#2911A0", "#5F8F56", "#AC3972", "#85852C", "#1141A0",
    "#A06888", "#117777", "#C2622D", "#5F568F", "#4D6B1F", "#8A5AC2",
)  # fmt: skip

DATASET_MARKERS = MappingProxyType({
    "a9a": "o", "ijcnn1": "s", "w8a": "^", "cod-rna": "D", "covtype": "v", "mnist-round": "P",
    "svmguide1": "X", "mushrooms": "p", "phishing": "h", "skin_nonskin": "<", "madelon": ">",
    "magic": "d", "swiss-roll": "*", "checkerboard": "H", "fpc-toy": "8",
})  # fmt: skip
_REMAINING_MARKERS = (
    (4, 1, 0), (5, 1, 36), (6, 1, 0), (7, 1, 0), (8, 1, 0), (3, 1, 0), (3, 1, 180), (9, 1, 0),
    (7, 0, 0), (5, 0, 36), "$\u2663$", "$\u2660$",
)  # fmt: skip

BLUE, RED, GREEN, DARK = "#0062B0", "#CC3311", "#009E73", "#222222"
PURPLE, GREY, YELLOW, BROWN = "#882255", "#8C8C8C", "#B98800", "#6F5142"
QUIET = "#767676"
"""Guides, notes and whatever else should step back behind the data."""


@contextmanager
def house_style():
    """Draw in kernlab's style inside a ``with`` block, or in a function that this decorates."""
    settings = mpl.rc_params_from_file(STYLE_FILE, use_default_template=False)
    with mpl.rc_context():
        mpl.rcParams.update(settings)
        yield


def new_figure(nrows=1, ncols=1, *, panel=(4.8, 3.4), **subplots):
    """A figure in the house style with a grid of axes, apart from pyplot's global state.

    Parameters
    ----------
    nrows, ncols : int
        The grid. As with ``Figure.subplots``, one panel gives one axes and not an array.
    panel : (float, float)
        Width and height of one panel in inches.
    **subplots
        Handed to ``Figure.subplots``: sharex, sharey, width_ratios, ...

    Returns
    -------
    (Figure, axes)
    """
    with house_style():
        figure = Figure(figsize=(panel[0] * ncols, panel[1] * nrows))
        FigureCanvasAgg(figure)
        axes = figure.subplots(nrows, ncols, **subplots)
    return figure, axes


def message_figure(message):
    """A figure that says in words why there is nothing to draw."""
    lines = message.splitlines()
    width = 0.09 * max(map(len, lines), default=0) + 0.4  # inches of letters of 11 points
    figure, ax = new_figure(panel=(max(4.8, width), 1.4 + 0.2 * len(lines)))
    ax.set_axis_off()
    ax.text(0.5, 0.5, message, ha="center", va="center", color=QUIET, fontsize=11)
    return figure


def method_colour(name):
    """The colour of a method: listed, or chosen from the remaining palette by its name alone."""
    return _listed_or_hashed(name, METHOD_COLOURS, _REMAINING_COLOURS)


def dataset_marker(name):
    """The marker of a data set: listed, or chosen from the remaining shapes by its name alone."""
    return _listed_or_hashed(name, DATASET_MARKERS, _REMAINING_MARKERS)


def text_colour(colour, contrast=4.5):
    """The colour itself, darkened until text in it can be read on the white card."""
    rgb = np.array(to_rgb(colour))
    while contrast_to_white(rgb) < contrast:
        rgb = rgb * 0.96
    return to_hex(rgb)


def contrast_to_white(colour):
    """WCAG's contrast ratio between a colour and white, from 1 to 21."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05))


def _listed_or_hashed(name, listed, remaining):
    key = _canonical(name)
    key = _canonical(_ALIASES.get(key, key))
    for known, value in listed.items():
        if _canonical(known) == key:
            return value
    digest = hashlib.sha256(key.encode()).digest()
    return remaining[int.from_bytes(digest[:8], "big") % len(remaining)]


def _canonical(name):
    """Spelling aside: "LIBSVM, subsample" and "libsvm-subsample" are one method."""
    return re.sub(r"[\W_]+", "", str(name)).casefold()


def in_few_colours(picture):
    """In 256 colours, none far from its own: the usual way spends them on what is most frequent,
    and gives a light blue cell the colour of a light red one."""
    return picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=2)


def small_picture(png):
    """A picture for keeping in a notebook, in base 64."""
    kept = io.BytesIO()
    in_few_colours(Image.open(io.BytesIO(png))).save(kept, format="png", optimize=True)
    return base64.b64encode(kept.getvalue()).decode()
