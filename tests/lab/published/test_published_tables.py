"""Every number of every table of the papers against the CSV files, in both directions."""

import csv
from pathlib import Path

import pytest
from paper_layouts import TABLE_IDS, expected_numbers
from paper_tables import paper_tables
from paper_text import numbers, occurs, plain

import kernlab
from kernlab.lab.published import published, published_ids

FOLDER = Path(kernlab.__file__).parent / "lab" / "published"
STATED = ("text, ", "caption: ", "footnote: ")
"""How the note of a number begins that stands in a sentence and not in a cell of a table."""


def read_csv(id):
    with (FOLDER / f"{id}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def split(records):
    """The records of a table's cells, and those of statements in captions and text."""
    stated = [record for record in records if record["note"].startswith(STATED)]
    return [record for record in records if record not in stated], stated


def table_mismatches(expected, records):
    """What a paper's table and the records of its cells do not agree on, one line each."""
    cells = {(record["row"], record["column"]): record for record in records}
    problems = [f"{key} is in the CSV file alone" for key in cells.keys() - expected.keys()]
    problems += [f"{key} is in the paper alone" for key in expected.keys() - cells.keys()]
    for key in expected.keys() & cells.keys():
        paper, record = expected[key], cells[key]
        value = float(record["value"] or "nan")
        if value != paper.value and not (value != value and paper.value != paper.value):
            problems.append(f"{key} is {paper.value} in the paper, {record['value']} in the CSV")
        if plain(record["printed"]) != paper.printed:
            problems.append(f"{key} is printed {paper.printed!r}, the CSV: {record['printed']!r}")
        if record["unit"] != (paper.unit if value == value else ""):
            problems.append(f"{key} has unit {paper.unit!r} in the paper, {record['unit']!r}")
        problems += [f"{key} lacks the note {x!r}" for x in paper.notes if x not in record["note"]]
        if "bold in the paper" in record["note"] and "bold in the paper" not in paper.notes:
            problems.append(f"{key} is not bold in the paper")
    return sorted(problems)


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
    assert printed == {id for id in published_ids() if "-t" in id}


@pytest.mark.parametrize("id", TABLE_IDS)
def test_table_equals_the_papers(id, tables):
    cells, _ = split(read_csv(id))
    assert cells
    assert table_mismatches(expected_numbers(id, tables[id.split("-")[0]]), cells) == []


@pytest.mark.parametrize("id", published_ids())
def test_statements_stand_in_the_text(id, texts):
    _, stated = split(read_csv(id))
    if "-t" not in id:
        assert len(stated) == len(read_csv(id)) > 0
    assert text_mismatches(texts[id.split("-")[0]], stated) == []


def test_a_digit_changed_or_cells_swapped_are_noticed(tables, texts):
    """So that the comparisons above can fail."""
    cells, stated = split(read_csv("lasn-t4"))
    expected = expected_numbers("lasn-t4", tables["lasn"])
    one, other = cells[0], cells[1]
    swapped = [one | {"column": other["column"]}, other | {"column": one["column"]}]
    last = str((int(one["printed"][-1]) + 1) % 10)
    for wrong in (
        swapped,
        [one | {"printed": one["printed"][:-1] + last}, other],
        [one | {"value": one["value"] + "1"}, other],
        [other],
        [one, other, one | {"row": "one more"}],
    ):
        assert table_mismatches(expected, [*wrong, *cells[2:]])
    stated = split(read_csv("fpc-f6"))[1]
    assert text_mismatches(texts["fpc"], [stated[0] | {"value": "123"}])
    assert text_mismatches(texts["fpc"], [stated[0] | {"printed": "123.456"}])


@pytest.mark.parametrize("id", published_ids())
def test_frame_equals_the_file(id):
    frame = published(id)
    records = read_csv(id)
    assert len(frame) == len(records)
    for got, record in zip(frame.to_dict("records"), records, strict=True):
        value = got.pop("value")
        expected = record.pop("value")
        assert value == float(expected) if expected else value != value
        assert got == record


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
