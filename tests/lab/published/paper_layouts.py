"""How each printed table turns into the rows and columns of its CSV file.

A layout names, for every header of the printed table, the column and the unit that its cells take.
The tests hold the CSV files against what these layouts make of the papers' texts.
"""

import re
from dataclasses import dataclass

from paper_text import plain

NAN = float("nan")

# Printed labels of data sets, and the names that the package uses.
DATASETS = {
    "IJCNN": "ijcnn1",
    "covType": "covtype",
    "Ncheckerboard": "checkerboard",
    "mnist8m-b": "mnist8m-round",
    "ijcnn": "ijcnn1",
    "gisette_scale": "gisette",
    "gisetete_scale": "gisette",
    "rcv1_binary": "rcv1",
    "news20_binary": "news20",
    "Artificial ₁": "swiss-roll-1",
    "Artificial ₂": "swiss-roll-2",
    "Skin Segmentation": "skin_nonskin",
    "Covtype": "covtype",
    "Covtype (l = 29)": "covtype (l = 29)",
    "Covtype (l = 3)": "covtype (l = 3)",
    "CodRNA": "cod-rna",
    "Shuttle": "shuttle",
    "rcv1.binary": "rcv1",
    "rev1.binary": "rcv1",
    "cod.rna": "cod-rna",
    "skin.nonskin": "skin_nonskin",
    "skin.nonskin*": "skin_nonskin",
    "webspam.uni": "webspam",
    "webspam.uni*": "webspam",
    "susy*": "susy",
    "breast_cancer": "breast-cancer",
    "breast": "breast-cancer",
    "banknote_authentication": "banknote",
    "seismic_bumps": "seismic",
    "musk2": "musk",
    "HTRU2": "htru2",
    "MAGIC_Gamma_Telescope": "magic",
    "MAGIC": "magic",
    "default_of_credit_card_clients": "default",
    "Skin_NonSkin": "skin_nonskin",
    "Skin": "skin_nonskin",
}
METHODS = {
    "Libsvm": "LIBSVM",
    "Lasvm": "LaSVM",
    "LinearSVM": "Linear",
    "RBFsvm": "LIBSVM",
    "Poly2SVM": "Poly2",
    "LLSVM(ours)": "LLSVM",
    "LLSVM (ours)": "LLSVM",
    "(Cortes et al. , 2010)": "Cortes et al. 2010",
    "LinearSVM[35]": "Linear SVM",
    "Logit[35]": "Logit",
    "ADMM-DNN[41]": "ADMM-DNN",
    "CGP[19]": "CGP",
    "Re-scaledboosting": "Re-scaled boosting",
    "ϵ-boosting": "eps-boosting",
}
SOURCES = {"a": "Chang et al. 2010", "b": "Wang et al. 2011", "c": "run by the authors"}


@dataclass(frozen=True)
class Expected:
    """What a CSV file must hold for one number of a paper."""

    printed: str
    value: float
    unit: str
    notes: tuple[str, ...] = ()


def expected_numbers(id, tables):
    """All numbers (and cells without a number) of a printed table, by CSV row and column."""
    number = int(id.split("-t")[1])
    table = tables[number]
    if id == "llsvm-t3":
        return _methods_by_dataset(table)
    if id in TURNED:
        return _turned(id, table)
    return _rows_as_printed(id, table)


def _rows_as_printed(id, table):
    expected = {}
    headers = COLUMNS[id]
    assert list(table.header[1:]) == list(headers), f"{id} has other headers: {table.header}"
    for label, *cells in table.rows:
        row, notes = _named(_tidy(label))
        for (column, unit), cell in zip(headers.values(), cells, strict=True):
            expected |= _numbers_of(row, column, unit, cell, notes)
    return expected


def _turned(id, table):
    """Tables whose header names the methods: a method becomes a row."""
    expected = {}
    for i, header in enumerate(table.header[1:], 1):
        row, _ = _named(header)
        for label, *cells in table.rows:
            column, unit = TURNED[id][plain(re.sub(r"<sup>.*?</sup>", "", label))]
            expected |= _numbers_of(row, column, unit, cells[i - 1], ())
    return expected


