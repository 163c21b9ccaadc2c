"""Writers for the formats that kernlab reads, plain and independent of it."""

import bz2
import gzip
import lzma

import numpy as np

TINY = "+1 1:1 3:0.5\n-1 2:2\n+1 1:-1 2:3.25\n-1 3:1e-3\n"
"""The training rows of the set "tiny" in the tests' registry, by whose checksum it is known."""

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def write(folder, name, text, ending=""):
    data = text.encode() if isinstance(text, str) else text
    path = folder / f"{name}{ending}"
    path.write_bytes(PACKERS[ending](data))
    return path


def as_svmlight(X, y):
    lines = []
    for row, label in zip(X, y, strict=True):
        pairs = [f"{j}:{float(v)!r}" for j, v in enumerate(row, start=1) if v != 0]
        lines.append(" ".join([str(label), *pairs]))
    return "".join(f"{line}\n" for line in lines)


def as_table(X, y, separator=",", target_first=False):
    lines = []
    for row, label in zip(X, y, strict=True):
        fields = [repr(float(v)) for v in row]
        fields = [str(label), *fields] if target_first else [*fields, str(label)]
        lines.append(separator.join(fields))
    return "".join(f"{line}\n" for line in lines)


def as_arff(X, y):
    head = ["% a comment", "@relation made"]
    head += [f"@attribute f{j} real" for j in range(X.shape[1])]
    head += [f"@attribute class {{{','.join(sorted({str(label) for label in y}))}}}", "@data"]
    return "".join(f"{line}\n" for line in head) + as_table(X, y)


def as_idx(values):
    values = np.asarray(values, dtype=np.uint8)
    sizes = b"".join(size.to_bytes(4, "big") for size in values.shape)
    return bytes([0, 0, 8, values.ndim]) + sizes + values.tobytes()
