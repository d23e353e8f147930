"""The words of a policy: ``recent, once, longer``."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from cepheus.core.errors import Diagnostic, did_you_mean
from cepheus.core.source import Source, Span
from cepheus.language.common.tokens import span_of
from cepheus.rules.interval.model import Choice, ConsumptionPolicy, Preference

_CHOICES = {choice.value: choice for choice in Choice}
_PREFERENCES = {preference.value: preference for preference in Preference if preference is not Preference.ARRIVAL}
_BY_ATTRIBUTE = (Preference.GREATEST, Preference.LEAST)
_MODIFIERS = ("once", "renewing", "onesided")


def read_policy(words: Sequence[list[Token]], source: Source, errors: list[Diagnostic]) -> ConsumptionPolicy:
    """Read the words between the commas of a policy: the choice first, then what modifies it."""
    span = span_of(source, words[0][0], words[-1][-1])
    choice = _CHOICES.get(words[0][0].lower())
    if choice is None or len(words[0]) > 1:
        hint = did_you_mean(words[0][0].lower(), _CHOICES) or f"write one of {', '.join(_CHOICES)}"
        errors.append(Diagnostic("policy", f"there is no policy '{' '.join(words[0])}'", span, hint))
        choice = Choice.UNRESTRICTED
    once = choice is Choice.CHRONOLOGICAL
    renewing = onesided = False
    preference, attribute = Preference.ARRIVAL, None
    for word, *of in words[1:]:
        where = span_of(source, word, of[-1] if of else word)
        name = word.lower()
        if name in _PREFERENCES:
            if preference is not Preference.ARRIVAL:
                message = f"a policy has one preference, and this one is '{preference.value}' already"
                errors.append(Diagnostic("policy", message, where, "keep one of the two"))
            preference = _PREFERENCES[name]
            attribute = str(of[0]) if of else None
            _check_attribute(preference, attribute, where, errors)
        elif name in _MODIFIERS and not of:
            once, renewing = once or name == "once", renewing or name == "renewing"
            onesided = onesided or name == "onesided"
        else:
            known = (*_MODIFIERS, *_PREFERENCES)
            hint = did_you_mean(name, known) or f"write one of {', '.join(known)}"
            text = source.text[where.start : where.end]
            message = f"'{text}' cannot be added to a policy" if name in _CHOICES else f"there is no policy '{text}'"
            errors.append(Diagnostic("policy", message, where, hint))
    if choice is Choice.UNRESTRICTED and len(words) > 1:
        message = "the unrestricted policy takes every combination, so there is nothing to prefer or use up"
        errors.append(Diagnostic("policy", message, span, "write policy unrestricted"))
    return ConsumptionPolicy(choice, once, renewing, onesided, preference, attribute, span)


def _check_attribute(preference: Preference, attribute: str | None, span: Span, errors: list[Diagnostic]) -> None:
    if (preference in _BY_ATTRIBUTE) != (attribute is not None):
        needs = "needs a variable" if preference in _BY_ATTRIBUTE else "takes no variable"
        hint = "write greatest Volume, with a variable of the rule" if preference in _BY_ATTRIBUTE else None
        errors.append(Diagnostic("policy", f"'{preference.value}' {needs}", span, hint))


def format_policy(policy: ConsumptionPolicy) -> str:
    """Write a policy.

    >>> format_policy(ConsumptionPolicy(Choice.RECENT, once=True, preference=Preference.LONGER))
    'recent, once, longer'
    """
    words = [policy.choice.value]
    if policy.once and policy.choice is Choice.RECENT:
        words.append("once")
    if policy.renewing:
        words.append("renewing")
    if policy.onesided:
        words.append("onesided")
    if policy.attribute is not None:
        words.append(f"{policy.preference.value} {policy.attribute}")
    elif policy.preference is not Preference.ARRIVAL:
        words.append(policy.preference.value)
    return ", ".join(words)
