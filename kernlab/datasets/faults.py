"""What is wrong with a malformed file: the first bad line, and why no number can be read there.

Slow and plain on purpose; it runs only after a compiled reader has refused the file.
"""

import csv
import itertools
import math
import re

from kernlab.datasets.streams import open_data


def describe_fault(path, layout, features, text_labels):
    """ ", line 12: what is wrong", or "" where nothing is found."""
    if layout.format == "idx":
        return ""
    check = _CHECKS[layout.format](layout, features, text_labels)
    with open_data(path, progress=False) as (stream, _):
        for number, line in enumerate(stream, start=1):
            try:
                wrong = check(line.decode("utf-8").strip())
            except UnicodeDecodeError:
                wrong = "this is not text"
            if wrong:
                return f", line {number}: {wrong}"
    return ""


def _svmlight_check(layout, features, text_labels):
    def check(line):
        words = line.partition("#")[0].split()
        if not words:
            return ""
        if not _is_finite(words[0]):
            return f"the label {_quoted(words[0])} is not a number"
        last = 0
        for word in words[1:]:
            index, colon, value = word.partition(":")
            if index == "qid":
                continue
            if not colon or not index.isdigit():
                return f"{_quoted(word)} is not INDEX:NUMBER"
            if not _is_finite(value):
                return f"the value of {_quoted(word)} is not a finite number"
            index = int(index)
            if index > features:
                return f"{_quoted(word)} is beyond the {features} features of this data set"
            if index <= last:
                return f"index {index} comes after {last}: indices start at 1 and must increase"
            last = index
        return ""

    return check


def _table_check(layout, features, text_labels):
    width = features + 1 + len(layout.drop)
    target = layout.target % width
    numbers = itertools.count(1)

    def check(line):
        if next(numbers) <= layout.header or not line:
            return ""
        if layout.separator == "blank":
            fields = line.split()
        else:
            fields = next(csv.reader([line], delimiter=layout.separator, skipinitialspace=True))
        if len(fields) != width:
            return f"{_count(len(fields), 'field')}, {width} expected"
        if layout.missing and layout.missing in fields:
            return ""
        for place, word in enumerate(fields):
            is_label = place == target
            if place in layout.drop or (is_label and text_labels and word.strip()):
                continue
            if not _is_finite(word):
                what = "the label" if is_label else f"field {place + 1}"
                return f"{what} is {_quoted(word) or 'empty'}, not a finite number"
        return ""

    return check


def _arff_check(layout, features, text_labels):
    declared = []
    in_data = False

    def check(line):
        nonlocal in_data
        if not line or line.startswith("%"):
            return ""
        if not in_data:
            if re.match(r"@attribute\b", line, re.IGNORECASE):
                listed = re.search(r"\{(.*)\}", line)
                declared.append([w.strip(" '\"") for w in listed[1].split(",")] if listed else None)
            elif re.match(r"@data\b", line, re.IGNORECASE):
                in_data = True
                if len(declared) != features + 1:
                    return f"{_count(len(declared), 'attribute')} declared, {features + 1} expected"
            elif not re.match(r"@relation\b", line, re.IGNORECASE):
                return f"{_quoted(line)} is not part of an ARFF head"
            return ""
        fields = [word.strip(" '\"") for word in line.split(",")]
        if len(fields) != len(declared):
            return f"{_count(len(fields), 'field')}, {len(declared)} expected"
        for place, (word, values) in enumerate(zip(fields, declared, strict=True), start=1):
            if values is None and not _is_finite(word):
                return f"field {place} is {_quoted(word)}, not a finite number"
            if values is not None and word not in values:
                return f"field {place} is {_quoted(word)}, not one of {', '.join(values)}"
        return ""

    return check


_CHECKS = {"svmlight": _svmlight_check, "csv": _table_check, "arff": _arff_check}


def _is_finite(word):
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _quoted(word):
    return repr(word if len(word) <= 40 else f"{word[:37]}...") if word else ""


def _count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
