"""Damaged files: a seed gives a file of rows with some bytes changed, and what it should hold.

What should be in it is read by parsers of our own, a few lines each, strict and slow.
"""

import gzip
import io
import math
from dataclasses import dataclass

import numpy as np
from verdicts import Verdict, dense

from kernlab.rows import DataError, as_rows
from kernlab.runtime import MemoryLimitError

KINDS = ("svmlight", "csv", "npy", "gz")
TOKENS = (
    b"nan", b"inf", b"1e999", b"-", b":", b"::", b" ", b"\t", b",", b",,", b"\n", b"\r", b"\r\n",
    b"\0", b"#", b"\xff", b"0:1", b"99999999999:1", b"2147483648:1", b"1_0", b"0x1",
    b"\xef\xbb\xbf", b"1e", b"+-1", b"True", b"\"", b"'", b"\"\"", b"9" * 400, b"-1:2",
    b"3:1 3:1", b"1.5:2", b"=1",
)  # fmt: skip


@dataclass
class DamagedFile:
    seed: int
    kind: str
    content: bytes
    said: str


def make_file(seed):
    """The damaged file of a seed, always the same."""
    draw = np.random.default_rng([seed, 21])
    kind = KINDS[draw.integers(len(KINDS))]
    n, p = int(draw.integers(1, 12)), int(draw.integers(1, 6))
    X, y = np.round(draw.normal(size=(n, p)), 3), draw.choice([-1, 1], n)
    content = {"npy": _as_npy, "csv": _as_csv}.get(kind, _as_svmlight)(X, y, draw)
    if kind == "gz":
        content = gzip.compress(content, mtime=0)
    done = []
    for _ in range(draw.integers(0, 4)):
        change = CHANGES[draw.integers(len(CHANGES))]
        content = change(content, draw)
        done.append(change.__name__)
    return DamagedFile(seed, kind, content, f"{kind} of {n} x {p}: {', '.join(done) or 'whole'}")


def _as_svmlight(X, y, draw):
    lines = []
    for row, label in zip(X, y, strict=True):
        entries = [f"{j}:{v}" for j, v in enumerate(row, 1) if draw.random() < 0.7]
        lines.append(" ".join([str(label), *entries]))
    return ("\n".join(lines) + "\n" * int(draw.integers(2))).encode()