def _methods_by_dataset(table):
    """LLSVM's Table 3: data sets above two columns each, methods at the left."""
    expected = {}
    for i, header in enumerate(table.header[1:], 1):
        dataset, quantity = header.split("|")
        row, notes = _named(dataset)
        for label, *cells in table.rows:
            cell = cells[i - 1]
            if label == "#landmark":
                if cell:
                    expected |= _numbers_of(row, "LLSVM landmarks", "landmarks", cell, notes)
                continue
            method, footnote = re.fullmatch(r"(\w+)\s*<sup>(\w)</sup>", label).groups()
            column = {"time": "time", "err(%)": "error"}[quantity]
            unit = "%" if column == "error" else plain(cell)[-1]
            expected |= _numbers_of(
                row,
                f"{METHODS.get(method, method)} {column}",
                unit,
                cell,
                (*notes, SOURCES[footnote]),
            )
    return expected


def _named(printed):
    row = DATASETS.get(printed, METHODS.get(printed, printed))
    return row, () if plain(row) == plain(printed) else (f"printed label {printed}",)


_MEAN_AND_SD = re.compile(r"([\d.,]+)(?:±([\d.,]+)|\(([\d.,]+)\))")
_COUNT = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?|\d+(\.\d+)?")


def _numbers_of(row, column, unit, cell, notes):
    notes = (*notes, "bold in the paper") if "<b>" in cell else notes
    printed = plain(cell)
    if column == "best C":
        return {
            (row, f"best C {i}"): Expected(printed, float(C), unit, notes)
            for i, C in enumerate(printed.split(","), 1)
        }
    if pair := _MEAN_AND_SD.fullmatch(printed):
        mean, sd = pair[1], pair[2] or pair[3]
        return {
            (row, column): Expected(printed, _number(mean), unit, notes),
            (row, f"{column} sd"): Expected(printed, _number(sd), unit, notes),
        }
    value = _number(re.sub(r"^\(k=|\)$|[shMG]$|CPUs,CrayXC30$", "", printed))
    return {(row, column): Expected(printed, value, _unit(unit, printed, value), notes)}


def _number(text):
    """A number as printed; NaN for what is none, a thousands comma out of place included."""
    return float(text.replace(",", "")) if _COUNT.fullmatch(text) else NAN


def _unit(unit, printed, value):
    if value != value:
        return ""
    return {"M": "MB", "G": "GB"}[printed[-1]] if unit == "file" else unit


def _tidy(label):
    return re.sub(r"\s+", " ", re.sub(r"</?i>|\$", "", label)).strip()


ROWS, FEATURES, CLASSES, PERCENT, SECONDS = "rows", "features", "classes", "%", "s"
_FPC = ("SVM-RBF", "SVM-Poly", "RF", "FPC")
_HSS_RUNS = {"Runtime[s]": ("time", SECONDS), "Accuracy[%]": ("accuracy", PERCENT)}
_HSS_PARTS = {
    "HSSConstruction|Compression[s]": ("compression time", SECONDS),
    "HSSConstruction|Factorization[s]": ("factorisation time", SECONDS),
    "HSSConstruction|Memory[MB]": ("memory", "MB"),
    "ADMMTime[s]": ("ADMM time", SECONDS),
    "BestParameters|h": ("best h", ""),
    "BestParameters|C": ("best C", ""),
    "Accuracy[%]": ("accuracy", PERCENT),
}

