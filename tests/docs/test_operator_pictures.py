"""The pictures of operators show what the rules give."""

from __future__ import annotations

import pytest
from operator_pictures import FOLDER, PICTURES, Picture, draw, found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_pictures_are_up_to_date(picture: Picture) -> None:
    assert found(picture), "a picture without anything found shows nothing"
    assert (FOLDER / f"{picture.name}.svg").read_text(encoding="utf-8") == draw(picture)
