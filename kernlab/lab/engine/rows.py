"""The rows of a study: on disk one by one as they finish, and as a tidy table.

`<id>.rows.jsonl` holds one line per finished point and is only ever appended to. A line that a kill
cut short is dropped when the file is next opened. A lock keeps a second process from appending to
the same file.
"""

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from io import StringIO
from pathlib import Path

import pandas as pd

from kernlab.lab.engine.errors import StudyError
from kernlab.paths import output_dir
from kernlab.rows.text import EXACT_NUMBERS

OK, FAILED, NOT_RUN = "ok", "failed", "not run"
DATA_MISSING = "data not found"  # how the message of a row begins that had none
# In the table's order; the study's parameters stand between `method` and `seed`, and what else a
# study measures before `threads`.
WHAT = ("study", "variant", "dataset", "method")
MEASURED = (
    *("seed", "repeat", "n_train", "n_features", "rank", "fit_seconds", "approximate_seconds"),
    *("solve_seconds", "predict_seconds", "peak_bytes", "train_accuracy", "cv_accuracy"),
    *("test_accuracy", "objective", "gap", "n_iter"),
)
HOW = ("threads", "seconds", "peak_note", "status", "message", "date", "machine", "code")
TEXT = (*WHAT, *HOW[2:], "source", "profile")
# The engine fills these in; a study measures all the others.
ENGINES_OWN = frozenset((*WHAT, *HOW, "seed", "repeat", "peak_bytes", "source", "profile"))


class NoResults(StudyError, FileNotFoundError):  # noqa: N818 - a state, not a mistake
    """A study has no table yet; the text gives the command that makes it."""


def tables_dir(profile_name, out=None):
    """The folder of a profile's tables."""
    return output_dir(profile_name, out) / "tables"


class RowStore:
    """The files of one study's finished points under one profile."""

    def __init__(self, study_id, folder):
        self.study_id, self.folder = study_id, folder
        self.rows_path = folder / f"{study_id}.rows.jsonl"
        self.table_path = folder / f"{study_id}.csv"
        self.provenance_path = folder / f"{study_id}.provenance.json"

    @contextmanager
    def locked(self, wait_seconds=0.0):
        """No other process runs this study here; the end of the process gives the lock back."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / f".{self.study_id}.lock").open("a+")
        except OSError as error:
            raise StudyError(
                f"The results of {self.study_id} cannot be written to {self.folder} "
                f"({error.strerror}). Name another folder with --out DIR or KERNLAB_OUT=DIR."
            ) from error
        with lock:
            give_up = time.monotonic() + wait_seconds
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() < give_up:
                        time.sleep(0.2)
                        continue
                lock.seek(0)
                raise StudyError(
                    f"Another process (number {lock.read().strip() or 'unknown'}) is running "
                    f"{self.study_id} into {self.folder}. Wait for it, or give this run a "
                    "folder of its own with --out DIR."
                )
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield self

    def load(self):
        """All records, in the order in which they finished."""
        if not self.rows_path.exists():
            return []
        content = self.rows_path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.rows_path, len(whole))
        return [record for line in whole.splitlines() if (record := _parsed(line))]

    def append(self, record):
        """Add one record; when this returns it is on the disk."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self.rows_path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def discard(self):
        """Forget everything computed so far."""
        for path in (self.rows_path, self.table_path, self.provenance_path):
            path.unlink(missing_ok=True)


def _parsed(line):
    """The record of a line, or None for a line that a fault of the disk has damaged."""
    with suppress(ValueError):
        record = json.loads(line)
        return record if isinstance(record, dict) and "point" in record else None
    return None


def to_frame(rows, parameter_names):
    """The table from rows given as dictionaries, or as a table."""
    known, table = (*WHAT, *parameter_names, *MEASURED), pd.DataFrame(rows)
    extra = [name for name in table if name not in {*known, *HOW}]
    table = table.reindex(columns=dict.fromkeys((*known, *extra, *HOW)))
    texts = table[[name for name in TEXT if name in table]].astype(object)
    return table.assign(**texts.where(texts.notna(), ""))


def parameter_names(table):
    """The columns of a table that are parameters of its points."""
    names = list(table)
    return names[names.index("method") + 1 : names.index("seed")]


def read_table(path):
    """The table from its CSV file: numbers exactly as written, texts as texts even when empty."""
    return table_of(Path(path).read_text(encoding="utf-8"))


def table_of(text):
    """As `read_table`, of the text of such a file."""
    names = pd.read_csv(StringIO(text), nrows=0).columns
    return pd.read_csv(
        StringIO(text), dtype={name: str for name in names if name in TEXT}, keep_default_na=False,
        na_values={name: [""] for name in names if name not in TEXT},
        low_memory=False, **EXACT_NUMBERS,
    )  # fmt: skip
