"""Every number of every table of the papers against the CSV files, in both directions."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from paper_tables import paper_tables
from paper_text import numbers, occurs, plain

import kernlab
from kernlab.lab.published import published, published_ids

FOLDER = Path(kernlab.__file__).parent / "lab" / "published"
TABLE_IDS = [id for id in published_ids() if "-t" in id]
STATED = ("text, ", "caption: ", "footnote: ")
"""How the note of a number begins that stands in a sentence and not in a cell of a table."""


def read_csv(id):
    with (FOLDER / f"{id}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def split(records):
    """The records of a table's cells, and those of statements in captions and text."""
    stated = [record for record in records if record["note"].startswith(STATED)]
    return [record for record in records if record not in stated], stated


def cells_of(records):
    """What is printed in each cell, by row and column: a mean and its deviation are one of them."""
    return {
        (record["row"], re.sub(r" sd$|(?<=best C) \d$", "", record["column"])): printed
        for record in records
        if (printed := plain(record["printed"]))
    }


def grid_of(table, pairs=False):
    """The printed cells of a paper's table; with pairs, each row's by twos, a row for each pair."""
    grid = [[plain(cell) for cell in row[1:]] for row in table.rows]
    if pairs:
        across = range(0, len(grid[0]), 2)
        return [[cell for row in grid for cell in row[place : place + 2]] for place in across]
    return grid


def lines(cells, grid):
    """The cells of every row and of every column, as they are filed and as they are printed.

    No matter how rows and columns are called: a digit changed, a cell lost or two exchanged show.
    """
    filed = []
    for side in (0, 1):
        groups = {}
        for key, printed in cells.items():
            groups.setdefault(key[side], []).append(printed)
        filed.append(Counter(tuple(sorted(group)) for group in groups.values()))
    printed = [
        Counter(tuple(sorted(filter(None, line))) for line in way)
        for way in (grid, zip(*grid, strict=True))
    ]
    return filed, [each - Counter([()]) for each in printed]


def agrees(cells, grid):
    """Whether a file has the rows and columns of the paper, or the two exchanged."""
    filed, printed = lines(cells, grid)
    return filed in (printed, printed[::-1])


def text_mismatches(paper, records):
    """Statements that the text of a paper (as `plain` gives it) does not make."""
    problems = []
    for record in records:
        key = (record["row"], record["column"])
        if not occurs(record["printed"], paper):
            problems.append(f"{key}: the paper has no {record['printed']!r}")
        if record["value"] and float(record["value"]) != stated_value(record):
            problems.append(f"{key}: {record['value']} is not in {record['printed']!r}")
    return problems


def stated_value(record):
    """The number that a statement makes: its only one, or the one that the column points to."""
    found = numbers(record["printed"]) or [None]
    *_, last_word = record["column"].split(" ")
    if "{" in record["printed"] and last_word.isdigit():
        return found[int(last_word) - 1]
    if last_word in ("from", "to", "degree", "centres"):  # a range; a pair of FPC's parameters
        return found[0 if last_word in ("from", "degree") else -1]
    return found[0] if len(set(found)) == 1 else None


@pytest.fixture(scope="session")
def tables(papers):
    return {paper: paper_tables(text) for paper, text in papers.items()}


@pytest.fixture(scope="session")
def texts(papers):
    return {paper: plain(text) for paper, text in papers.items()}


def test_every_table_of_the_papers_has_an_id(tables):
    printed = {f"{paper}-t{number}" for paper in tables for number in tables[paper]}
    assert printed == set(TABLE_IDS)


def printed_grid(id, tables):
    paper, number = id.split("-t")
    return grid_of(tables[paper][int(number)], pairs=id == "llsvm-t3")


@pytest.mark.parametrize("id", TABLE_IDS)
def test_table_equals_the_papers(id, tables):
    cells, _ = split(read_csv(id))
    assert cells
    assert agrees(cells_of(cells), printed_grid(id, tables))


@pytest.mark.parametrize("id", published_ids())
def test_statements_stand_in_the_text(id, texts):
    _, stated = split(read_csv(id))
    if "-t" not in id:
        assert len(stated) == len(read_csv(id)) > 0
    assert text_mismatches(texts[id.split("-")[0]], stated) == []


def test_a_digit_changed_or_cells_swapped_are_noticed(tables, texts):
    """So that the comparisons above can fail."""
    cells, grid = cells_of(split(read_csv("lasn-t4"))[0]), printed_grid("lasn-t4", tables)
    (one, first), (other, second) = list(cells.items())[:2]
    assert agrees(cells, grid)
    for wrong in ({one: second, other: first}, {one: first + "1"}, {("one more", "k"): "1"}):
        assert not agrees(cells | wrong, grid)
    assert not agrees({key: cell for key, cell in cells.items() if key != one}, grid)
    stated = split(read_csv("fpc-f6"))[1]
    assert text_mismatches(texts["fpc"], [stated[0] | {"value": "123"}])
    assert text_mismatches(texts["fpc"], [stated[0] | {"printed": "123.456"}])


def test_no_sentence_of_a_paper_is_copied(papers):
    """Notes, titles and captions are our own; what is printed is a cell or a few words."""
    words = {paper: _words(text) for paper, text in papers.items()}
    phrases = {
        paper: {tuple(w[i : i + 7]) for i in range(len(w) - 6)} for paper, w in words.items()
    }
    for id in published_ids():
        frame = published(id)
        ours = [*frame["note"], frame.attrs["title"], frame.attrs["caption"]]
        for text in ours:
            own = _words(text)
            copied = {tuple(own[i : i + 7]) for i in range(len(own) - 6)} & phrases[
                id.split("-")[0]
            ]
            assert not copied, f"{id}: {text}"
        assert frame["printed"].map(lambda text: len(text.split())).max() <= 12


def _words(text):
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()
