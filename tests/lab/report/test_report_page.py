"""The report as HTML: whole, well-formed, self-contained, and nothing in it can break out."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
import report_demo

from kernlab.lab.engine import StudyError
from kernlab.lab.published import published, published_ids
from kernlab.lab.report import build_report, page, scoring

VOID = {"meta", "img", "br", "hr", "input", "link", "circle", "path", "wbr"}


class Page(HTMLParser):
    """Elements with attributes and text, and a check that tags are nested as they should be."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>"
        element = {
            "tag": tag,
            "text": "",
            "inside": [e["tag"] for e in self.open],
            **dict(attributes),
        }
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1]["tag"] == tag, f"</{tag}> closes <{self.open[-1]['tag']}>"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        return [
            e
            for e in self.elements
            if e["tag"] == tag and all(e.get(k) == v for k, v in attributes.items())
        ]


@pytest.fixture(scope="module")
def built(finished_run):
    path = finished_run / "quick" / "index.html"
    html = path.read_text("utf-8")
    return path, html, Page(html)


def test_all_sections_are_named_and_linked(built):
    parsed = built[2]
    ids = [e["id"] for e in parsed.elements if "id" in e]
    assert len(ids) == len(set(ids)), "an id twice"
    for section in ("scorecard", "gallery", "tables", "notebooks", "provenance"):
        assert section in ids
    for element in parsed.elements:
        for name in ("aria-labelledby", "for"):
            assert element.get(name, ids[0]) in ids


def test_every_link_resolves(built):
    path, _, parsed = built
    ids = {e["id"] for e in parsed.elements if "id" in e}
    links = [e["href"] for e in parsed.all("a")]
    assert len(links) > 60
    assert any(link.startswith("https://arxiv.org/abs/") for link in links)
    for link in links:
        if link.startswith("https://"):
            assert link in {published(id).attrs["link"] for id in published_ids()}
        elif link.startswith("#"):
            assert link[1:] in ids, link
        else:
            assert (path.parent / link).is_file(), link


def test_nothing_is_loaded_from_elsewhere(built):
    _, html, parsed = built
    for element in parsed.elements:
        assert element["tag"] not in ("link", "iframe", "object", "embed", "base")
        assert "src" not in element or element["src"].startswith("data:image/")
        assert not any(name.startswith("on") for name in element)
    assert not re.search(r"(?:src|url)\s*[=(]\s*['\"]?\s*(?:https?:)?//", html)
    (script,) = parsed.all("script")
    digest = base64.b64encode(hashlib.sha256(script["text"].encode()).digest()).decode()
    (policy,) = parsed.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert f"script-src 'sha256-{digest}'" in policy["content"]
    assert "default-src 'none'" in policy["content"]


def test_hostile_text_stays_text(built):
    """A caption, a message, a notebook's title and its error all try to break out."""
    _, html, parsed = built
    assert html.count("<script") == 1
    assert "onerror=alert(1)>" not in html
    texts = " ".join(e["text"] for e in parsed.elements if e["tag"] in ("td", "figcaption", "li"))
    assert texts.count(report_demo.HOSTILE) >= 4
    alts = [e["alt"] for e in parsed.all("img")]
    assert any(report_demo.HOSTILE in alt for alt in alts)


@pytest.mark.parametrize("name", ["report.js", "report.css"])
def test_what_is_inlined_unescaped_cannot_end_its_element(name):
    source = (Path(page.__file__).parent / name).read_text("utf-8").casefold()
    assert "</" not in source
    assert "<!--" not in source


def test_hostile_text_in_every_place_of_a_table(tmp_path, studies):
    table = report_demo.small_table().assign(dataset=report_demo.HOSTILE)
    table[report_demo.HOSTILE] = report_demo.HOSTILE
    table[f"{report_demo.HOSTILE} varies"] = [report_demo.HOSTILE, "a", "b"]
    (tmp_path / "quick" / "tables").mkdir(parents=True)
    table.to_csv(tmp_path / "quick" / "tables" / "lasn-t4.csv", index=False)
    html = build_report("quick", tmp_path).read_text("utf-8")
    assert html.count("<script") == 1
    assert "<img src=x" not in html


