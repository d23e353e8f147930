"""The automaton of a rule: one sequence model per chain of events, from the farthest event to the terminator.

A transition carries the type, content and timing constraints of the event that takes it; dashed lines carry the
constraints between the events of two states. Negations and aggregates are decided when the terminator arrives or, with
a timer, at the moment that is then the last state.
"""

from __future__ import annotations

from cepheus.core.time import format_duration
from cepheus.explain.rule_parts import Part, Role, RuleParts
from cepheus.explain.svg import LINE_HEIGHT, Canvas, feet, levels, spread, text_width
from cepheus.language.tesla.print import scope_text
from cepheus.rules.expressions import Within

_RADIUS = 20
_LEVEL = 30
_WIDTH = 900  # where a row of boxes is broken


def automaton(rule: RuleParts) -> Canvas:
    """Draw the sequence models of a rule one below the other, then what is checked at the end."""
    canvas = Canvas()
    y = 0.0
    paths = sequences(rule)
    for path in paths:
        row = _sequence(rule, path)
        canvas.place(row, 0, y)
        y += row.height + 14
    across = [(part, link) for part in rule.selected for link in part.links if not _inside(part, link.others, paths)]
    for part, link in across:
        canvas.path(f"M0 {y + 10:g} H34", "parameter")
        how = "with a computed value" if any(other.startswith("$") for other in link.others) else "joins sequences"
        canvas.text(42, y + 14, f"{part.name}: {link.text}   {how}", "parameter-text")
        y += LINE_HEIGHT + 6
    if rule.conditions or rule.requirements:
        conditions = _conditions(rule)
        canvas.place(conditions, 0, y)
    return canvas


def sequences(rule: RuleParts) -> list[list[Part]]:
    """The chains of chosen events, each from an event that no other hangs from up to what decides the rule."""
    referred = {name for part in rule.selected for name in part.references}
    chains = []
    for part in rule.selected:
        if part.name in referred:
            continue
        chain = [part]
        while chain[-1].references:
            chain.append(rule.part(chain[-1].references[0]))
        chains.append(chain)
    return chains


def _inside(part: Part, others: tuple[str, ...], paths: list[list[Part]]) -> bool:
    return any({part.name, *others} <= {each.name for each in path} for path in paths)


def _sequence(rule: RuleParts, path: list[Part]) -> Canvas:
    canvas = Canvas()
    labels = [_label(part, path[index - 1] if index else None) for index, part in enumerate(path)]
    names = [part.name for part in path]
    links = [
        (index + 1, names.index(other) + 1, link.text)
        for index, part in enumerate(path)
        for link in part.links
        for other in link.others
        if set(link.others) <= set(names)
    ]
    rooms = [
        (i, i + 1, max(text_width(words) for words, _ in label) + 2 * _RADIUS + 36) for i, label in enumerate(labels)
    ]
    rooms += [(start, end, text_width(text) + 24) for start, end, text in links]
    centres = [x + 2 for x in spread([2 * _RADIUS] * (len(path) + 1), 60, rooms)]
    base = LINE_HEIGHT * max(len(label) for label in labels) + 12
    _draw_states(canvas, rule, path, centres, base)
    for index, label in enumerate(labels):
        start, end = centres[index] + _RADIUS, centres[index + 1] - _RADIUS - 3
        canvas.path(f"M{start:g} {base:g} H{end - 8:g}", "line")
        canvas.head(end, base, 1)
        for line, (words, css) in enumerate(reversed(label)):
            canvas.text((start + end) / 2, base - 9 - LINE_HEIGHT * line, words, css, "middle")
    _draw_links(canvas, links, centres, base)
    return canvas


