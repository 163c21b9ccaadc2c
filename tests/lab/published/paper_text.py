"""Comparing what the CSV files call printed with a paper's text, whose markup varies."""

import re
from fractions import Fraction

_SYMBOLS = {
    "times": "×",
    "pm": "±",
    "approx": "≈",
    "in": "∈",
    "geq": "≥",
    "leq": "≤",
    "ell": "ℓ",
    "sqrt": "√",
    "rceil": "⌉",
    "lceil": "⌈",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "sigma": "σ",
    "Lambda": "Λ",
    "left": "",
    "right": "",
    "mathbf": "",
    "text": "",
}
_WORDS = {"single": 1, "three": 3, "five": 5, "ten": 10, "linearly": 1, "quadratically": 2}
_MULTIPLES = {"million": 10**6, "thousands": 10**3}

_NUMBER = re.compile(
    r"(?P<mantissa>\d+(?:\.\d+)?)×10\^(?P<power>-?\d+)"
    r"|(?P<base>[1-9]\d*)\^(?P<exponent>-?\d+)"
    r"|(?P<sign>(?<=[\[(,])-)?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    rf"(?P<multiple>{'|'.join(_MULTIPLES)})?"
    rf"|(?P<word>{'|'.join(_WORDS)})"
)


def plain(text):
    """The text without tags, LaTeX and emphasis, and with no space but between two numbers."""
    text = re.sub(r"</?(?:b|i|sup)>", "", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _SYMBOLS.get(match[1], match[1]), text)
    text = re.sub(r"[$*`{}\\]", "", text.replace("}{", ","))
    return re.sub(r"\s+", " ", re.sub(r"\s+(?=\D)|(?<=[^\d.,])\s+", "", text)).strip()


def numbers(printed):
    """All numbers of a printed cell or snippet, in their order."""
    found = []
    for match in _NUMBER.finditer(plain(printed)):
        part = match.groupdict()
        if part["mantissa"]:
            found.append(float(f"{part['mantissa']}e{part['power']}"))
        elif part["base"]:
            found.append(float(Fraction(part["base"]) ** int(part["exponent"])))
        elif part["word"]:
            found.append(float(_WORDS[part["word"]]))
        else:
            value = float(part["digits"].replace(",", "")) * _MULTIPLES.get(part["multiple"], 1)
            found.append(-value if part["sign"] else value)
    return found


def occurs(snippet, plain_text):
    """Whether a snippet stands in a text given by `plain`, not cutting through a number."""
    snippet = plain(snippet)
    start = r"(?<!\d)(?<!\d[.,])" if snippet[:1].isdigit() else ""
    end = r"(?!\d)(?![.,]\d)" if snippet[-1:].isdigit() else ""
    return re.search(start + re.escape(snippet) + end, plain_text) is not None
