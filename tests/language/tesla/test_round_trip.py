from __future__ import annotations

import json

from hypothesis import given

from cepheus.language.tesla import (
    format_event_pattern,
    format_pattern,
    format_rules,
    parse,
    parse_event_pattern,
    parse_pattern,
    reformat,
)
from cepheus.rules.check import check
from cepheus.rules.expressions import EventPattern
from cepheus.rules.json_form import from_json, to_json
from cepheus.rules.model import Pattern, RuleSet
from strategies.rules import event_patterns, patterns, rule_sets, valid_rule_sets


@given(rule_sets())
def test_what_is_printed_parses_to_the_same_rules(rules: RuleSet) -> None:
    assert parse(format_rules(rules)) == rules


@given(valid_rule_sets())
def test_valid_rules_print_and_parse(rules: RuleSet) -> None:
    text = format_rules(rules)
    assert parse(text) == rules
    assert reformat(text) == text
    assert check(parse(text)).rules == rules
    assert from_json(json.loads(json.dumps(to_json(rules)))) == rules


@given(patterns())
def test_patterns_print_and_parse(pattern: Pattern) -> None:
    assert parse_pattern(format_pattern(pattern)) == pattern


@given(event_patterns)
def test_events_print_and_parse(event: EventPattern) -> None:
    assert parse_event_pattern(format_event_pattern(event)) == event
