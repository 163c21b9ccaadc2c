"""Which rows train, validate and test, and how features are scaled by what the training rows say.

`plan_split` turns what was asked for, the paper's protocol and the files that are there into sizes;
`split_rows` cuts the rows.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from kernlab.rows.arrays import stacked
from kernlab.rows.text import DataError
from kernlab.runtime import require_memory

PARTS = ("train", "valid", "test")
SPLITS = ("site", "printed", "shuffled")
SCALINGS = ("none", "unit", "symmetric", "standard")


@dataclass(frozen=True)
class Plan:
    """Where each part comes from.

    pooled : training and test files are one pool, cut at random; else the training file is cut in
        its own order, and the test file, where there is one, stays the test part.
    train, valid, test : rows; None for all that is left.
    held_out : rows drawn at random from the training rows for validation.
    """

    name: str
    pooled: bool
    train: int | None = None
    valid: int = 0
    test: int | None = None
    held_out: int = 0
    text: str = ""
    note: str = ""


def plan_split(entry, protocol, split, sizes, *, test_missing=False):
    """The `Plan` for a data set.

    Parameters
    ----------
    entry, protocol : DataSet, and Protocol of the paper, or the common one
    split : "site", "printed", "shuffled"; None for the protocol's own choice
    sizes : rows that the parts have, {"train": n} or with "test" too
    test_missing : whether the published test file is not available and may be missing
    """
    if split not in (None, *SPLITS):
        raise DataError(f"there is no split {split!r}; choose from {', '.join(SPLITS)}")
    chosen, note = split or protocol.split, ""
    if split is None and test_missing and chosen != "shuffled":
        chosen, protocol = "shuffled", replace(protocol, train_rows=None, test_rows=None)
        note = f"Split at random, because {entry.test_optional}."
    elif split is None and chosen == "site" and "test" not in sizes:
        chosen = "shuffled"
    make = {"site": _site, "printed": _printed, "shuffled": _shuffled}[chosen]
    plan = replace(make(entry, protocol, sizes), note=note)
    _check_sizes(entry, plan, sizes)
    return plan


def split_rows(plan, parts, rng_seed):
    """Cut the rows: {"train": (X, y), "valid": ... or None, "test": ...}."""
    seed = int(np.random.default_rng([rng_seed, 71]).integers(2**31))
    if plan.pooled:
        X, y = joined(*zip(*parts.values(), strict=True))
        cut = stratified_parts(y, [plan.train, plan.valid, plan.test], seed)
        return {part: _rows(X, y, rows) for part, rows in zip(PARTS, cut, strict=True)}
    X, y = parts["train"]
    train = np.arange(len(y) if plan.train is None else plan.train)
    valid = len(train) + np.arange(plan.valid)
    if "test" in parts:
        test_X, test_y = parts["test"]
        test = np.arange(len(test_y))
        if plan.test is not None and plan.test < len(test_y):
            (test,) = stratified_parts(test_y, [plan.test], seed)
    else:
        test_X, test_y = X, y
        start = len(train) + len(valid)
        test = np.arange(start, len(y) if plan.test is None else start + plan.test)
    if plan.held_out:
        kept = len(train) - plan.held_out
        chosen = stratified_parts(y[train], [kept, plan.held_out], seed)
        train, valid = train[chosen[0]], train[chosen[1]]
    cut = (X, y, train), (X, y, valid), (test_X, test_y, test)
    return {part: _rows(*rows) for part, rows in zip(PARTS, cut, strict=True)}


def stratified_parts(y, sizes, seed):
    """Disjoint random rows of the given sizes, each part with every class in its share; DataError
    where classes are too rare to be divided."""
    from sklearn.model_selection import train_test_split

    left, parts, state = np.arange(len(y)), [], np.random.RandomState(seed)
    for size in sizes:
        if size == 0:
            parts.append(left[:0])
        elif size == len(left):
            parts.append(state.permutation(left))
            left = left[:0]
        else:
            try:
                part, left = train_test_split(
                    left, train_size=size, stratify=y[left], random_state=state
                )
            except ValueError as error:
                raise DataError(
                    f"{size} of {len(left)} rows cannot be drawn with every class: {error}"
                ) from error
            parts.append(part)
    return parts


def _site(entry, protocol, sizes):
    held = _held_out(protocol, sizes["train"])
    if "test" in sizes:
        generated = entry.kind == "generated"
        source = "as generated" if generated else "the site's training and test files"
        text = f"{source}, {sizes['train']} and {sizes['test']} rows"
        test = protocol.test_rows
        if test is not None and test < sizes["test"]:
            text += f", of the latter {test} drawn at random"
        return _plan("site", text, test=test, held_out=held)
    if protocol.site_without_test == "first rows":
        train = _share(sizes["train"], protocol.train)
        held = _held_out(protocol, train)
        text = f"the first {protocol.train:.0%} of the file ({train} rows) train, the rest tests"
        return _plan("site", text, train=train, held_out=held)
    raise DataError(
        f"{entry.name} has no published test file, so there is no split='site' of it; "
        "use split='shuffled'"
    )


def _printed(entry, protocol, sizes):
    if protocol.paper is None:
        raise DataError("split='printed' needs a paper whose row counts are meant: paper='lasn'")
    if protocol.train_rows is None:
        raise DataError(
            f"{protocol.paper} prints no row counts for {entry.name}; "
            "use split='site' or 'shuffled'"
        )
    train, valid, test = protocol.train_rows, protocol.valid_rows or 0, protocol.test_rows
    held = _held_out(protocol, train) if protocol.hold_out else 0
    text = f"as printed: the first {train} rows of the file train"
    text += f", the next {valid} validate" if valid else ""
    if "test" in sizes:
        test = None
        text += ", the test file tests"
    else:
        text += f", the next {test} test" if test else ", the rest tests"
    return _plan("printed", text, train=train, valid=valid, test=test, held_out=held)


def _shuffled(entry, protocol, sizes):
    if entry.clean_test:
        held = _held_out(protocol, sizes["train"])
        return _plan("shuffled", "as generated, because the test labels are clean", held_out=held)
    total = sum(sizes.values())
    if protocol.train_rows is not None:
        train, valid, test = protocol.train_rows, protocol.valid_rows or 0, protocol.test_rows
        test = sizes.get("test", total - train - valid) if test is None else test
    elif protocol.valid or protocol.paper or "test" not in sizes:
        train, valid = _share(total, protocol.train), _share(total, protocol.valid)
        test = total - train - valid
    else:
        train, valid, test = sizes["train"], 0, sizes["test"]
    if protocol.hold_out:
        valid = train - _share(train, 1 - protocol.hold_out)
        train -= valid
    text = f"{train} training, {valid} validation and {test} test rows drawn at random from {total}"
    return Plan("shuffled", pooled=True, train=train, valid=valid, test=test, text=text)


def _held_out(protocol, train):
    """How many of the training rows validate."""
    if protocol.valid_rows:
        return protocol.valid_rows
    share = protocol.hold_out or protocol.valid / (protocol.train + protocol.valid)
    return train - _share(train, 1 - share)


def _plan(name, text, held_out=0, **sizes):
    """A plan that cuts the files in their order."""
    text += f"; {held_out} of the training rows, drawn at random, validate" if held_out else ""
    return Plan(name, pooled=False, held_out=held_out, text=text, **sizes)


def _share(rows, share):
    # 0.7 x 10 is 6.999...: what is a whole number on paper must not lose a row.
    return int(rows * share + 1e-6)


def _check_sizes(entry, plan, sizes):
    available = sum(sizes.values()) if plan.pooled or "test" not in sizes else sizes["train"]
    wanted = (plan.train or 0) + plan.valid
    wanted += (plan.test or 0) if plan.pooled or "test" not in sizes else 0
    if wanted > available or plan.held_out >= (plan.train or sizes["train"]):
        raise DataError(
            f"{plan.name} split of {entry.name} wants {wanted} rows, {available} are available"
        )


def joined(Xs, ys):
    """Rows one after the other, with their labels."""
    return stacked(Xs), stacked(ys)


def _rows(X, y, rows):
    """Those rows, or None where there are none; all rows in their order are not copied."""
    if len(rows) == 0:
        return None
    if len(rows) == len(y) and np.array_equal(rows, np.arange(len(y))):
        return X, y
    return X[rows], y[rows]


# ------------------------------------------------------------------------------------------ scaling
def scale(kind, X_train, *others):
    """The parts, scaled by what the training rows say; None stays None.

    "unit" maps each feature's range in the training rows to [0, 1], "symmetric" to [-1, 1],
    "standard" gives mean 0 and variance 1; None or "none" leaves all as it is. A constant feature
    becomes 0 ("symmetric": -1). Sparse rows stay sparse where scaling keeps zeros zero.
    """
    if kind in (None, "none"):
        return [X_train, *others]
    if kind not in SCALINGS:
        raise DataError(f"there is no scaling {kind!r}; choose from {', '.join(SCALINGS)} or None")
    from sklearn import preprocessing

    parts, scaler = [X_train, *others], preprocessing.StandardScaler()
    if kind != "standard":
        scaler = preprocessing.MinMaxScaler((0, 1) if kind == "unit" else (-1, 1))
    if sparse.issparse(X_train):
        if kind == "unit" and not np.any(X_train.min(axis=0).toarray()):
            scaler = preprocessing.MaxAbsScaler()  # the map to [0, 1] then, and zeros stay zeros
        else:
            parts = [_dense(part) for part in parts]
    scaler.fit(parts[0])
    return [None if part is None else scaler.transform(part) for part in parts]


def _dense(X):
    if X is None:
        return None
    require_memory(
        X.shape[0] * X.shape[1] * 8,
        None,
        what="scaling sparse rows so that zeros move",
        arithmetic=f"{X.shape[0]} rows x {X.shape[1]} features x 8 bytes",
        way_out='Use scaling="none", or "unit" where no feature is negative.',
    )
    return X.toarray()
