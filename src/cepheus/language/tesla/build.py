"""What the parser builds of rules and declarations: one method per alternative of the grammar."""

from __future__ import annotations

from cepheus.core.distribution import Biased
from cepheus.core.errors import did_you_mean
from cepheus.core.schema import Attribute, EventType
from cepheus.core.source import Span
from cepheus.core.values import TYPE_NAMES, as_float
from cepheus.language.common.literals import read_count, read_members, read_number
from cepheus.language.common.node_builder import Children
from cepheus.language.tesla.build_networks import BeliefBuilder
from cepheus.language.tesla.build_timers import Ahead
from cepheus.language.tesla.scan import TIES
from cepheus.rules.belief.model import Belief
from cepheus.rules.expressions import (
    Aggregate,
    Arithmetic,
    AttributeRef,
    Call,
    Constant,
    Constraint,
    EventPattern,
    Expression,
    Negative,
    Parameter,
    Within,
)
from cepheus.rules.functions import NOT
from cepheus.rules.model import (
    Aggregation,
    Assignment,
    Collection,
    ErrorDeclaration,
    FreeCondition,
    Negation,
    Pattern,
    PatternItem,
    Ranking,
    Rule,
    Selection,
    Ties,
)
from cepheus.rules.policies import Policy
from cepheus.rules.walk import walk

Statement = Rule | EventType | ErrorDeclaration | Ties | Belief