def test_the_scorecard_shows_every_number_and_says_each_reason_once(built):
    parsed = built[2]
    rows = [e for e in parsed.all("tr") if "data-status" in e]
    alone = [e for e in parsed.all("li") if "data-status" in e]
    assert len(rows) + len(alone) == sum(len(published(id)) for id in published_ids())
    assert {row["data-status"] for row in rows} == {"reproduced", "better", "different"}
    assert {e["text"] for e in parsed.all("td", **{"class": "from"})} == {"live"}
    reasons = parsed.all("td", **{"class": "reason"})
    assert len(reasons) == len(rows)
    assert all(e["text"].strip() for e in reasons)
    for table in parsed.all("details"):
        groups = re.findall(r"\d+: (.+)", table["text"]) if table["id"] in published_ids() else []
        assert len(groups) == len(set(groups))


def test_counts_add_up(built):
    """The headline counts results: as many as all papers have, and as all tables."""
    bars = [e["aria-label"] for e in built[2].all("div", role="img")]
    counts = [[int(n) for n in re.findall(r"(\d+) [a-z]", b.partition(": ")[2])] for b in bars]
    results = sum(published(id).attrs["kinds"].count("result") for id in published_ids())
    assert sum(counts[0]) == results > 0
    papers, tables = counts[1:6], counts[6:]
    for part in (papers, tables):
        assert [sum(column) for column in zip(*part, strict=True)] == counts[0]
    assert len(tables) == len(published_ids())


def test_figure_rows_printed_numbers_notebook_and_paper_are_linked(built):
    parsed = built[2]
    (figure,) = parsed.all("figure", id="figure-llsvm-prop1-time")
    for name in ("PNG", "SVG", "CSV", "rows", "notebook 00"):
        assert name in figure["text"]
    links = {e["href"] for e in parsed.all("a")}
    assert {"figures/llsvm-prop1-time.svg", "data/llsvm-prop1.csv", "#table-lasn-t4"} <= links
    assert {"#figure-llsvm-prop1-time", "#lasn-t4", "notebooks/00_start_here.html"} <= links


def test_every_figure_has_its_caption_as_alternative_text(built):
    parsed = built[2]
    pictures = [e for e in parsed.all("img") if "src" in e]
    assert len(pictures) == 4
    captions = [e["text"] for e in parsed.all("figcaption")]
    for picture in pictures:
        assert any(picture["alt"] in caption for caption in captions)


def test_without_anything_the_page_says_so(tmp_path, studies):
    path = build_report("quick", tmp_path)
    text = Page(path.read_text("utf-8")).all("main")[0]["text"]
    for words in (
        "No figures have been drawn",
        "No study has been run",
        "No notebook has been executed",
        "This machine; no study has been run",
    ):
        assert words in text
    assert "What went wrong" not in text
    left = sorted(file.name for file in path.parent.iterdir())
    assert left == ["data", "index.html", "scorecard.csv"]


def test_what_went_wrong_is_told_at_the_top(demo):
    (demo / "quick" / "tables" / "hss-t4.csv").write_bytes(b"")
    assert build_report("quick", demo) == demo / "quick" / "index.html"
    parsed = Page((demo / "quick" / "index.html").read_text("utf-8"))
    assert parsed.all("html")[0]["lang"] == "en"
    assert "quick" in parsed.all("title")[0]["text"]
    (aside,) = parsed.all("aside", **{"class": "problems"})
    assert "hss-t4.csv cannot be read" in aside["text"]


def test_no_folder_of_this_machine_is_named(built):
    assert str(built[0].parent) not in built[1]


def test_results_that_another_run_has_otherwise_are_listed(demo, tmp_path):
    card = pd.read_csv(demo / "quick" / "scorecard.csv")
    results = card.index[(card["kind"] == "result") & card["status"].isin(scoring.JUDGED)]
    near, value, status, time = results[:4]
    card.loc[[value, time], "measured"] *= 1.01
    card.loc[near, "measured"] *= 1 + 1e-6
    card.loc[status, "status"] = "not run"
    card.to_csv(tmp_path / "scorecard.csv", index=False)
    now = scoring.scorecard("quick", demo)
    now.loc[time, "unit"] = "s"
    assert scoring.changed(now, tmp_path)["status_then"].to_list() == [
        card["status"][value], "not run"
    ]  # fmt: skip
    parsed = Page(build_report("quick", demo, against=tmp_path).read_text("utf-8"))
    (listed,) = parsed.all("details", id="against")
    assert "3 results are other" in listed["text"]
    with pytest.raises(StudyError, match="name the folder"):
        build_report("quick", demo, against=tmp_path / "nowhere")
