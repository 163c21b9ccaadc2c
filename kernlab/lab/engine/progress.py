"""A progress bar with the time left: live on a terminal, a line now and then in a log."""

import sys

from tqdm import tqdm

from kernlab.runtime import wants_progress

_FORMAT = "{desc}: {percentage:3.0f}%|{bar:24}| {elapsed} so far, {remaining} left{postfix}"
_LOG_DELAY_SECONDS = 10
_LOG_INTERVAL_SECONDS = 30


class Progress:
    """Counts points, or predicted seconds where every point has a prediction."""

    def __init__(self, title, weights, shown=True):
        known = all(weight is not None for weight in weights) and sum(weights) > 0
        self._by_seconds = known
        live = sys.stderr.isatty()
        self._points, self._done = len(weights), 0
        self._bar = tqdm(
            desc=title,
            total=sum(weights) if known else len(weights),
            bar_format=_FORMAT,
            file=sys.stderr,
            disable=not (shown and wants_progress() and weights),
            leave=not live,  # in a log the line stays; it does nothing if it never showed
            delay=0 if live else _LOG_DELAY_SECONDS,
            mininterval=0.1 if live else _LOG_INTERVAL_SECONDS,
        )

    def __enter__(self):
        self._count()
        return self

    def __exit__(self, *_):
        self._bar.close()

    def finished(self, point, weight):
        """One more point is done."""
        self._done += 1
        self._count(str(point))
        self._bar.update(weight if self._by_seconds else 1)

    def _count(self, last=""):
        text = f"[{self._done} of {self._points} points]" + (f" {last}"[:60] if last else "")
        self._bar.set_postfix_str(text, refresh=False)