class Builder(BeliefBuilder):
    """Builds rules, declarations and networks of one source at a time; ``errors`` collects the mistakes."""

    # ---- Statements ----------------------------------------------------------------------------------------------

    def statement(self, children: Children) -> Statement:
        """A rule, a declaration, an error or a network."""
        node: Statement = children[0]
        return node

    def definition(self, children: Children) -> Rule:
        """``rule R define .. from .. where .. consuming .. min probability ..``."""
        header, define, composite, _, pattern, assignments, consuming, threshold, _ = children
        for assignment, owner in assignments:
            if owner is not None and owner != composite.name:
                hint = f"write {composite.name}.{assignment.attribute} or only {assignment.attribute}"
                message = f"'{owner}' is not the event that this rule defines"
                self._error("assignment", message, self._token_span(owner), hint)
        start = header[0] if header else define
        end = pattern.span.end
        if assignments:
            end = assignments[-1][0].value.span.end
        if consuming:
            end = consuming[-1].end_pos
        probability, probability_end = threshold
        return Rule(
            composite=composite,
            pattern=pattern,
            assignments=tuple(assignment for assignment, _ in assignments),
            consuming=tuple(map(str, consuming)),
            min_probability=probability,
            name=str(header[1]) if header else None,
            span=Span(self.source, start.start_pos, probability_end or end),
            consuming_spans=tuple(map(self._token_span, consuming)),
        )

    def no_header(self, _children: Children) -> None:
        """A rule without a name."""

    def header(self, children: Children) -> Children:
        """``rule R1``."""
        return children

    def no_where(self, _children: Children) -> Children:
        """A rule without assignments."""
        return []

    def where(self, children: Children) -> Children:
        """``where area=Smoke.area, temp=$t``."""
        assignments: Children = children[1]
        return assignments

    def assignment(self, children: Children) -> tuple[Assignment, None]:
        """``area=Smoke.area``; the span is the attribute's name."""
        name, _, value = children
        return Assignment(str(name), value, self._token_span(name)), None

    def qualified_assignment(self, children: Children) -> tuple[Assignment, object]:
        """``Fire.area=Smoke.area``."""
        owner, name, _, value = children
        return Assignment(str(name), value, Span(self.source, owner.start_pos, name.end_pos)), owner

    def no_consuming(self, _children: Children) -> Children:
        """A rule that consumes nothing."""
        return []

    def consuming(self, children: Children) -> Children:
        """``consuming Temp, Smoke``."""
        names: Children = children[1]
        return names

    def no_threshold(self, _children: Children) -> tuple[None, None]:
        """A rule without a least probability."""
        return None, None

    def threshold(self, children: Children) -> tuple[float, int]:
        """``min probability 0.3``."""
        token = children[2]
        span = self._token_span(token)
        probability = self._read(span, 0.0, lambda: as_float(read_number(token)[0]))
        if not 0 <= probability <= 1:
            self._error("probability", f"{token} is not a probability", span, "write a number from 0 to 1")
        return probability, span.end

    # ---- Event types ---------------------------------------------------------------------------------------------

    def declaration(self, children: Children) -> EventType:
        """``event Temp(value: double)``."""
        event_type: EventType = children[1]
        return event_type

    def event_type_without_attributes(self, children: Children) -> EventType:
        """``Smoke()``."""
        return EventType(str(children[0]), (), self._token_span(children[0]))

    def event_type(self, children: Children) -> EventType:
        """``Temp(area: string, value: double)``; the span is the type's name."""
        name, attributes, _ = children
        return EventType(str(name), tuple(attributes), self._token_span(name))

    def attribute(self, children: Children) -> Attribute:
        """``value: double?``; the span is the attribute's name."""
        name, written, *question, column = children
        value_type = TYPE_NAMES.get(written.lower())
        if value_type is None:
            hint = did_you_mean(written, TYPE_NAMES) or "write int, double, string, bool or timestamp"
            self._error("type", f"there is no attribute type '{written}'", self._token_span(written), hint)
        return Attribute(str(name), value_type, bool(question), span=self._token_span(name), column=column)

    def no_column(self, _children: Children) -> None:
        """The data calls the attribute by its name."""

    def column(self, children: Children) -> str:
        """``from id``: the data calls the attribute otherwise."""
        return str(children[1])

    def error(self, children: Children) -> ErrorDeclaration:
        """``error Temp.value ~ N(0, 1)``; the span is the attribute with its event."""
        _, event, attribute, (error, _), _ = children
        span = Span(self.source, event.start_pos, attribute.end_pos)
        return ErrorDeclaration(str(event), str(attribute), error, span)

    def shared_error(self, children: Children) -> ErrorDeclaration:
        """``error Temp.value ~ N(0, 1) + shared N(0, 4) per sensor``; the span is the attribute with its event."""
        _, event, attribute, (own, _), _, _, (bias, _), _, per, _ = children
        span = Span(self.source, event.start_pos, attribute.end_pos)
        return ErrorDeclaration(str(event), str(attribute), Biased(own, bias, tuple(map(str, per))), span)

    def ties(self, children: Children) -> Ties:
        """``ties ordered``; the span is the whole of it."""
        word, written, _ = children
        span = Span(self.source, word.start_pos, written.end_pos)
        choice = written.lower()
        if choice not in TIES:
            hint = did_you_mean(choice, TIES) or "write ties apart or ties ordered"
            self._error("ties", f"'{written}' is nothing that ties can be", self._token_span(written), hint)
        return Ties(choice == "ordered", span)

    # ---- Patterns ------------------------------------------------------------------------------------------------

    def pattern(self, children: Children) -> Pattern:
        """A terminator and what hangs from it."""
        terminator, *items = children[0]
        end = items[-1].span.end if items else self.terminator_end
        return self.timed_pattern(terminator, tuple(items), Span(self.source, self.pattern_start, end))

    def stand_in_item(self) -> Aggregation:
        """An aggregate that stands for what could not be read."""
        stand_in = Aggregate("Count", EventPattern(""), None, Within(0, ""))
        return Aggregation(stand_in, span=Span(self.source, self.duration_start, self.event_end))

    def partial_rule(self, children: Children) -> Pattern:
        """A pattern alone."""
        pattern: Pattern = children[0]
        return pattern

    def subscription(self, children: Children) -> EventPattern:
        """One event alone."""
        event: EventPattern = children[0]
        return event

    def plain_policy(self, children: Children) -> tuple[Policy, int | None, int]:
        """``each``, ``last``, ``first``."""
        token = children[0]
        return Policy(token.lower()), None, token.start_pos

    def counted_policy(self, children: Children) -> tuple[Policy, int | None, int]:
        """``3 last``."""
        number, token = children
        count = self._read(self._token_span(number), 1, lambda: read_count(number))
        return Policy(token.lower()), count, number.start_pos

    def hyphened_policy(self, children: Children) -> tuple[Policy, int | None, int]:
        """``3-last``."""
        token = children[0]
        number, policy = token.split("-")
        count = self._read(self._token_span(token), 1, lambda: read_count(number))
        return Policy(policy.lower()), count, token.start_pos

    def selection(self, children: Children) -> Selection:
        """``last Temp() within 5 min from Smoke``."""
        (policy, count, start), event, scope = children
        window = self.past_window(scope, event)
        return Selection(policy, event, window, count, span=Span(self.source, start, self.scope_end(window)))

    def selection_by_groups(self, children: Children) -> Selection:
        """``last Temp() per room, floor within 5 min from Smoke``."""
        (policy, count, start), event, _, names, scope = children
        window = self.past_window(scope, event)
        per = tuple(self.own_attribute([name]) for name in names)
        return Selection(policy, event, window, count, per, span=Span(self.source, start, self.scope_end(window)))

    def plain_ranking(self, children: Children) -> tuple[int, int]:
        """``top``."""
        return 1, children[0].start_pos

    def counted_ranking(self, children: Children) -> tuple[int, int]:
        """``10 top``."""
        number, _ = children
        return self._read(self._token_span(number), 1, lambda: read_count(number)), number.start_pos

    def ranked_selection(self, children: Children) -> Selection:
        """``10 top Route() by n within 30 min from Tick``."""
        (count, start), event, _, by, scope = children
        window = self.past_window(scope, event)
        span = Span(self.source, start, self.scope_end(window))
        return Selection(Policy.EACH, event, window, ranking=Ranking(count, by), span=span)

    def ranked_selection_by_groups(self, children: Children) -> Selection:
        """``10 top Route() by n per route within 30 min from Tick``."""
        (count, start), event, _, by, _, names, scope = children
        window = self.past_window(scope, event)
        per = tuple(self.own_attribute([name]) for name in names)
        span = Span(self.source, start, self.scope_end(window))
        return Selection(Policy.LAST, event, window, None, per, Ranking(count, by), span)

    def collection(self, children: Children) -> Collection:
        """``all Temp() as Temps within 5 min from Smoke``."""
        word, event, written = children
        scope = self.not_ahead(written, event)
        return self._collected(Collection(event, scope, span=Span(self.source, word.start_pos, self.scope_end(scope))))

    def bounded_collection(self, children: Children) -> Collection:
        """``all 2..5 Temp() within 5 min from Smoke``."""
        word, bounds, event, scope = children
        low, _, high = bounds.partition("..")
        span = self._token_span(bounds)
        least = self._read(span, 1, lambda: read_members(low))
        most = self._read(span, 1, lambda: read_members(high)) if high else None
        span = Span(self.source, word.start_pos, scope.span.end)
        return self._collected(Collection(event, scope, least, most, span))

    def _collected(self, collection: Collection) -> Collection:
        self.collections.setdefault(collection.event.name, collection)
        return collection

    def negation(self, children: Children) -> Negation:
        """``not Rain() within 5 min from Temp``."""
        word, event, scope = children
        if isinstance(scope, Ahead):
            scope = self.absent_ahead(scope)
        return Negation(event, scope, Span(self.source, word.start_pos, scope.span.end))

    def lone_aggregation(self, children: Children) -> PatternItem:
        """A condition, an aggregate that is neither compared nor bound, or nothing that has a place here."""
        return self._compared([children[0]], [])

    def compared_aggregation(self, children: Children) -> PatternItem:
        """``30 < $t = Avg(..)``, ``$s < $l - 15``."""
        operands, operators = children[0]
        return self._compared(operands, operators)

    def lone_condition(self, children: Children) -> FreeCondition:
        """``$x in (1, 2)``, ``$x is null``."""
        node: Constraint = children[0]
        return self._free_condition(node)

    def opposite_condition(self, children: Children) -> FreeCondition:
        """``not ($x > 3 or $y > 3)``."""
        word, _, node, closing = children
        return self._free_condition(Call(NOT, (node,), Span(self.source, word.start_pos, closing.end_pos)))

    def _compared(self, operands: list[Expression], operators: list[str]) -> PatternItem:
        """An aggregate by itself on one side, bound or compared; anything else is a condition over what is bound."""
        whole = self._comparison(operands, operators)
        assert whole.span is not None
        places = [place for place, operand in enumerate(operands) if isinstance(operand, Aggregate)]
        nested = sum(isinstance(node, Aggregate) for operand in operands for node in walk(operand))
        if len(places) != 1 or nested != sum(isinstance(node, Aggregate) for node in walk(operands[places[0]])):
            return self._free_condition(whole if operators else operands[0])
        place = places[0]
        aggregate = operands[place]
        assert isinstance(aggregate, Aggregate)
        parameter = _bound_name(operands[place - 1]) if place and operators[place - 1] == "=" else None
        if parameter is not None:
            del operands[place - 1], operators[place - 1]
        comparison = self._comparison(operands, operators) if operators else None
        if parameter is None and comparison is None:
            hint = "bind it or compare it: $t = Avg(..), Count(..) >= 3"
            self._error("aggregate", "this aggregate is not used", whole.span, hint)
        return Aggregation(aggregate, parameter, comparison, whole.span)

    def _free_condition(self, node: Constraint) -> FreeCondition:
        node = self._shallow(node)
        assert node.span is not None
        if isinstance(node, Constant | Arithmetic | Negative) or (isinstance(node, AttributeRef) and not node.event):
            message = "found an expression where an event, an aggregate or a condition should be"
            hint = "every event has its selection and its window, such as last B(..) within 5 min from A"
            self._error("aggregate", message, node.span, hint)
        return FreeCondition(node, node.span)


def _bound_name(operand: Expression) -> str | None:
    """The name that an aggregate is bound to by ``name =``: a parameter, with or without its dollar sign."""
    match operand:
        case Parameter(name=name) | AttributeRef(event=None, name=name):
            return name
        case _:
            return None
