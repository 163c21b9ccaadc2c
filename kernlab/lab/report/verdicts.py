"""The scorecard as the page shows it: per paper and per table, with counts and a map of tiles."""

from kernlab.lab.published import published
from kernlab.lab.report.papers import group_by_paper, reference
from kernlab.lab.report.score import STATUSES

# A sign beside the word: colour alone says nothing to many readers, and to no printer.
SIGNS = {"reproduced": "✓", "better": "▲", "different": "≠", "not run": "–"}

_TILE, _STEP, _LINES = 7, 8, 6


def tally(statuses):
    """How many numbers have each status, and their share: in the fixed order of the statuses."""
    counts = statuses.value_counts()
    total = max(len(statuses), 1)
    return {
        "total": len(statuses),
        "parts": [
            {
                "status": status,
                "slug": status.replace(" ", "-"),
                "sign": SIGNS[status],
                "count": int(counts.get(status, 0)),
                "share": 100 * int(counts.get(status, 0)) / total,
            }
            for status in STATUSES
        ],
    }


def paper_cards(card):
    """One entry per paper: reference, counts, and its tables with their rows."""
    tables = [_table(study_id, rows) for study_id, rows in card.groupby("study", sort=False)]
    groups = group_by_paper(tables, lambda table: table["id"])
    for group in groups:
        ids = [table["id"] for table in group["things"]]
        group["tables"] = group.pop("things")
        group["reference"] = reference(group["paper"])
        group["tally"] = tally(card.loc[card["study"].isin(ids), "status"])
    return groups


def tiles(statuses):
    """A small map: one tile per number, in printed order down and then across, coloured."""
    paths = dict.fromkeys(STATUSES, "")
    for i, status in enumerate(statuses):
        x, y = divmod(i, _LINES)
        paths[status] += f"M{x * _STEP} {y * _STEP}h{_TILE}v{_TILE}h-{_TILE}z"
    return {
        "width": -(-len(statuses) // _LINES) * _STEP - 1,
        "height": min(len(statuses), _LINES) * _STEP - 1,
        "paths": [
            {"slug": status.replace(" ", "-"), "d": path} for status, path in paths.items() if path
        ],
    }


def _table(study_id, rows):
    told = published(study_id).attrs
    return {
        "id": study_id,
        "title": told["title"],
        "caption": told["caption"],
        "source": told["source"],
        "tally": tally(rows["status"]),
        "tiles": tiles(rows["status"]),
        "cells": [
            {
                **cell._asdict(),
                "difference": cell.measured - cell.published,
                "slug": cell.status.replace(" ", "-"),
                "sign": SIGNS[cell.status],
            }
            for cell in rows.itertuples(index=False)
        ],
    }
