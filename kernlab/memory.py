"""How much memory a computation may take, and a clear refusal before it takes more."""

import re

import psutil

UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


class MemoryLimitError(MemoryError):
    """Something would allocate more than it may; the text gives the arithmetic and a way out."""


def parse_bytes(amount):
    """Bytes from a number, or from a text such as "4GB" or "500 MB"."""
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([KMGT]?B?)\s*", amount, re.IGNORECASE)
        unit = match and match[2].upper()
        if not match or (unit not in UNITS and unit + "B" not in UNITS):
            raise ValueError(f"max_memory={amount!r} is not an amount: write bytes or e.g. '4GB'")
        amount = float(match[1]) * UNITS.get(unit, UNITS.get(unit + "B"))
    if not amount > 0:
        raise ValueError(f"max_memory must be positive, not {amount!r}")
    return int(amount)


def memory_limit(max_memory=None):
    """The limit in bytes: what the caller allows, or half of what the machine has left."""
    if max_memory is not None:
        return parse_bytes(max_memory)
    return psutil.virtual_memory().available // 2


def format_bytes(amount):
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.0f} bytes"


def require_memory(needed, max_memory, *, what, arithmetic, way_out, at_least=False):
    """Refuse with the arithmetic when `needed` bytes exceed the limit; nothing is allocated.

    `at_least`: counting has stopped at the limit, so that more may be needed.
    """
    limit = memory_limit(max_memory)
    if needed > limit:
        raise MemoryLimitError(
            f"{what} needs {'at least ' if at_least else ''}{format_bytes(needed)} ({arithmetic}), "
            f"but only {format_bytes(limit)} may be used. {way_out}"
        )
