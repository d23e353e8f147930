"""Rules to be looked at: their text in colours, what they do in words, their drawing."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.tree import Tree

from cepheus.core.display import page
from cepheus.explain import draw, rule_parts, tree
from cepheus.explain.interval import interval_tree
from cepheus.explain.rows import row_tree
from cepheus.language import etalis, tesla
from cepheus.notebook.html import folded, source_code
from cepheus.rules.model import RuleSet


@dataclass(frozen=True, slots=True)
class Explanation:
    """What rules do: print it for trees of words, or let a notebook show text, words and drawing."""

    rules: RuleSet

    def trees(self) -> list[Tree]:
        """A tree for each rule: what it waits for, what it chooses, what must not be there, what it makes."""
        patterns = [tree(rule_parts(rule)) for rule in self.rules.rules]
        return [*patterns, *map(interval_tree, self.rules.interval_rules), *map(row_tree, self.rules.row_rules)]

    def svg(self) -> str:
        """The drawing of all rules, as the text of an SVG file."""
        patterns = [rule_parts(rule) for rule in self.rules.rules]
        return draw(patterns, self.rules.interval_rules, self.rules.row_rules)

    def __str__(self) -> str:
        console = Console(width=200, color_system=None, highlight=False)
        with console.capture() as capture:
            for each in self.trees():
                console.print(each)
        return capture.get().rstrip("\n")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.trees()

    def _repr_html_(self) -> str:
        return page(*self._texts(), _in_words(str(self)), folded("drawing", self.svg()))

    def _texts(self) -> list[str]:
        """The text of the rules, in the language of each."""
        found = []
        if self.rules.rules:
            found.append(source_code(tesla.format_rules(_only_tesla(self.rules)), "tesla"))
        if self.rules.interval_rules:
            found.append(source_code(etalis.format_rules(_only_etalis(self.rules)), "etalis"))
        queries = [rule.query.span.text for rule in self.rules.row_rules if rule.query.span is not None]
        if queries:
            found.append(source_code(";\n\n".join(queries), "sql"))
        return found


def _in_words(text: str) -> str:
    return folded("in words", source_code(text, "text"))


def _only_tesla(rules: RuleSet) -> RuleSet:
    return RuleSet(rules.declarations, rules.rules, rules.beliefs, errors=rules.errors, ties=rules.ties)


def _only_etalis(rules: RuleSet) -> RuleSet:
    return RuleSet(interval_rules=rules.interval_rules, knowledge=rules.knowledge)
