r"""The regular expressions of ``matches``: one dialect for every engine and host, that of RE2.

RE2 takes time in proportion to the text, whatever the pattern is; an engine that goes back and tries again takes, for
``(a+)+$`` and a text that does not fit, twice as long for every further letter. The price is that there are no
lookarounds and no backreferences. The whole text must fit the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2


@dataclass(frozen=True, slots=True)
class PatternFault:
    """What is wrong with a regular expression, where (a range of its letters, if one can be told), and what to try."""

    message: str
    start: int | None
    end: int | None
    hint: str


def fits(text: str, pattern: str) -> bool | None:
    r"""Whether a whole text fits a regular expression; None if that is none.

    >>> fits("A12", "[A-Z]\\d+"), fits("A12 ", "[A-Z]\\d+"), fits("A12", "(")
    (True, False, None)
    """
    full_match = _compiled(pattern)
    return None if full_match is None else full_match(_bytes(text)) is not None


def fault_in(pattern: str) -> PatternFault | None:
    """Say what is wrong with a regular expression; None if it is one.

    >>> fault_in("a(?=b)").message
    "'(?=' at letter 2 is a lookahead, which regular expressions here do not have"
    >>> fault_in("a.*b") is None
    True
    """
    try:
        _read(pattern)
    except re2.error as error:
        return _refused(pattern) or _broken(pattern, error.args[0].decode("utf-8", "replace"))
    return _misread(pattern)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Callable[[bytes], object] | None:
    """What matches whole texts, each pattern read only once; None if it is no regular expression."""
    try:
        full_match: Callable[[bytes], object] = _read(pattern).fullmatch
    except re2.error:
        return None
    return full_match if _misread(pattern) is None else None


def _read(pattern: str) -> Any:
    options = re2.Options()
    options.never_capture = True  # nobody asks which part of the text a group fits
    options.log_errors = False
    return re2.compile(_bytes(pattern), options)


def _bytes(text: str) -> bytes:
    """Return a text as RE2 takes it; of texts, it would only make the same, and offsets besides."""
    return text.encode("utf-8", "surrogatepass")


_PIECE = re.compile(
    r"""
      (?P<quoted>\\Q(?s:.)*?(?:\\E|\Z))
    | (?P<escape>\\(?:[pPxNgk]\{[^}]{0,80}\}|(?s:.)|\Z))
    | (?P<set>\[\^?\]?(?:\[:\^?\w*:\]|\\(?s:.)|[^\]\\])*+\]?)
    | (?P<group>\(\?(?:P?<[=!]?|P[=>]|[-+]?\d+|[a-zA-Z-]+|(?s:.))?)
    | (?P<repeat>(?:[*+?]|\{(?!\})[\s\d]*+,?[\s\d]*+\})[+?]?)
    | (?P<letter>(?s:.))
    """,
    re.VERBOSE,
)
"""The pieces of a pattern, as far as they are needed to say what is wrong with it; none goes back far to be found."""

_COUNT = re.compile(r"\{(?:0|[1-9]\d{0,7})(?:,(?:0|[1-9]\d{0,7})?)?\}[+?]?")
"""What RE2 reads as a number of repetitions; it takes any other brace for itself."""


def _pieces(pattern: str) -> Iterator[re.Match[str]]:
    return _PIECE.finditer(pattern)


_AS_CONDITION = (
    "write a condition more: matches(.., '..') for what must fit as well, matches(.., '..') = false for what must not"
)
_NO_WAY_BACK = "no pattern goes back and tries again here"
_ALPHABETS = "leave it out: \\d and \\w are ASCII, \\p{Nd} and \\p{L} all digits and letters"
_FLAGS = "there are (?i) to ignore case, (?s) to let . be a new line, too, (?m) and (?U)"
_REFUSED: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(written), name, hint)
    for written, name, hint in (
        (r"\(\?[=!]", "a lookahead", _AS_CONDITION),
        (r"\(\?<[=!]", "a lookbehind", _AS_CONDITION),
        (r"\(\?P=|\\[1-9]|\\[gk]", "a backreference", "send both parts as attributes of their own, and compare these"),
        (r"\(\?>", "an atomic group", f"write (?:..): {_NO_WAY_BACK}"),
        (r"(?:[*+?]|\{[^}]*\})\+", "a possessive repetition", f"leave out the last +: {_NO_WAY_BACK}"),
        (r"\(\?\(", "a condition", "write both cases: (?:..|..)"),
        (r"\(\?#", "a comment", "write the comment outside of the text"),
        (r"\(\?(?:P>|&|R|[-+]?\d)", "a recursion", "write out as many levels as there can be"),
        (r"\(\?[imsU-]*+x", "a flag for blanks and comments", "write the pattern without them"),
        (r"\(\?[imsU-]*+[auL]", "a flag for alphabets", _ALPHABETS),
        (r"\(\?[imsU-]*+(?!P<)[a-zA-Z]", "a flag", _FLAGS),
        (r"\\Z", "an end of the text", "leave it out: the whole text must fit anyway"),
        (r"\\[uUN]", "a way to write a character", "write the character itself, or its number as in \\x{e9}"),
    )
)  # fmt: skip


def _refused(pattern: str) -> PatternFault | None:
    """Name what other dialects have and this one has not."""
    for piece in _pieces(pattern):
        if piece.lastgroup in ("group", "escape", "repeat"):
            for written, name, hint in _REFUSED:
                if found := written.match(piece[0]):
                    message = f"is {name}, which regular expressions here do not have"
                    return _fault_at(piece.start(), found[0], message, hint)
    return None


def _misread(pattern: str) -> PatternFault | None:
    """Refuse what RE2 takes otherwise than anyone would mean it: ``{,3}`` for itself, and bytes of a character."""
    for piece in _pieces(pattern):
        written = piece[0]
        if piece.lastgroup == "repeat" and written[0] == "{" and not _COUNT.fullmatch(written):
            hint = "write {0,3}, {3}, {3,} or {3,5}, with numbers up to 1000, or \\{ for the sign itself"
            return _fault_at(piece.start(), written, "is no number of repetitions", hint)
        if written == "\\C":
            return _fault_at(
                piece.start(), written, "is a single byte, which no text is made of", "write . for a character"
            )
    return None


def _broken(pattern: str, told: str) -> PatternFault:
    """Say in the words of this project what RE2 has told."""
    reason, _, about = told.partition(": ")
    start = _place_of(about, pattern)
    hint = "write a backslash before a sign that stands for itself, such as \\( or \\*"
    match reason:
        case "missing )" | "unexpected )":
            start, closed = _unpaired(pattern)
            about, message = pattern[start], "this ')' closes nothing" if closed else "this '(' is not closed"
        case "missing ]":
            about, message = "[", "this '[' is not closed"
        case "trailing \\":
            start, about, message = len(pattern) - 1, "\\", "it ends with a backslash"
        case "no argument for repetition operator":
            message = f"'{about}' has nothing to repeat"
        case "bad repetition operator":
            message, hint = f"'{about}' repeats a repetition", "put parentheses around the first: (?:a{2}){3}"
        case "invalid repetition size":
            message, hint = f"'{about}' makes more than 1000 repetitions", "length(..) tells how long a text is"
            if (numbers := [int(number) for number in re.findall(r"\d+", about)]) != sorted(numbers):
                message, hint = f"'{about}' goes from more to less", "write the smaller number first"
        case "invalid character class range" if about.startswith(("\\p", "\\P", "[:")):
            message = f"there is no class of characters '{about}'"
            hint = (
                "write \\p{L} for letters, \\p{Nd} for digits, \\p{Greek} for a script, [[:alpha:]] for those of ASCII"
            )
        case "invalid character class range":
            message, hint = (
                f"'{about}' is no range of characters",
                "write the smaller one first, or \\- for the sign itself",
            )
        case "invalid escape sequence" if about[1:] in tuple("dDsSwW"):
            message, hint = f"'{about}' is no end of a range", "write \\- for the sign itself"
        case "invalid escape sequence":
            message = f"there is no '{about}'"
            hint = "write a backslash before signs, such as \\( or \\*, and before the letters of classes, such as \\d"
        case "invalid perl operator" | "invalid named capture group":
            message, hint = f"there is no group '{about}'", "groups are (..), (?:..), (?P<name>..) and (?i:..)"
        case "invalid UTF-8":
            message, hint, start = "it has half a surrogate pair, which is no character", "leave it out", None
        case _:
            message, hint, start = "it is too large", "write fewer or smaller repetitions", None
    message = f"this is not a regular expression: {message}"
    if start is None:
        return PatternFault(message, None, None, hint)
    return PatternFault(f"{message} at letter {start + 1}", start, start + len(about), hint)


def _fault_at(start: int, written: str, message: str, hint: str) -> PatternFault:
    return PatternFault(f"'{written}' at letter {start + 1} {message}", start, start + len(written), hint)


def _place_of(about: str, pattern: str) -> int | None:
    """Find what RE2 complains of: at the beginning of a piece, or within a set."""
    for piece in _pieces(pattern):
        if about and pattern.startswith(about, piece.start()):
            return piece.start()
        if piece.lastgroup == "set" and about in piece[0]:
            return piece.start() + piece[0].index(about)
    return None


def _unpaired(pattern: str) -> tuple[int, bool]:
    """Find a parenthesis without its partner, and tell whether it is one that closes."""
    opened: list[int] = []
    for piece in _pieces(pattern):
        if piece[0][0] == "(" and piece.lastgroup != "quoted":
            opened.append(piece.start())
        elif piece[0] == ")":
            if not opened:
                return piece.start(), True
            opened.pop()
    return (opened[-1] if opened else 0), False
