"""The papers' tables, parsed from their texts: tab-separated and pipe tables alike."""

import re
from dataclasses import dataclass
from itertools import groupby

from paper_text import plain


@dataclass(frozen=True)
class PaperTable:
    """One table as it stands in a text; a header of two lines is joined as "upper|lower"."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def paper_tables(text):
    """All tables that have a caption, by its number: lists of contents and the like have none."""
    lines = text.split("\n")
    tables = {}
    for is_table, block in groupby(enumerate(lines), key=lambda item: _cells(item[1]) is not None):
        if not is_table:
            continue
        block = list(block)
        # A caption stands above its table or below it; a number that is taken is a neighbour's.
        captions = _adjacent_captions(lines, block[0][0], block[-1][0])
        number = next((number for number in captions if number not in tables), None)
        if number is not None:
            tables[number] = _table([_cells(line) for _, line in block])
    return tables


def _cells(line):
    if line.startswith("|"):
        return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
    if "\t" in line:
        return tuple(cell.strip() for cell in line.split("\t"))
    return None


_CAPTION = re.compile(r"\W*table\s+(\d+|[IVX]+)\b", re.IGNORECASE)
_ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7}


def _adjacent_captions(lines, first, last):
    above = [line for line in lines[max(first - 2, 0) : first] if line.strip()]
    below = [line for line in lines[last + 1 : last + 3] if line.strip()]
    matches = [_CAPTION.match(line) for line in above[-1:] + below[:1]]
    return [_ROMAN.get(match[1]) or int(match[1]) for match in matches if match]


def _table(lines):
    lines = [line for line in lines if not all(re.fullmatch(r":?-{3,}:?", cell) for cell in line)]
    upper, *rows = lines
    header = [plain(re.sub(r"<sup>.*?</sup>", "", cell)) for cell in upper]
    # A second header line is one that names no row.
    if rows and rows[0][0] in ("", "-"):
        spans = list(header)
        for i in range(1, len(spans)):
            spans[i] = spans[i] or spans[i - 1]
        lower = ["" if cell == "-" else plain(cell) for cell in rows.pop(0)]
        header = [f"{up}|{low}" if low else up for up, low in zip(spans, lower, strict=True)]
    return PaperTable(tuple(header), tuple(rows))