def _as_csv(X, y, draw):
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    if draw.random() < 0.3:
        lines.insert(0, ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"]))
    return ("\n".join(lines) + "\n" * int(draw.integers(2))).encode()


def _as_npy(X, y, draw):
    stream = io.BytesIO()
    kinds = (np.float64, np.float32, np.int16, np.complex128, bool, ">f8", object, "U3")
    np.save(stream, X.astype(kinds[draw.integers(len(kinds)) if draw.random() < 0.5 else 0]))
    return stream.getvalue()


def flip_a_bit(content, draw):
    place = draw.integers(max(1, len(content)))
    return (
        content[:place]
        + bytes(b ^ (1 << draw.integers(8)) for b in content[place : place + 1])
        + (content[place + 1 :])
    )


def cut_off(content, draw):
    return content[: draw.integers(len(content) + 1)]


def cut_out_or_repeat(content, draw):
    start, stop = np.sort(draw.integers(0, len(content) + 1, 2))
    first, then = (start, stop) if draw.random() < 0.5 else (stop, start)
    return content[:first] + content[then:]


def insert_a_word(content, draw):
    place = draw.integers(len(content) + 1)
    return content[:place] + TOKENS[draw.integers(len(TOKENS))] + content[place:]


def insert_by_a_blank(content, draw):
    places = [i for i, byte in enumerate(content) if byte in b" ,\n"] or [len(content)]
    place = places[draw.integers(len(places))]
    return content[:place] + TOKENS[draw.integers(len(TOKENS))] + content[place:]


CHANGES = (
    flip_a_bit,
    cut_off,
    cut_out_or_repeat,
    cut_out_or_repeat,
    insert_a_word,
    insert_by_a_blank,
)


def judge_file(damaged, folder):
    """Read the file, and say what became of it: refused, or read as a strict parser reads it."""
    path = folder / f"{damaged.seed}.{damaged.kind}"
    path.write_bytes(damaged.content)
    try:
        rows = as_rows(path)
        X, y = dense(rows.whole()), rows.labels
        again = dense(rows.take(np.arange(len(rows))[::-1]))[::-1]
        rows.check_finite()
    except (DataError, MemoryLimitError, ValueError) as error:
        text = str(error)
        if path.name in text or text.startswith("row "):
            return Verdict("refused", text)
        return Verdict("unclear error", f"{type(error).__name__}: {text}")
    except Exception as error:
        return Verdict("unclear error", f"{type(error).__name__}: {error}")
    finally:
        path.unlink()
    if not np.array_equal(X, again):
        return Verdict("rows differ from one reading to the next")
    expected = _strictly(damaged)
    if expected is None:
        return Verdict("malformed, and taken", f"as {X.shape}: {damaged.content[:200]!r}")
    if expected is not Ellipsis and not _agree(expected, X, y):
        return Verdict("read as something else", f"{X.tolist()} from {damaged.content[:200]!r}")
    return Verdict("ok")


def _agree(expected, X, y):
    wanted, labels = expected
    width = max(wanted.shape[1], X.shape[1])
    if len(wanted) != len(X):
        return False
    wanted, found = (np.pad(Z, ((0, 0), (0, width - Z.shape[1]))) for Z in (wanted, X))
    return np.array_equal(wanted, found) and (labels is None or np.array_equal(labels, y))


def _strictly(damaged):
    """Rows and labels; None of a file that must be refused; ... where nothing is claimed."""
    content, kind = damaged.content, damaged.kind
    try:
        if content[:2] == b"\x1f\x8b":
            content, kind = gzip.decompress(content), "svmlight"
        if content[:6] == b"\x93NUMPY":
            made = np.load(io.BytesIO(content), allow_pickle=False)
            return (made.astype(np.float64), None) if made.ndim == 2 else None
        if kind == "npy":
            return ...
        # A comment may be of any encoding.
        lines = [line.partition(b"#")[0].decode().split() for line in content.split(b"\n")]
        if kind == "svmlight" and any(len(line) > 1 and ":" in line[1] for line in lines[:2]):
            return _svmlight([line for line in lines if line])
        return ... if kind == "svmlight" else _table(content.decode())
    except (ValueError, EOFError, OSError, IndexError):
        return None


def _svmlight(lines):
    X = np.zeros((len(lines), 1))
    for i, (_, *entries) in enumerate(lines):
        last = 0
        for entry in entries:
            index, value = entry.split(":")
            if not last < int(index) < 2**20:
                return None
            last = int(index)
            X = np.pad(X, ((0, 0), (0, max(0, last - X.shape[1]))))
            X[i, last - 1] = _number(value)
    return X, np.array([_number(line[0]) for line in lines])


def _table(text):
    lines = [line for line in text.split("\n") if line.strip()]
    if any(mark in text for mark in "\"'#;\t\ufeff\r") or not lines:
        return ...  # other separators, quoting and comments are not this parser's business
    fields = [[word.strip() for word in line.split(",")] for line in lines]
    head = not any(_is_number(word) for word in fields[0])
    if len({len(line) for line in fields}) > 1:
        return None
    if head or not all(_is_number(line[-1]) for line in fields) or len(fields[0]) == 1:
        return ...
    values = np.array([[_number(word) for word in line] for line in fields])
    return values[:, :-1], values[:, -1]


def _number(word):
    value = float(word)
    if "_" in word or not math.isfinite(value):
        raise ValueError(word)
    return value


def _is_number(word):
    try:
        return _number(word) is not None
    except ValueError:
        return False
