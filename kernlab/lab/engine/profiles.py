"""How much to compute: what a profile covers, and the longest that one point or notebook may take.

What a grid contains under a profile is the study's own affair; the limits are here.
"""

from dataclasses import dataclass

from kernlab.lab.engine.base import StudyError


@dataclass(frozen=True)
class Profile:
    name: str
    description: str
    cap_seconds: float | None  # a point predicted to take longer is not run
    notebook_cap_seconds: float | None  # a notebook that takes longer is reported
    needs_all_data: bool  # whether a data set that is not at hand counts as a failure
    # Whether rows are computed again once any numerical code of kernlab has changed. Where rows
    # cost hours they are kept, and it is said that they come from older code.
    follows_library: bool


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "quick",
            "data that comes with kernlab or is generated; minutes in all",
            cap_seconds=20,
            notebook_cap_seconds=30,
            needs_all_data=True,
            follows_library=True,
        ),
        Profile(
            "standard",
            "the real data found on this machine; two hours in all",
            cap_seconds=300,
            notebook_cap_seconds=1800,
            needs_all_data=False,
            follows_library=False,
        ),
        Profile(
            "paper",
            "the papers' own sizes and repeats, however long it takes",
            cap_seconds=None,
            notebook_cap_seconds=None,
            needs_all_data=True,
            follows_library=False,
        ),
    )
}


def get_profile(name):
    """The profile of this name."""
    try:
        return PROFILES[name]
    except KeyError:
        raise StudyError(
            f"There is no profile called {name!r}. There are: {', '.join(PROFILES)}."
        ) from None
