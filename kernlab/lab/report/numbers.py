"""Numbers as a reader wants them: no noise digits, no exponent where none is needed."""

import itertools
import math

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def as_text(value, digits=5):
    """A number with a few significant digits; whole numbers in full, with thousands apart."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        text = f"{int(value):,}"
    elif 1e-4 <= abs(value) < 1e7:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = _without_zeros(f"{value:,.{places}f}")
    else:
        mantissa, _, exponent = f"{value:.{digits - 2}e}".partition("e")
        text = f"{_without_zeros(mantissa)}e{int(exponent):+d}"
    return text.replace("-", "−")


def _without_zeros(text):
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_difference(value):
    """A difference with its sign, to three digits."""
    text = as_text(value, 3)
    return f"+{text}" if text and value > 0 else text


def as_duration(seconds):
    """Seconds as a person would say them: 0.31 s, 42 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 60:
        return f"{as_text(seconds, 2)} s"
    whole = round(seconds)
    names = [*_UNITS, (1, "s")]
    for (size, name), (smaller, smaller_name) in itertools.pairwise(names):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{whole} s"


def as_size(size):
    """Bytes as kB, MB, GB."""
    size = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{as_text(size, 3)} {unit}"
        size /= 1000
    return ""
