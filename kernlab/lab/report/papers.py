"""The five papers' names on the page, and which of them a study belongs to."""

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.published import published, published_ids

PAPERS = {
    "llsvm": "LLSVM",
    "lasn": "LASN",
    "sparse": "Sparse Cholesky",
    "hss": "ADMM-HSS",
    "fpc": "FPC",
}
ACROSS = "across"


def paper_of(study_id):
    """The paper that a study belongs to, or "across" for those that compare papers."""
    prefix = study_id.split("-")[0]
    return prefix if prefix in PAPERS else ACROSS


def paper_name(paper):
    return PAPERS.get(paper, "Across the papers")


def reference(paper):
    """Authors, title and year of a paper; "" where none is known."""
    for study_id in published_ids():
        if paper_of(study_id) == paper:
            return published(study_id).attrs["reference"]
    return ""


def title_of(study_id):
    """What a study is about, in a few words."""
    if study_id in STUDIES:
        return STUDIES[study_id].title
    if study_id in published_ids():
        return published(study_id).attrs["title"]
    return study_id


def group_by_paper(things, study_of):
    """Things that belong to studies as a list of groups: paper, name and its things, in order."""
    groups = {paper: [] for paper in (*PAPERS, ACROSS)}
    for thing in things:
        groups[paper_of(study_of(thing))].append(thing)
    return [
        {"paper": paper, "name": paper_name(paper), "things": group}
        for paper, group in groups.items()
        if group
    ]
