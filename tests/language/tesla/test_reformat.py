from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.core.errors import RuleError
from cepheus.language.tesla import format_rules, parse, reformat
from cepheus.rules.model import RuleSet
from strategies.rules import valid_rule_sets

MESSY = """\
-- What we watch.

# Sensors
event Temp( area:string,value:double ) ; event Smoke(area:string) // both declared
/* Fire, in short:
   smoke and heat */
Define Fire(area:string)   -- the answer
From Smoke(area = $a) /* first */ And Last Temp(area=$a, value>45)

  -- how long?
  Within 300 s From Smoke
Where area=Smoke.area -- done
event Late()

-- the end

/* really */
"""

TIDY = """\
-- What we watch.

# Sensors
event Temp(area: string, value: double)

// both declared
event Smoke(area: string)

/* Fire, in short:
   smoke and heat */
-- the answer
/* first */
-- how long?
-- done
define Fire(area: string)
from   Smoke(area=$a) and
       last Temp(area=$a and value>45) within 5 min from Smoke
where  area=Smoke.area

event Late()

-- the end

/* really */
"""


def test_layout_and_comments() -> None:
    assert reformat(MESSY) == TIDY
    assert reformat(TIDY) == TIDY


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("", ""),
        ("\n\n", ""),
        ("-- only this", "-- only this\n"),
        ("event A() event B()", "event A()\nevent B()\n"),
        ("event A()\n\n\nevent B()", "event A()\nevent B()\n"),
        ("event A() -- a\nevent B() -- b", "-- a\nevent A()\n\n-- b\nevent B()\n"),
        ("-- one\n\n\n\n-- two\nevent A()", "-- one\n\n-- two\nevent A()\n"),
        ("define B() from A event C()", "define B()\nfrom   A()\n\nevent C()\n"),
    ],
)
def test_small_texts(text: str, tidy: str) -> None:
    assert reformat(text) == tidy
    assert reformat(tidy) == tidy


def test_mistakes_are_reported_with_the_name_of_the_text() -> None:
    with pytest.raises(RuleError, match=r"^fire\.tesla:1:1: "):
        reformat("nonsense", "fire.tesla")


@given(valid_rule_sets(), st.data())
def test_comments_anywhere_are_kept_in_order(rules: RuleSet, data: st.DataObject) -> None:
    words = re.split(r"(\s+)", format_rules(rules))
    count = data.draw(st.integers(1, 4))
    places = sorted(data.draw(st.lists(st.integers(0, len(words)), min_size=count, max_size=count)), reverse=True)
    for number, place in zip(range(count, 0, -1), places, strict=True):
        shape = data.draw(st.sampled_from([" -- c{} \n", "\n\n# c{}\n\n", " /* c{}\n */ ", "// c{}\n"]))
        words.insert(place, shape.format(number))
    text = "".join(words)
    tidy = reformat(text)
    assert re.findall(r"(?:--|#|/\*|//) c(\d+)", tidy) == [str(number) for number in range(1, count + 1)]
    assert parse(tidy) == rules
    assert reformat(tidy) == tidy
