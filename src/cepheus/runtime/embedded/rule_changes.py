"""What would have to be done for other rules to be at work: which are withdrawn, which deployed, and the difference."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from cepheus.core.errors import UnsupportedError
from cepheus.language.tesla import format_rule
from cepheus.rules.belief.model import Belief
from cepheus.rules.model import AnyRule, Rule, RuleSet
from cepheus.runtime.embedded.session import Session


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What would have to be done for the rules of a text to be at work.

    ``told`` has of each rule that differs its ``name``, its ``kind`` (deploy, change, withdraw) and its ``diff``.
    """

    added: RuleSet
    withdrawn: tuple[str, ...]
    told: tuple[dict[str, str], ...]

    @classmethod
    def of(cls, at_work: RuleSet, wanted: RuleSet) -> RuleChange:
        """Compare the rules of a session with others; what is no rule must be as it is, as no change could undo it."""
        present = {each.name: each for each in at_work.declarations}
        changed = [each.name for each in wanted.declarations if present.get(each.name, each) != each]
        if changed:
            raise _refused(f"the declaration of '{changed[0]}' differs from the one that is at work")
        if wanted.knowledge and wanted.knowledge != at_work.knowledge:
            raise _refused("the background knowledge differs from what is at work")
        if wanted.errors and wanted.errors != at_work.errors:
            raise _refused("the errors of attributes differ from what is at work")
        found = cls.between(rule_texts(at_work), wanted, at_work.beliefs)
        missing = tuple(each for each in wanted.declarations if each.name not in present)
        return replace(found, added=replace(found.added, declarations=missing))

    @classmethod
    def between(cls, before: Mapping[str, str], wanted: RuleSet, beliefs: Sequence[Belief] | None = None) -> RuleChange:
        """Compare the texts of rules at work with others; one that has changed is withdrawn and deployed anew.

        ``beliefs`` are the networks at work, where they are known: a rule whose network differs has changed, too.
        """
        if wanted.row_rules:
            raise UnsupportedError.of("rule-change", "queries over rows are not deployed while events flow")
        after: dict[str, AnyRule] = {str(rule.name): rule for rule in wanted.all_rules}
        networks = {belief.rule: belief for belief in wanted.beliefs}
        at_work = networks if beliefs is None else {belief.rule: belief for belief in beliefs}
        told: list[dict[str, str]] = []
        withdrawn: list[str] = []
        new: list[AnyRule] = []
        for name, text in before.items():
            written = rule_text(after[name]) if name in after else ""
            other_network = name in after and networks.get(name) != at_work.get(name)
            if text == written and not other_network:
                continue
            withdrawn.append(name)
            diff = _diff(text, written) or "another network"
            told.append({"name": name, "kind": "change" if name in after else "withdraw", "diff": diff})
        for name, rule in after.items():
            if name not in before:
                told.append({"name": name, "kind": "deploy", "diff": _diff("", rule_text(rule))})
            if name not in before or name in withdrawn:
                new.append(rule)
        names = {str(rule.name) for rule in new}
        added = RuleSet.of(new, tuple(belief for belief in wanted.beliefs if belief.rule in names))
        return cls(added, tuple(withdrawn), tuple(told))

    def apply(self, session: Session) -> None:
        """Withdraw and deploy; if the new rules are refused, those that were at work are at work again."""
        before = session.rules
        for name in self.withdrawn:
            session.withdraw(name)
        if not self.added.all_rules:
            return
        try:
            session.deploy(self.added)
        except BaseException:
            kept = [rule for rule in before.all_rules if str(rule.name) in self.withdrawn]
            if kept:
                networks = tuple(belief for belief in before.beliefs if belief.rule in self.withdrawn)
                session.deploy(RuleSet.of(kept, networks))
            raise


def _refused(message: str) -> UnsupportedError:
    return UnsupportedError.of("rule-change", message, hint="start anew with the other rules")


def rule_text(rule: AnyRule) -> str:
    """A rule as it is written in its language."""
    return format_rule(rule) if isinstance(rule, Rule) else str(rule)


def rule_texts(rules: RuleSet) -> dict[str, str]:
    """The texts of rules by name."""
    return {str(rule.name): rule_text(rule) for rule in rules.all_rules}


def _diff(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "at work", "wanted", lineterm="", n=99)
    return "\n".join(islice(lines, 2, None))
