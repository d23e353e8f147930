"""What a rule may be built of, as far as engines and hosts differ in what they run; and what flat programs have."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from types import MappingProxyType

from cepheus.core.errors import UnsupportedError
from cepheus.core.source import Span
from cepheus.kernel.instructions import MAX_STACK
from cepheus.kernel.program import MAX_POSITIONS, PolicyCode
from cepheus.plan.support import Support, Thing
from cepheus.rules.aggregates import AGGREGATES, AggregateFunction
from cepheus.rules.expressions import Aggregate, Call, Within
from cepheus.rules.functions import CONNECTIVES, FUNCTIONS
from cepheus.rules.model import Collection, FreeCondition, Negation, Rule, RuleSet, Selection
from cepheus.rules.policies import Policy, Take
from cepheus.rules.walk import walk


class Construct(Enum):
    """A construct, in the words of the support matrix and of refusals."""

    WINDOWS = "windows from any earlier event"
    PARAMETERS = "parameters, also ahead of the event that binds them"
    GROUPS = "a choice for each group (per)"
    OTHER_GROUPS = "a choice for each group by another policy than last and first"
    RANKINGS = "the greatest of many (top)"
    COLLECTIONS = "collections (all)"
    FULL_PROVENANCE = "naming the events that aggregates counted"
    CONDITIONS = "conditions joined by or, not, in, is null, and conditions among the parts of a pattern"
    RENAMED = "attributes under another name than the data's (code: string from id)"
    SINCE_START = "aggregates since the start"
    OTHER_TOTALS = (
        "aggregates since the start of computed or consumed values, of types that only the data tells, of members that "
        "another event must equal in what it may lack, of uncertain events"
    )
    NEGATION = "negation in a window or between two events"
    CONSUMPTION = "consumption"
    HIERARCHIES = "hierarchies and recursion"
    TIMERS = "timers (after, every)"
    TIES_ORDERED = "ties ordered"
    INTERVAL_RULES = "rules over intervals beside those of TESLA"
    ROW_QUERIES = "queries with MATCH_RECOGNIZE beside rules of TESLA"
    PROBABILITIES = "min probability"
    ERRORS = "errors of measurement"
    BELIEFS = "rules weighed by Bayesian networks"
    LOCAL_FUNCTIONS = "functions of the program itself (@udf)"
    TEXT_FUNCTIONS = "functions of one string attribute"
    FUNCTIONS_OF_TWO_TEXTS = "functions of two string attributes"
    ORDER_OF_TWO_TEXTS = "the order (<, <=, >, >=) of two string attributes"
    EXTREMES_OF_TEXTS = "Min and Max of strings"
    LONG_PATTERNS = f"patterns of more than {MAX_POSITIONS} events"
    DEEP_EXPRESSIONS = f"expressions that hold {MAX_STACK} values or more at once"
    UNTOLD_TYPES = "comparing attributes whose types only the data tells, other than for equality of two events"
    OTHER_TYPE = "an attribute as another type than rules deployed before read it as"
    UNCERTAIN_FORMS = (
        "uncertain attributes in other than closed forms: linear, one form for each of them, Normal sums, "
        "no function of all members"
    )


def _has_code(record: AggregateFunction) -> bool:
    from cepheus.plan.aggregate_codes import code_of  # it knows the kernels, which take a while to import

    return code_of(record) is not None


COMPILED = Support(
    "columns",
    "the fast engines do",
    "choose the engine reference",
    frozenset(
        {
            Construct.WINDOWS,
            Construct.PARAMETERS,
            Construct.GROUPS,
            Construct.RANKINGS,
            Construct.COLLECTIONS,
            Construct.FULL_PROVENANCE,
            Construct.CONDITIONS,
            Construct.RENAMED,
            Construct.SINCE_START,
            Construct.NEGATION,
            Construct.CONSUMPTION,
            Construct.HIERARCHIES,
            Construct.TIMERS,
            Construct.TIES_ORDERED,
            Construct.INTERVAL_RULES,
            Construct.ROW_QUERIES,
            Construct.PROBABILITIES,
            Construct.ERRORS,
            Construct.BELIEFS,
            Construct.LOCAL_FUNCTIONS,
            Construct.TEXT_FUNCTIONS,
        }
    ),
    lambda policy: policy.name in PolicyCode.__members__,
    _has_code,
    MappingProxyType(
        {
            Construct.FUNCTIONS_OF_TWO_TEXTS: "give all arguments but one as constants",
            Construct.ORDER_OF_TWO_TEXTS: "compare with a constant",
            Construct.EXTREMES_OF_TEXTS: "use First or Last",
            Construct.LONG_PATTERNS: "split the rule",
            Construct.DEEP_EXPRESSIONS: "split the expression over several rules",
            Construct.UNTOLD_TYPES: "declare the event types",
            Construct.OTHER_TYPE: "declare the event type in the same way everywhere",
            Construct.UNCERTAIN_FORMS: "the reference takes over by itself",
        }
    ),
)
"""What has a form in the flat program, which the engines columns and automata and that for uncertain events run."""


def unsupported(construct: Construct, span: Span | None) -> UnsupportedError:
    """The refusal of a construct that has no form in the flat program.

    >>> print(unsupported(Construct.EXTREMES_OF_TEXTS, None))
    error[unsupported]: the fast engines do not support Min and Max of strings
      hint: use First or Last, or choose the engine reference
    """
    return COMPILED.refusal(construct, span)


def not_lowered(kind: str, name: str, span: Span | None) -> UnsupportedError:
    """The refusal of a function that rules know and the flat program has no code for.

    >>> print(not_lowered("function", "cube", None))
    error[unsupported]: the fast engines do not support the function 'cube'
      hint: choose the engine reference
    """
    return COMPILED.refusal_by_name(kind, name, span)


def require_rules(support: Support, rules: RuleSet) -> None:
    """Refuse rules with a construct, policy or aggregate that an engine or host does not name, all of them at once."""
    # An aggregate that is compared stands in the pattern and again in the comparison.
    refused = dict.fromkeys((thing, span) for thing, span in things_of(rules) if not support.runs(thing))
    if refused:
        refusals = [support.refusal(thing, span) for thing, span in refused]
        raise UnsupportedError([finding for refusal in refusals for finding in refusal.diagnostics])


def things_of(rules: RuleSet) -> Iterator[tuple[Thing, Span | None]]:
    """The constructs, policies and aggregates that rules are written with, as far as their text tells, with places.

    >>> from cepheus.language.tesla import parse
    >>> rules = parse("define F() from A() and last B() within 5 s from A consuming B")
    >>> [thing.name for thing, _ in things_of(rules)]
    ['WINDOWS', 'LAST', 'CONSUMPTION']
    """
    for rule in rules.rules:
        yield from _things_of(rule)
    yield from ((Construct.INTERVAL_RULES, rule.span) for rule in rules.interval_rules)
    yield from ((Construct.ROW_QUERIES, rule.span) for rule in rules.row_rules)
    yield from ((Construct.BELIEFS, belief.span) for belief in rules.beliefs)
    yield from ((Construct.ERRORS, error.span) for error in rules.errors)
    for declared in rules.declarations:
        yield from ((Construct.RENAMED, each.span) for each in declared.attributes if each.column is not None)


def _things_of(rule: Rule) -> Iterator[tuple[Thing, Span | None]]:
    if rule.pattern.timer is not None:
        yield Construct.TIMERS, rule.pattern.timer.span
    for node in walk(rule):
        match node:
            case Selection(policy=Policy() as policy, span=span, per=per, ranking=ranking):
                yield Construct.WINDOWS, span
                if ranking is not None:
                    yield Construct.RANKINGS, span
                yield policy, span
                if per:
                    yield Construct.GROUPS, per[0].span
                    if policy.takes is Take.BY_MEANING:
                        yield Construct.OTHER_GROUPS, per[0].span
            case Collection(span=span):
                yield Construct.COLLECTIONS, span
            case Negation(span=span):
                yield Construct.NEGATION, span
            case FreeCondition(span=span):
                yield Construct.CONDITIONS, span
            case Call(function=name, span=span) if name in CONNECTIVES:
                yield Construct.CONDITIONS, span
            case Call(function=name, span=span) if name in FUNCTIONS and FUNCTIONS[name].local:
                yield Construct.LOCAL_FUNCTIONS, span
            case Aggregate(function=name, span=span, scope=scope) if name.lower() in AGGREGATES:
                yield AGGREGATES[name.lower()], span
                if isinstance(scope, Within) and scope.since_start:
                    yield Construct.SINCE_START, scope.span
            case _:
                pass
    if rule.ordered:
        yield Construct.TIES_ORDERED, rule.span
    if rule.full_provenance and any(isinstance(node, Aggregate) for node in walk(rule)):
        yield Construct.FULL_PROVENANCE, rule.span
    if rule.consuming:
        yield Construct.CONSUMPTION, rule.span
    if rule.min_probability is not None:
        yield Construct.PROBABILITIES, rule.span
