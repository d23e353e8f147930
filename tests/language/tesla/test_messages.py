"""Typical mistakes and exactly what is said about them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cepheus.core.errors import RuleError
from cepheus.language.tesla import parse, parse_event_pattern, parse_pattern

MISTAKES = {
    "policy_missing": (
        """define F() from A() and B()""",
        """\
fire.tesla:1:25: error[syntax]: the event 'B' stands here without a selection
 1 | define F() from A() and B()
   |                         ^
  hint: say which to take: each B(..), last B(..), first B(..), or not B(..)""",
    ),
    "and_missing": (
        """define F() from A() last B() within 5 min from A""",
        """\
fire.tesla:1:21: error[syntax]: found 'last', expected 'and', where, consuming, min probability or the end
 1 | define F() from A() last B() within 5 min from A
   |                     ^^^^
  hint: 'and' is missing before it""",
    ),
    "and_missing_between_constraints": (
        """define F() from A(x==3 y=4)""",
        """\
fire.tesla:1:24: error[syntax]: found 'y', expected 'and' or ')'
 1 | define F() from A(x==3 y=4)
   |                        ^
  hint: 'and' is missing before it""",
    ),
    "window_missing": (
        """define F(x: int) from A() and last B() where x=1""",
        """\
fire.tesla:1:40: error[syntax]: found 'where', expected a window (within 5 min from A)
 1 | define F(x: int) from A() and last B() where x=1
   |                                        ^^^^^
  hint: say in which window: within 5 min from A""",
    ),
    "within_missing": (
        """define F() from A() and last B() 5 min from A""",
        """\
fire.tesla:1:34: error[syntax]: found the number 5, expected a window (within 5 min from A)
 1 | define F() from A() and last B() 5 min from A
   |                                  ^
  hint: 'within' is missing before it""",
    ),
    "within_misspelt": (
        """define F() from A() and last B() wihtin 5 min from A""",
        """\
fire.tesla:1:34: error[syntax]: found 'wihtin', expected a window (within 5 min from A)
 1 | define F() from A() and last B() wihtin 5 min from A
   |                                  ^^^^^^
  hint: did you mean 'within'?""",
    ),
    "unit_missing": (
        """define F() from A() and last B() within 5 from A""",
        """\
fire.tesla:1:43: error[syntax]: found 'from', expected a unit of time: us, ms, s, min, h, day or week
 1 | define F() from A() and last B() within 5 from A
   |                                           ^^^^
  hint: write the unit, such as 5 min or 5 s""",
    ),
    "unit_unknown": (
        """define F() from A() and last B() within 5 mni from A""",
        """\
fire.tesla:1:43: error[unit]: there is no unit of time 'mni'
 1 | define F() from A() and last B() within 5 mni from A
   |                                           ^^^
  hint: did you mean 'min'?""",
    ),
    "reference_missing": (
        """define F() from A() and last B() within 5 min""",
        """\
fire.tesla:1:46: error[syntax]: found the end, expected 'from' and the name of an earlier event
 1 | define F() from A() and last B() within 5 min
   |                                              ^
  hint: say which event the window ends at: within 5 min from A""",
    ),
    "interval_on_a_selection": (
        """define F() from A() and each B() between A and C""",
        """\
fire.tesla:1:34: error[syntax]: found 'between', expected a window (within 5 min from A)
 1 | define F() from A() and each B() between A and C
   |                                  ^^^^^^^
  hint: a selection takes a window; only 'not' and aggregates take an interval""",
    ),
    "scope_of_a_negation_missing": (
        """define F() from A() and not B()""",
        """\
fire.tesla:1:32: error[syntax]: found the end, expected a window (within 5 min from A) or an interval (between A and B)
 1 | define F() from A() and not B()
   |                                ^
  hint: say in which window: within 5 min from A""",
    ),
    "reference_with_parentheses": (
        """define F() from A() and last B() within 5 min from A()""",
        """\
fire.tesla:1:53: error[syntax]: found '(', expected 'and', where, consuming, min probability or the end
 1 | define F() from A() and last B() within 5 min from A()
   |                                                     ^
  hint: refer to the event by its name alone: A""",
    ),
    "interval_with_parentheses": (
        """define F() from A() and not B() between A and C()""",
        """\
fire.tesla:1:48: error[syntax]: found '(', expected 'and', where, consuming, min probability or the end
 1 | define F() from A() and not B() between A and C()
   |                                                ^
  hint: refer to the event by its name alone: C""",
    ),
    "or": (
        """define F() from A(x=1) or B(y=2)""",
        """\
fire.tesla:1:24: error[syntax]: found 'or', expected 'and', where, consuming, min probability or the end
 1 | define F() from A(x=1) or B(y=2)
   |                        ^^
  hint: conditions with 'or' stand in parentheses, and (a or b); for one event or another, write two rules""",
    ),
    "parenthesis_unclosed_at_the_end": (
        """define F()
