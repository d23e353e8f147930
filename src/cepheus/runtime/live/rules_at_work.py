"""The rules of a live run: made ready and, where a run goes on with other rules than it had, changed.

Rules that are the same keep what they remember, new ones begin now, those that are gone end. A rule that changed is a
new one. What does not go with the state is refused, with the way out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, replace

from cepheus.core.error_columns import error_sources_to_json
from cepheus.core.errors import CepheusError, OptionError
from cepheus.core.options import RunOptions
from cepheus.rules.check import check
from cepheus.rules.model import RuleSet
from cepheus.rules.run_settings import with_provenance, with_ties
from cepheus.runtime.embedded.catalog import Catalog
from cepheus.runtime.embedded.rule_sources import RuleSource, read_rules
from cepheus.runtime.embedded.session import Session
from cepheus.runtime.embedded.subscriptions import Callback
from cepheus.uncertainty.belief.belief import beliefs_of

_FRESH = "begin anew with --fresh: what was under way is forgotten, sources begin at their start"


def catalog_of(rules: RuleSource, options: RunOptions) -> Catalog:
    """Read and check rules, as a run with these options wants them."""
    read = read_rules(rules, options.unit)
    checked = check(read)
    beliefs_of(checked.rules)
    wanted = with_provenance(with_ties(checked.rules, options.ties), options.provenance)
    return Catalog.of(replace(checked, rules=wanted))


def options_mark(options: RunOptions) -> str:
    """A word for all options that what is remembered depends on: state fits a run with the same word.

    >>> options_mark(RunOptions()) == options_mark(RunOptions(threads=2, limit=5))
    True
    """
    telling = {
        "columns": asdict(options.columns),
        "unit": options.unit.value,
        "lateness": options.lateness or 0,
        "ties": None if options.ties is None else options.ties.value,
        "calculus": asdict(options.calculus),
        "uncertain": error_sources_to_json(options.uncertain),
        "provenance": options.provenance.value,
    }
    return hashlib.blake2b(json.dumps(telling, sort_keys=True).encode(), digest_size=8).hexdigest()


def restored_session(
    catalog: Catalog,
    options: RunOptions,
    saved: bytes,
    mark: str,
    on_late: Callback,
    say: Callable[[str], None],
) -> Session:
    """A session that goes on from saved state, with the rules of now."""
    if mark != options_mark(options):
        raise OptionError.of(
            "live-state", "the state was saved with other options in [detect]", hint=f"put them back, or {_FRESH}"
        )
    session = Session(catalog, options, on_late=on_late)
    session.restore(saved)
    before, now = session.rules, catalog.checked.rules
    if _others(before) != _others(now):
        what = "networks, background knowledge or errors"
        raise OptionError.of("live-state", f"the {what} of the rules changed since the state was saved", hint=_FRESH)
    old = {str(rule.name): rule for rule in before.all_rules}
    new = {str(rule.name): rule for rule in now.all_rules}
    gone = [name for name in old if name not in new or old[name] != new[name]]
    added = [rule for name, rule in new.items() if name not in old or old[name] != rule]
    declared = {event_type.name: event_type for event_type in before.declarations}
    if any(declared.get(each.name, each) != each for each in now.declarations):
        raise OptionError.of("live-state", "a declared type changed since the state was saved", hint=_FRESH)
    try:
        for name in gone:
            session.withdraw(name)
        if added:
            missing = tuple(each for each in now.declarations if each.name not in declared)
            session.deploy(replace(RuleSet.of(added), declarations=missing))
    except CepheusError as error:
        reason = error.diagnostics[0].message
        raise OptionError.of("live-state", f"the rules do not go with the state: {reason}", hint=_FRESH) from None
    if gone:
        say(f"rules that ended or changed: {', '.join(gone)}")
    if added:
        say(f"rules that begin now: {', '.join(str(rule.name) for rule in added)}")
    return session


def _others(rules: RuleSet) -> tuple[object, ...]:
    return rules.beliefs, rules.knowledge, rules.errors
