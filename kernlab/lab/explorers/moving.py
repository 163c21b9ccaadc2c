"""Pictures of which only a few lines move: the rest is drawn once, so that a slider feels instant.

Laying out axes, ticks and labels takes matplotlib some 100 ms, a line on them one or two.
"""

import io

import numpy as np
from PIL import Image

from kernlab.lab.explorers.base import DOTS_PER_INCH

_COMPRESSION = 3  # of 9: a third of the time of the default, for a picture a little larger


class MovingPicture:
    """A figure whose background is drawn once and whose moving artists are drawn at every move.

    The layout is fixed when the picture is made: artists move inside axes whose limits stay.
    """

    def __init__(self, figure, artists):
        self.artists = tuple(artists)
        for artist in self.artists:
            artist.set_animated(True)  # leaves it out of the background
        figure.set_dpi(DOTS_PER_INCH)
        self._canvas = figure.canvas
        self._canvas.draw()
        figure.set_layout_engine("none")
        self._background = self._canvas.copy_from_bbox(figure.bbox)

    def png(self):
        """The picture with its artists where they are now."""
        self._canvas.restore_region(self._background)
        for artist in self.artists:
            artist.axes.draw_artist(artist)
        picture = io.BytesIO()
        pixels = np.asarray(self._canvas.buffer_rgba())[..., :3]  # opaque: no need of the fourth
        Image.fromarray(np.ascontiguousarray(pixels)).save(
            picture, format="png", compress_level=_COMPRESSION
        )
        return picture.getvalue()