def _label(part: Part, previous: Part | None) -> list[tuple[str, str]]:
    """Write what an event must satisfy to take a transition: type, content, time since the previous event."""
    alias = f" as {part.name}" if part.name != part.type else ""
    lines = [(f"{part.policy} {part.type}{alias}{part.per}".strip(), "type")]
    lines += [(text, "") for text in part.content]
    lines += [(f"{name} := {attribute}", "parameter-text") for name, attribute in part.binds]
    if previous is not None and previous.role is not Role.TERMINATOR and isinstance(previous.scope, Within):
        lines.append((f"at most {format_duration(previous.scope.duration)} after {previous.name}", "window-text"))
    return lines


def _draw_states(canvas: Canvas, rule: RuleParts, path: list[Part], centres: list[float], base: float) -> None:
    canvas.circle(centres[0], base, _RADIUS, "state start")
    initials = _initials([part.name for part in rule.selected])
    for part, x in zip(path, centres[1:], strict=True):
        final = part == rule.terminator
        canvas.circle(x, base, _RADIUS, "state accept" if final else "state")
        if final:
            canvas.circle(x, base, _RADIUS - 4, "accept-ring")
        canvas.text(x, base + 5, initials[part.name], "type", "middle")


def _initials(names: list[str]) -> dict[str, str]:
    """Choose for each state a short name: the first letter, with a number where letters repeat."""
    result: dict[str, str] = {}
    for name in names:
        letter = name[0].upper()
        alike = sum(short.startswith(letter) for short in result.values())
        result[name] = f"{letter}{alike + 1}" if alike else letter
    return result


def _draw_links(canvas: Canvas, links: list[tuple[int, int, str]], centres: list[float], base: float) -> None:
    spans = [(min(centres[a], centres[b]), max(centres[a], centres[b])) for a, b, _ in links]
    link_levels = levels(spans)
    for (left, right), level, (_, _, text) in zip(spans, link_levels, links, strict=True):
        y = base + _RADIUS + 16 + _LEVEL * level
        inset = feet(level, link_levels)
        start, end = left + inset, right - inset
        canvas.path(
            f"M{start:g} {base + _RADIUS + 2:g} V{y - 6:g} q0 6 6 6 H{end - 6:g} q6 0 6 -6 V{base + _RADIUS + 2:g}",
            "parameter",
            end,
            y,
        )
        canvas.text((start + end) / 2, y + 14, text, "parameter-text", "middle")


def _conditions(rule: RuleParts) -> Canvas:
    canvas = Canvas()
    when = rule.terminator.type if rule.is_timed else f"when {rule.terminator.name} arrives"
    canvas.text(0, 14, f"decided {when}:", "caption")
    x, top = 0.0, 24.0
    for part in rule.conditions:
        lines = _condition_lines(part)
        width = max(text_width(words) for words, _ in lines) + 24
        if x and x + width > _WIDTH:
            x, top = 0.0, canvas.height + 10
        area = (x, top, width, LINE_HEIGHT * len(lines) + 12)
        canvas.box(area, "not" if part.role is Role.NEGATED else "aggregate")
        for index, (words, css) in enumerate(lines):
            canvas.text(x + 12, top + 19 + LINE_HEIGHT * index, words, css)
        x += width + 16
    for requirement in rule.requirements:
        canvas.text(0, canvas.height + LINE_HEIGHT, f"must hold: {requirement}", "aggregate-text")
    return canvas


def _condition_lines(part: Part) -> list[tuple[str, str]]:
    css = "not-text" if part.role is Role.NEGATED else "aggregate-text"
    named = f"{part.name} = " if part.name.startswith("$") else ""
    head = f"{named}{part.policy}{' over' if part.role is Role.AGGREGATED else ''} {part.type}"
    lines = [(head, f"type {css}")]
    lines += [(text, "") for text in part.content]
    lines += [(link.text, "parameter-text") for link in part.links]
    if part.scope is not None:
        lines.append((scope_text(part.scope), "window-text"))
    if part.condition is not None:
        lines.append((f"must hold: {part.condition}", css))
    if part.purpose is not None:
        lines.append((f"for {part.purpose}", "quiet"))
    return lines
