r"""Regular expressions: whole texts, one dialect, time in proportion to the text, and what is refused."""

from __future__ import annotations

import re
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheus.rules.regular_expressions import fault_in, fits

LETTERS = ("a", "b", "A", "7", " ", "_", "é", "É", "ß", "٣", "名", "😀", "\n", "\0", "-")


def random_pattern(random: Random, depth: int = 0, *, only_here: bool = True) -> str:
    """Write a regular expression; some have what Python's have not, unless ``only_here`` is false."""
    pieces = []
    for _ in range(random.randrange(4)):
        match random.randrange(8 if depth < 3 else 5):
            case 0 | 1:
                piece = re.escape(random.choice(LETTERS)).replace("\\\0", "\\x00").replace("\\\n", "\\n")
            case 2:
                piece = "."
            case 3:
                negated = random.choice(("", "^"))
                piece = f"[{negated}{random.choice(('a-b', 'é', 'A-Z0-9', 'a7名', ' -~'))}]"
            case 4:
                piece = random.choice(
                    (r"\d", r"\w", r"\S", r"\p{L}", r"\p{Nd}", "[[:alpha:]]", r"\Qa-b\E")[: 7 if only_here else 3]
                )
            case 5:
                choices = (random_pattern(random, depth + 1, only_here=only_here) for _ in range(random.choice((2, 3))))
                piece = f"(?:{'|'.join(choices)})"
            case 6:
                piece = f"({random_pattern(random, depth + 1, only_here=only_here)})"
            case _:
                piece = f"(?{random.choice('is')}:{random_pattern(random, depth + 1, only_here=only_here)})"
        repeated = random.choice(("", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?"))
        pieces.append(piece + repeated)
    return "".join(pieces)


def random_text(random: Random) -> str:
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(6)))


@pytest.mark.parametrize("seed", range(40))
def test_what_fits_in_arrow_fits_here(seed: int) -> None:
    """Arrow has the same dialect, from another build: it searches, so the pattern is anchored."""
    random = Random(seed)
    texts = ["", "\n", "\0", "a\0b", "é\n", *(random_text(random) for _ in range(30))]
    for _ in range(25):
        pattern = random_pattern(random)
        expected = pc.match_substring_regex(pa.array(texts), rf"\A(?:{pattern})\z").to_pylist()
        assert [fits(text, pattern) for text in texts] == expected, pattern


@pytest.mark.parametrize("seed", range(40))
def test_what_python_means_by_plain_patterns_is_meant_here(seed: int) -> None:
    random = Random(seed)
    texts = ["", "\n", "\0", "a\0b", "é\n", *(random_text(random) for _ in range(30))]
    for _ in range(25):
        pattern = random_pattern(random, only_here=False)
        if "(?i:" in pattern and "ß" in pattern:
            continue  # they fold the case of this letter differently
        expected = [
            re.compile(pattern, re.ASCII if "(?i:" not in pattern else 0).fullmatch(text) is not None for text in texts
        ]
        if "(?i:" not in pattern or not re.search(r"\\[dwS]", pattern):
            assert [fits(text, pattern) for text in texts] == expected, pattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("ab", "ab", True),
        ("ab", "abc", False),
        ("ab", "xab", False),
        ("", "", True),
        ("", "a", False),
        ("a|ab", "ab", True),
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        ("a", "a\n", False),
        ("a$", "a\n", False),
        ("(?m)a$\nb", "a\nb", True),
        ("(?i)É", "é", True),
        (r"\w", "é", False),
        (r"\p{L}", "é", True),
        (r"\d", "٣", False),
        (r"\p{Nd}", "٣", True),
        (".", "😀", True),
        ("a\0b", "a\0b", True),
        (r"a\x00b", "a\0b", True),
        (r"\x{e9}", "é", True),
        (r"a\{,3\}", "a{,3}", True),
        ("a{}", "a{}", True),
        (".", "\ud800", True),
    ],
)
def test_what_patterns_mean(pattern: str, text: str, expected: bool) -> None:
    assert fits(text, pattern) is expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 100_000 + "b"),
        ("(a|aa)+", "a" * 100_000 + "b"),
        ("(a*)*b", "a" * 100_000),
        ("(.*)(.*)(.*)(.*)x", "y" * 20_000),
        (r"(\p{L}+\s?)+!", "é" * 50_000),
        ("(?:a?){300}a{300}", "a" * 299),
    ],
)
def test_no_pattern_takes_more_than_its_time(pattern: str, text: str) -> None:
    """An engine that goes back and tries again would not come to an end."""
    assert fits(text, pattern) is False


