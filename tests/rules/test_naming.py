from cepheus.core.schema import EventType
from cepheus.rules.check.check import name_rules
from cepheus.rules.expressions import EventPattern
from cepheus.rules.model import Pattern, Rule, RuleSet


def names(*given: tuple[str, str | None]) -> list[str | None]:
    rules = tuple(Rule(EventType(composite), Pattern(EventPattern("X")), name=name) for composite, name in given)
    return [rule.name for rule in name_rules(RuleSet((), rules)).rules]


def test_rules_are_named_after_what_they_define() -> None:
    assert names(("A", None), ("B", None), ("A", "R1")) == ["A", "B", "R1"]


def test_names_that_are_taken_are_numbered_in_text_order() -> None:
    assert names(("A", None), ("A", None), ("A", None)) == ["A", "A_2", "A_3"]


def test_given_names_are_never_taken_wherever_they_stand() -> None:
    assert names(("A", None), ("A", None), ("B", "A_2"), ("B", "A")) == ["A_3", "A_4", "A_2", "A"]


def test_generated_names_do_not_clash_with_one_another() -> None:
    assert names(("A_2", None), ("A", None), ("A", None)) == ["A_2", "A", "A_3"]


def test_many_rules_of_one_type() -> None:
    found = names(*[("A", None)] * 20_000)
    assert found[-1] == "A_20000"
    assert len(set(found)) == 20_000