from A(x=1""",
        """\
fire.tesla:2:11: error[syntax]: found the end, expected 'and' or ')'
 2 | from A(x=1
   |           ^
  hint: the '(' in line 2, column 7 is not closed""",
    ),
    "parenthesis_unclosed_before_the_next_event": (
        """define F()
from A(x=1 and last B() within 5 min from A""",
        """\
fire.tesla:2:21: error[syntax]: found 'B', expected a comparison such as = or <, 'and' or ')'
 2 | from A(x=1 and last B() within 5 min from A
   |                     ^
  hint: the '(' in line 2, column 7 is not closed""",
    ),
    "parenthesis_too_many": (
        """define F() from A(x)) where y=1""",
        """\
fire.tesla:1:21: error[syntax]: this ')' closes nothing
 1 | define F() from A(x)) where y=1
   |                     ^""",
    ),
    "value_missing": (
        """define F() from A(x=)""",
        """\
fire.tesla:1:21: error[syntax]: found ')', expected a value
 1 | define F() from A(x=)
   |                     ^""",
    ),
    "reserved_word": (
        """define From() from A()""",
        """\
fire.tesla:1:8: error[syntax]: found 'From', expected the name of the composite event
 1 | define From() from A()
   |        ^^^^
  hint: 'From' is a word of the language; choose another name, or write it in backquotes: `From`""",
    ),
    "policy_on_the_terminator": (
        """define F() from last A()""",
        """\
fire.tesla:1:17: error[syntax]: found 'last', expected an event such as Temp(value>45)
 1 | define F() from last A()
   |                 ^^^^
  hint: the first event is the terminator: every one counts, so it takes no selection""",
    ),
    "type_missing": (
        """define F(a) from A()""",
        """\
fire.tesla:1:11: error[syntax]: found ')', expected ':' and a type
 1 | define F(a) from A()
   |           ^
  hint: write the attribute's type, such as value: double""",
    ),
    "type_unknown": (
        """define F(a: strin) from A()""",
        """\
fire.tesla:1:13: error[type]: there is no attribute type 'strin'
 1 | define F(a: strin) from A()
   |             ^^^^^
  hint: did you mean 'string'?""",
    ),
    "function_unknown": (
        """define F(x: int) from A() where x=flor(3)""",
        """\
fire.tesla:1:35: error[function]: there is no function 'flor'
 1 | define F(x: int) from A() where x=flor(3)
   |                                   ^^^^
  hint: did you mean 'floor'?""",
    ),
    "define_misspelt": (
        """defin F() from A()""",
        """\
fire.tesla:1:1: error[syntax]: found 'defin', expected a rule (define .. from ..) or a declaration (event ..)
 1 | defin F() from A()
   | ^^^^^
  hint: did you mean 'define'?""",
    ),
    "rule_without_name": (
        """rule define F() from A()""",
        """\
fire.tesla:1:6: error[syntax]: found 'define', expected a name for the rule
 1 | rule define F() from A()
   |      ^^^^^^
  hint: name the rule, or leave out 'rule'""",
    ),
    "colon_in_where": (
        """define F(a: int) from A() where a: 3""",
        """\
fire.tesla:1:34: error[syntax]: found ':', expected '='
 1 | define F(a: int) from A() where a: 3
   |                                  ^
  hint: write =""",
    ),
    "other_event_in_where": (
        """define F(a: int) from A() where G.a=1""",
        """\
fire.tesla:1:33: error[assignment]: 'G' is not the event that this rule defines
 1 | define F(a: int) from A() where G.a=1
   |                                 ^
  hint: write F.a or only a""",
    ),
    "and_between_consumed": (
        """define F() from A() consuming A and B""",
        """\
fire.tesla:1:33: error[syntax]: found 'and', expected ',', min probability or the end
 1 | define F() from A() consuming A and B
   |                                 ^^^
  hint: separate the names with commas""",
    ),
    "probability_out_of_range": (
        """define F() from A() min probability 2""",
        """\
fire.tesla:1:37: error[probability]: 2 is not a probability
 1 | define F() from A() min probability 2
   |                                     ^
  hint: write a number from 0 to 1""",
    ),
    "string_unclosed": (
        """define F()
from A(x='abc)
event B()""",
        """\
fire.tesla:2:10: error[string]: this string is not closed on its line
 2 | from A(x='abc)
   |          ^^^^^
  hint: close it with ', or write \\n for a new line""",
    ),
    "comment_unclosed": (
        """define F() from A(x=1) /* foo""",
        """\
fire.tesla:1:24: error[comment]: this comment never ends
 1 | define F() from A(x=1) /* foo
   |                        ^^
  hint: write */""",
    ),
    "stray_character": (
        """define F() from A(x=3 & y=4)""",
        """\
fire.tesla:1:23: error[character]: '&' has no meaning here
 1 | define F() from A(x=3 & y=4)
   |                       ^
  hint: write 'and'""",
    ),
    "integer_too_large": (
        """define F() from A(x=99999999999999999999)""",
        """\
fire.tesla:1:21: error[number]: 99999999999999999999 does not fit in 64 bits
 1 | define F() from A(x=99999999999999999999)
   |                     ^^^^^^^^^^^^^^^^^^^^
  hint: write 99999999999999999999.0 for a double""",
    ),
    "float_too_large": (
        """define F() from A(x=1e999)""",
        """\
fire.tesla:1:21: error[number]: 1e999 is too large for a double
 1 | define F() from A(x=1e999)
   |                     ^^^^^
  hint: at most about 1.8e308""",
    ),
    "escape_unknown": (
        """define F() from A(matches(s, '\\d+'))""",
        """\
fire.tesla:1:30: error[string]: \\d is not an escape
 1 | define F() from A(matches(s, '\\d+'))
   |                              ^^^^^
  hint: write \\\\d for a backslash and d""",
    ),
    "window_too_long": (
        """define F() from A() and last B() within 99999999999 weeks from A""",
        """\
fire.tesla:1:41: error[duration]: 99999999999 is longer than time itself: at most 2^63-1 microseconds
 1 | define F() from A() and last B() within 99999999999 weeks from A
   |                                         ^^^^^^^^^^^^^^^^^""",
    ),
    "time_unreadable": (
        """define F() from A(x = timestamp '2026-13-01')""",
        """\
fire.tesla:1:23: error[timestamp]: '2026-13-01' is not a time
 1 | define F() from A(x = timestamp '2026-13-01')
   |                       ^^^^^^^^^^^^^^^^^^^^^^
  hint: write it as in timestamp '2026-01-31T10:00:00Z'""",
    ),
    "count_zero": (
        """define F() from A() and 0 last B() within 5 s from A""",
        """\
fire.tesla:1:25: error[count]: a selection takes at least one event
 1 | define F() from A() and 0 last B() within 5 s from A
   |                         ^
  hint: write 1 or more""",
    ),
    "aggregate_unused": (
        """define F() from A() and Avg(B().x within 5 min from A)""",
        """\
fire.tesla:1:25: error[aggregate]: this aggregate is not used
 1 | define F() from A() and Avg(B().x within 5 min from A)
   |                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: bind it or compare it: $t = Avg(..), Count(..) >= 3""",
    ),
    "condition_missing": (
        """define F() from A() and x+3""",
        """\
fire.tesla:1:25: error[aggregate]: found an expression where an event, an aggregate or a condition should be
 1 | define F() from A() and x+3
   |                         ^^^
  hint: every event has its selection and its window, such as last B(..) within 5 min from A""",
    ),
    "conditions_nested_too_deep": (
        """define F() from A(""" + "not " * 21 + """x)""",
        f"""\
fire.tesla:1:19: error[nesting]: conditions are nested more than 20 deep
 1 | define F() from A({"not " * 21}x)
   |                   {"^" * 85}
  hint: split the rule, or the condition over several parts""",
    ),
    "aggregate_without_value": (
        """define F() from A() and $t=Avg(B() within 5 min from A)""",
        """\
fire.tesla:1:28: error[aggregate]: Avg needs a value
 1 | define F() from A() and $t=Avg(B() within 5 min from A)
   |                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write the attribute behind the event: Avg(B(..).value ..)""",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_typical_mistakes(text: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(text, "fire.tesla")
    assert str(caught.value) == message


def test_one_broken_rule_does_not_hide_the_others() -> None:
    text = """
event Temp(value: doubel)
rule R1 define A() from Temp(value > 3 and)
rule R2 define B() from Temp(value > 1e999, x='\\q')
define C() from Temp() and last Smoke() within 3 parsecs from Temp
define D() from Temp() ?
event Fine(x: int)
"""
    with pytest.raises(RuleError) as caught:
        parse(text)
    found = [
        (finding.code, finding.span.line, finding.span.text) for finding in caught.value.diagnostics if finding.span
    ]
    assert found == [
        ("type", 2, "doubel"),
        ("syntax", 3, ")"),
        ("number", 4, "1e999"),
        ("string", 4, "'\\q'"),
        ("unit", 5, "parsecs"),
        ("syntax", 6, "?"),
    ]


def test_a_character_without_meaning_hides_no_other_rule() -> None:
    with pytest.raises(RuleError) as caught:
        parse("define A() from B(x \u00a7 3)\ndefine C() form D()")
    assert [(finding.code, finding.hint) for finding in caught.value.diagnostics] == [
        ("character", None),
        ("syntax", "did you mean 'from'?"),
    ]


def test_no_more_than_a_hundred_mistakes() -> None:
    with pytest.raises(RuleError) as caught:
        parse("define A() from B(x=)\n" * 1000)
    assert len(caught.value.diagnostics) == 100


def test_importing_the_language_builds_no_parser() -> None:
    code = (
        "import cepheus.language.tesla; from cepheus.language.tesla.parse import grammar; "
        "print(grammar.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_patterns_and_events_have_messages_too() -> None:
    with pytest.raises(RuleError) as caught:
        parse_pattern("")
    assert str(caught.value).startswith("<pattern>:1:1: error[syntax]: found the end, expected an event such as ")
    with pytest.raises(RuleError) as caught:
        parse_event_pattern("Temp(value>=12) Smoke()", "subscription")
    assert str(caught.value).startswith("subscription:1:17: error[syntax]: found 'Smoke', expected the end")