@pytest.mark.parametrize(
    ("pattern", "written", "told"),
    [
        ("a(?=b)", "(?=", "is a lookahead"),
        ("a(?!b)", "(?!", "is a lookahead"),
        ("(?<=a)b", "(?<=", "is a lookbehind"),
        ("(?<!a)b", "(?<!", "is a lookbehind"),
        (r"(a)\1", r"\1", "is a backreference"),
        (r"\\1(a)\1", r"\1", "is a backreference"),
        ("(?P<n>a)(?P=n)", "(?P=", "is a backreference"),
        (r"(?<n>a)\k<n>", r"\k", "is a backreference"),
        ("(?>a)", "(?>", "is an atomic group"),
        ("a++", "++", "is a possessive repetition"),
        ("a{2}+", "{2}+", "is a possessive repetition"),
        ("(a)?(?(1)b|c)", "(?(", "is a condition"),
        ("a(?#b)", "(?#", "is a comment"),
        ("a(?R)", "(?R", "is a recursion"),
        ("(?ix)a b", "(?ix", "is a flag for blanks and comments"),
        ("(?a)b", "(?a", "is a flag for alphabets"),
        (r"a\Z", r"\Z", "is an end of the text"),
        (r"[a]\u00e9", r"\u", "is a way to write a character"),
        (r"a\C", r"\C", "is a single byte"),
        ("a{,3}", "{,3}", "is no number of repetitions"),
        ("a{2, 3}", "{2, 3}", "is no number of repetitions"),
        ("a{9999999999}", "{9999999999}", "is no number of repetitions"),
        ("a{1001}", "{1001}", "makes more than 1000 repetitions"),
        ("a{3,2}", "{3,2}", "goes from more to less"),
        ("a(b", "(", "is not closed"),
        (r"\Q(\E(b", "(", "is not closed"),
        ("[(]a)", ")", "closes nothing"),
        ("[a", "[", "is not closed"),
        ("a|*", "*", "has nothing to repeat"),
        ("a**", "**", "repeats a repetition"),
        ("z-a[z-a]", "z-a", "is no range of characters"),
        ("[[:foo:]]", "[:foo:]", "there is no class of characters"),
        (r"\p{Foo}", r"\p{Foo}", "there is no class of characters"),
        (r"a\y", r"\y", "there is no"),
        (r"[a-\d]", r"\d", "is no end of a range"),
        ("a\\", "\\", "ends with a backslash"),
        ("(?y)a", "(?y", "is a flag"),
        ("(?i", "(?i", "there is no group"),
    ],
)
def test_what_is_refused_is_named_with_its_place(pattern: str, written: str, told: str) -> None:
    fault = fault_in(pattern)
    assert fault is not None
    assert told in fault.message
    assert pattern[fault.start : fault.end] == written
    assert f"at letter {(fault.start or 0) + 1}" in fault.message
    assert fault.hint
    assert fits("a", pattern) is None


def test_what_is_too_large_has_no_place() -> None:
    fault = fault_in(r"(\p{L}{1,500}){1,2}")
    assert fault is not None
    assert (fault.message, fault.start) == ("this is not a regular expression: it is too large", None)


@given(
    st.text(st.sampled_from("ab\\(?[]{}12,*+=!<>:PZQE^-|).é\n\0") | st.characters(), max_size=20), st.text(max_size=8)
)
def test_any_text_is_a_pattern_or_has_a_fault(pattern: str, text: str) -> None:
    fault = fault_in(pattern)
    assert (fits(text, pattern) is None) == (fault is not None)
    if fault is not None and fault.start is not None:
        assert fault.end is not None
        assert 0 <= fault.start < fault.end <= len(pattern)
