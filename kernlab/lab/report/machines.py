"""The machines that the tables on a page were computed on."""

from kernlab.lab.engine.provenance import machine
from kernlab.lab.report.numbers import as_size


def machines(provenance):
    """The distinct machines behind the tables, the latest first, each as labelled lines of text.

    Where no study has left a provenance, it is the machine at hand, and the entry says so.

    Parameters
    ----------
    provenance : mapping
        From study id to the content of its provenance file.
    """
    found = {}
    for study_id, told in provenance.items():
        for run in told.get("runs", []):
            if not isinstance(run.get("machine"), dict):
                continue
            # What reads the same is the same machine: processes load libraries in varying order.
            described = _described(run["machine"])
            entry = found.setdefault(str(described), {**described, "last": "", "ids": set()})
            entry["last"] = max(entry["last"], str(run.get("finished", "")))
            entry["ids"].add(study_id)
    if not found:
        return [{**_described(machine()), "studies": 0, "last": ""}]
    return [
        {**entry, "studies": len(entry["ids"]), "last": entry["last"][:16].replace("T", " ")}
        for entry in sorted(found.values(), key=lambda entry: entry["last"], reverse=True)
    ]


def _described(told):
    return {"lines": _lines(told), "versions": sorted(told.get("versions", {}).items())}


def _lines(told):
    cores, logical = told.get("cores"), told.get("logical_cores")
    both = f"{cores}" if cores == logical else f"{cores} ({logical} logical)"
    memory = told.get("memory_bytes")
    lines = [
        ("Processor", told.get("processor")),
        ("Cores", both if cores else None),
        ("Memory", as_size(memory) if memory else None),
        ("BLAS", _blas(told)),
        ("Python", told.get("python")),
        ("System", told.get("system")),
    ]
    return [(label, str(value)) for label, value in lines if value]


def _blas(told):
    """The linear algebra libraries, each once and in a fixed order, and their kernels' processor.

    OpenBLAS chooses kernels by the processor, unless OPENBLAS_CORETYPE says which.
    """
    named = {
        " ".join(str(pool[key]) for key in ("internal_api", "version") if pool.get(key))
        + (f" (kernels for {pool['architecture']})" if pool.get("architecture") else "")
        for pool in told.get("blas", [])
        if pool.get("user_api") == "blas"
    }
    asked = told.get("blas_core_type_asked_for")
    return ", ".join(sorted(named) + ([f"OPENBLAS_CORETYPE={asked}"] if asked else []))
