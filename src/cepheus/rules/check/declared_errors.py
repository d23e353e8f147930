"""Are the errors of measurement that a rule file declares errors of something, and who may read what has them?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import assert_never

from cepheus.core.distribution import (
    Biased,
    Custom,
    Discrete,
    Distribution,
    Frozen,
    Mixture,
    Normal,
    Samples,
    Sum,
    Uniform,
)
from cepheus.core.schema import EventType, Schema
from cepheus.rules.check.findings import Findings, line_of, text_of
from cepheus.rules.check.interval.check import CheckedIntervals
from cepheus.rules.check.known_types import KnownTypes
from cepheus.rules.check.scope import RuleScope, Site
from cepheus.rules.check.types import InferredTypes
from cepheus.rules.expressions import AttributeRef, Comparison, Expression, Parameter
from cepheus.rules.interval.model import Anything, Atom
from cepheus.rules.model import ErrorDeclaration, RuleSet
from cepheus.rules.walk import walk

Errors = dict[tuple[str, str], ErrorDeclaration]
"""The declared errors by event type and attribute."""


def declared_errors(rules: RuleSet, known: KnownTypes, inferred: InferredTypes, findings: Findings) -> Errors:
    """Collect the declared errors, reporting those of what does not exist or is no number."""
    declared: Errors = {}
    for declaration in rules.errors:
        key = (declaration.event, declaration.attribute)
        first = declared.setdefault(key, declaration)
        if first is not declaration:
            if first.error != declaration.error:
                where = line_of(first.span, declaration.span)
                message = f"the error of {declaration.event}.{declaration.attribute} is declared twice: {first.error}"
                findings.error("declared-error", f"{message} {where}".rstrip(), declaration.span, "keep one of the two")
            continue
        _exists(declaration, known, inferred, findings)
    return declared


def _exists(declaration: ErrorDeclaration, known: KnownTypes, inferred: InferredTypes, findings: Findings) -> None:
    event, name = declaration.event, declaration.attribute
    if known.is_unknown(event):
        hint = known.similar.hint(event) or f"declare it, as in 'event {event}({name}: double)', or correct the name"
        findings.error("declared-error", f"there is no event type '{event}'", declaration.span, hint)
        return
    if event in known.composites and event not in known.declared and event not in known.data:
        message = f"'{event}' is made by a rule: its attributes have the errors of what they are computed from"
        findings.error("declared-error", message, declaration.span, "declare the errors of the events it is made of")
        return
    attributes = known.attributes(event)
    if attributes is not None and name not in attributes:
        findings.error(
            "declared-error",
            f"'{event}' has no attribute '{name}'",
            declaration.span,
            f"it has {', '.join(attributes)}",
        )
        return
    if isinstance(declaration.error, Biased):
        for source in declaration.error.per:
            if attributes is not None and source not in attributes:
                message = f"'{event}' has no attribute '{source}' to tell its sources apart"
                findings.error("declared-error", message, declaration.span, f"it has {', '.join(attributes)}")
                return
    value_type = inferred.types.get((event, name))
    if value_type is None and attributes is not None:
        value_type = attributes[name].type
    if value_type is not None and not value_type.is_numeric:
        message = f"{event}.{name} is of type {value_type.value}, and only numbers have an error"
        findings.error("declared-error", message, declaration.span)


def with_errors(schema: Schema, declared: Errors) -> Schema:
    """Return event types with the errors that are declared for their attributes."""
    if not declared:
        return schema

    def changed(event_type: EventType) -> EventType:
        attributes = tuple(
            replace(a, error=declared[event_type.name, a.name].error) if (event_type.name, a.name) in declared else a
            for a in event_type.attributes
        )
        return replace(event_type, attributes=attributes)

    return schema.mapped(changed)


def warn_of_equalities(scope: RuleScope, schema: Schema, findings: Findings) -> None:
    """Warn of equalities that have probability 0 because one side has a continuous error."""
    compared = [(site, node) for site in scope.sites for node in site.nodes if isinstance(node, Comparison)]
    for site, node in compared:
        for left, operator, right in zip(node.operands, node.operators, node.operands[1:], strict=False):
            if operator != "=" or _resolved(left, site, scope) == _resolved(right, site, scope):
                continue
            blurred = next((o for o in (left, right) if _is_continuous(o, site, scope, schema)), None)
            if blurred is None:
                continue
            one, other = text_of(left), text_of(right)
            findings.warning(
                "uncertain-equality",
                f"{one} = {other} has probability 0: {text_of(blurred)} has a continuous error",
                node.span,
                f"allow a band: {other} - 0.5 < {one} < {other} + 0.5",
            )


def _resolved(operand: Expression, site: Site, scope: RuleScope) -> object:
    """What identifies an operand: a parameter stands for the attribute that binds it."""
    if isinstance(operand, Parameter):
        return scope.binders.get(operand.name) or operand
    if isinstance(operand, AttributeRef) and operand.event is None and site.own is not None:
        return replace(operand, event=site.own.name)
    return operand


def _is_continuous(operand: Expression, site: Site, scope: RuleScope, schema: Schema) -> bool:
    for node in walk(operand):
        reference = scope.binders.get(node.name) if isinstance(node, Parameter) else node
        if not isinstance(reference, AttributeRef):
            continue
        event_type = schema.get(scope.type_of(reference, site.own) or "")
        attribute = None if event_type is None else event_type.attribute(reference.name)
        if attribute is not None and attribute.error is not None and _has_density(attribute.error):
            return True
    return False


def _has_density(error: Distribution) -> bool:
    """Whether no single value has a probability of its own."""
    match error:
        case Discrete() | Samples():
            return False
        case Mixture(parts=parts):
            return all(_has_density(part) for _, part in parts)
        case Sum(parts=parts):
            return any(map(_has_density, parts))
        case Biased(own=own, bias=bias):
            return _has_density(own) or _has_density(bias)
        case Normal() | Uniform() | Frozen() | Custom():
            return True
        case _:
            assert_never(error)


def refuse_declared_errors(
    intervals: CheckedIntervals, errors: Collection[tuple[str, str]], findings: Findings
) -> None:
    """Report every argument that a rule reads although it has a declared error; ``errors`` are types with attributes.

    ``error Temp.value ~ N(0, 1)`` goes with ``hot(A) <- Temp(A, _)``, but not with ``hot(V) <- Temp(_, V)``.
    """
    for rule in intervals.rules:
        for atom in walk(rule.pattern):
            if not isinstance(atom, Atom) or atom.type not in intervals.reads:
                continue
            for argument, attribute in zip(atom.arguments, intervals.reads[atom.type].attributes, strict=False):
                if (atom.type, attribute.name) in errors and not isinstance(argument, Anything):
                    name = f"{atom.type}.{attribute.name}"
                    message = f"rules of ETALIS take events as certain, but {name} has a declared error"
                    hint = "let a rule of TESLA read it: what that makes counts as certain, and may feed this rule"
                    findings.error("uncertain-argument", message, argument.span or atom.span, hint)