# By printed header: the column and the unit of the CSV file.
COLUMNS = {
    "llsvm-t1": {"kernelmap": ("kernel map", ""), "dimension": ("dimension", "")},
    "llsvm-t2": {
        "trainingsize": ("training rows", ROWS),
        "testingsize": ("test rows", ROWS),
        "dimension": ("features", FEATURES),
        "numberofclasses": ("classes", CLASSES),
        "filesize": ("file size", "file"),
    },
    "lasn-t1": {
        "numberofinstancen": ("training rows", ROWS),
        "numberoffeaturesp": ("features", FEATURES),
        "kernelparameterγ": ("gamma", ""),
        "Group": ("group", ""),
    },
    "lasn-t2": {
        "numberofinstancen": ("training rows", ROWS),
        "numberoffeaturesp": ("features", FEATURES),
    },
    "lasn-t3": {
        f"{method}|{header}": (f"{method} {column}", unit)
        for method in ("LA-SN", "LA-DCD", "LA-TRON")
        for header, column, unit in (
            ("t_linear(s)", "solve time", SECONDS),
            ("accuracy(%)", "accuracy", PERCENT),
        )
    },
    "lasn-t4": {
        "LIBSVM(L_2-loss)|t(s)": ("LIBSVM time", SECONDS),
        "LIBSVM(L_2-loss)|accuracy(%)": ("LIBSVM accuracy", PERCENT),
        "LASN|t(s)": ("LASN time", SECONDS),
        "LASN|accuracy(%)": ("LASN accuracy", PERCENT),
        "k": ("LASN landmarks", "landmarks"),
    },
    "sparse-t1": {
        "Trainpoints": ("training rows", ROWS),
        "Testpoints": ("test rows", ROWS),
        "Features": ("features", FEATURES),
        "Classes": ("classes", CLASSES),
    },
    "sparse-t2": {
        "σ": ("sigma", ""),
        "SparseKernel|Accuracy": ("sparse RBF accuracy", "fraction"),
        "SparseKernel|Time(s)": ("sparse RBF time", SECONDS),
        "RBFKernel(LibSVM)|Accuracy": ("RBF accuracy", "fraction"),
        "RBFKernel(LibSVM)|Time(s)": ("RBF time", SECONDS),
        "LinearKernel(LibLinear)|Accuracy": ("linear accuracy", "fraction"),
        "LinearKernel(LibLinear)|Time(s)": ("linear time", SECONDS),
        "Sparsity": ("sparsity", "fraction"),
        "TimeReduction": ("time reduction", "fraction"),
    },
    "hss-t1": {
        "Features": ("features", FEATURES),
        "TrainingSetDim.": ("training rows", ROWS),
        "Train_+": ("positive training rows", ROWS),
        "TestSetDim.": ("test rows", ROWS),
        "Test_+": ("positive test rows", ROWS),
    },
    "hss-t2": _HSS_RUNS,
    "hss-t3": _HSS_RUNS,
    "hss-t4": _HSS_PARTS,
    "hss-t5": _HSS_PARTS,
    "fpc-t1": {"Datasize": ("rows", ROWS), "#Attributes": ("features", FEATURES)},
    "fpc-t2": {method: (f"{method} accuracy", PERCENT) for method in _FPC}
    | {"Baseline": ("baseline accuracy", PERCENT)},
    "fpc-t3": {method: (f"{method} training time", SECONDS) for method in _FPC},
    "fpc-t4": {f"TestTime|{method}": (f"{method} test time", SECONDS) for method in _FPC}
    | {
        f"Averagesparsity|{method}": (f"{method} sparsity", unit)
        for method, unit in zip(
            _FPC, ("support vectors", "support vectors", "trees", "centres"), strict=True
        )
    },
}

_ACCURACY_AND_TIME = {
    "TestAcc(%)": ("accuracy", PERCENT),
    "TrainTime(seconds)": ("training time", SECONDS),
}
TURNED = {
    "llsvm-t4": {"Complexity": ("prediction cost", "")},
    "fpc-t5": _ACCURACY_AND_TIME,
    "fpc-t6": _ACCURACY_AND_TIME
    | {"Software": ("software", ""), "Hardware": ("hardware", "processors")},
    "fpc-t7": _ACCURACY_AND_TIME,
}
TABLE_IDS = sorted([*COLUMNS, *TURNED, "llsvm-t3"])
