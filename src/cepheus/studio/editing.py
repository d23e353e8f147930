"""What the page asks while rules are written: mistakes, colours, completion, meanings, layout, drawings."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from cepheus.core.errors import CepheusError, OptionError, Severity
from cepheus.editor import python_text, queries
from cepheus.editor.analysis import Analysis, Language, analyse
from cepheus.editor.colours import Colour, colour_etalis, colour_tesla
from cepheus.editor.completion import complete
from cepheus.editor.navigation import formatted, meaning_at
from cepheus.explain import draw, rule_parts
from cepheus.language.python.read_text import is_python
from cepheus.rules.model import RuleSet
from cepheus.runtime.embedded.rule_sources import is_sql
from cepheus.studio.security import MOST_SENT
from cepheus.studio.workspace import Loaded, Workspace, diagnostics, program_of


class Text(BaseModel):
    """A rule text and the name that tells its language."""

    text: str = Field(max_length=MOST_SENT)
    name: str = Field(default="untitled", max_length=5000)


class Place(Text):
    """A place in a rule text."""

    offset: int = Field(ge=0)


class Drawn(Text):
    """A rule text, and which of its rules is to be drawn; none for all."""

    rule: str | None = None


def routes(workspace: Workspace) -> APIRouter:
    """The routes of the editor."""
    router = APIRouter(prefix="/api")

    @router.post("/analyse")
    def analyse_text(given: Text) -> dict[str, Any]:
        return analysed(given)

    @router.post("/complete")
    def completions(given: Place) -> list[dict[str, Any]]:
        offset = min(given.offset, len(given.text))
        match language_of(given.text):
            case "sql":
                found = queries.completions(given.text, offset)
            case "python":
                found = python_text.completions(given.text, offset)
            case _:
                found = complete(_with_types(_analysis(given), workspace.loaded), offset)
        return [
            {
                "label": each.label,
                "type": each.kind.value,
                "detail": each.detail,
                "info": each.meaning,
                "snippet": each.snippet,
            }
            for each in found
        ]

    @router.post("/hover")
    def hover(given: Place) -> dict[str, Any] | None:
        offset = min(given.offset, len(given.text))
        kind = language_of(given.text)
        if kind != "rules":
            told = (queries if kind == "sql" else python_text).meaning(given.text, offset)
            return None if told is None else {"text": told[0], "from": told[1], "to": told[2]}
        found = meaning_at(_analysis(given), offset)
        return None if found is None else {"text": found.text, "from": found.span.start, "to": found.span.end}

    @router.post("/format")
    def layout(given: Text) -> dict[str, str]:
        match language_of(given.text):
            case "sql":
                return {"text": queries.formatted(given.text)}
            case "python":
                hint = "format the module with the tool of your choice, such as ruff or black"
                raise OptionError.of("format", "Python is left as it is", hint=hint)
            case _:
                return {"text": formatted(_analysis(given))}

    @router.post("/draw")
    def drawing(given: Drawn) -> dict[str, str]:
        return {"svg": drawn(program_of(given.text).rules, given.rule)}

    @router.post("/save")
    def save(given: Text) -> dict[str, str]:
        document = next((each for each in workspace.documents if each.name == given.name and each.path), None)
        if document is None or document.path is None:
            raise OptionError.of("studio", f"'{given.name}' is not a file that the studio was given")
        path = workspace.allowed(document.path)
        _write(path, given.text)
        workspace.saved(document, given.text)
        return {"saved": document.name}

    return router


def _write(path: Path, text: str) -> None:
    """Put a text in the place of a file, at once: a new file, which nobody could have planted, takes its name."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OptionError.of("file", f"'{path.name}' cannot be written: {error.strerror}") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def analysed(given: Text) -> dict[str, Any]:
    """What is wrong with a text, its colours, and its rules if they make sense."""
    kind = language_of(given.text)
    if kind != "rules":
        return _analysed_otherwise(given.text, kind)
    analysis = _analysis(given)
    findings = [
        {
            "from": 0 if each.span is None else each.span.start,
            "to": 0 if each.span is None else each.span.end,
            "severity": "error" if each.severity is Severity.ERROR else "warning",
            "message": each.message,
            "hint": each.hint,
            "code": each.code,
        }
        for each in analysis.findings
    ]
    colours = colour_tesla if analysis.language is Language.TESLA else colour_etalis
    return {
        "language": analysis.language.value,
        "findings": findings,
        "colours": [
            [piece.start, piece.end, piece.colour.value]
            for piece in colours(given.text)
            if piece.colour is not Colour.PUNCTUATION
        ],
        "rules": [] if analysis.checked is None else rules_told(analysis.checked.rules),
    }


def language_of(text: str) -> Literal["rules", "sql", "python"]:
    """The kind of a rule text: rules of TESLA or ETALIS, queries in SQL, or Python, which is read and not run."""
    if is_sql(text):
        return "sql"
    return "python" if is_python(text) else "rules"


def _analysed_otherwise(text: str, kind: str) -> dict[str, Any]:
    """What is wrong with queries, or with rules in Python."""
    findings: list[dict[str, Any]] = []
    rules: list[dict[str, Any]] = []
    try:
        rules = rules_told(program_of(text).rules)
    except CepheusError as error:
        findings = [{"from": 0, "to": 0, "hint": None, **each, "severity": "error"} for each in diagnostics(error)]
    coloured = (queries if kind == "sql" else python_text).colours(text)
    colours = [[piece.start, piece.end, piece.colour.value] for piece in coloured]
    return {"language": kind, "findings": findings, "colours": colours, "rules": rules}


def rules_told(rules: RuleSet) -> list[dict[str, Any]]:
    """The rules of all languages: name, what they make, where they stand."""
    languages = {id(rule): "tesla" for rule in rules.rules} | {id(rule): "etalis" for rule in rules.interval_rules}
    return [
        {
            "name": str(rule.name),
            "composite": rule.composite.name,
            "language": languages.get(id(rule), "sql"),
            "attributes": [each.name for each in rule.composite.attributes],
            "span": None if rule.span is None else [rule.span.start, rule.span.end],
        }
        for rule in rules.all_rules
    ]


def drawn(rules: RuleSet, wanted: str | None = None) -> str:
    """The drawing of rules, or of one of them."""
    if wanted is not None and any(rule.name == wanted for rule in rules.all_rules):
        rules = RuleSet.of([rule for rule in rules.all_rules if rule.name == wanted])
    return draw([rule_parts(rule) for rule in rules.rules], rules.interval_rules, rules.row_rules)


def _with_types(analysis: Analysis, loaded: Loaded | None) -> Analysis:
    """What is known of a text where the loaded events tell the types that it does not declare."""
    if loaded is None:
        return analysis
    known = analysis.types()
    told = [each for each in loaded.types() if each.name not in known or not known[each.name].attributes]
    rules = replace(analysis.rules, declarations=(*told, *analysis.rules.declarations))
    return replace(analysis, rules=rules)


def _analysis(given: Text) -> Analysis:
    suffix = PurePath(given.name).suffix
    named = Language.ETALIS if suffix == ".etalis" else None
    return analyse(given.text, PurePath(given.name).stem or "untitled", named)
