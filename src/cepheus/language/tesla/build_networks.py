"""What the parser builds of belief networks: one method per alternative of the grammar."""

from __future__ import annotations

from typing import Any

from cepheus.core.distribution import Distribution, Normal, parse_distribution
from cepheus.core.errors import EventError
from cepheus.core.source import Span
from cepheus.core.values import as_float
from cepheus.language.common.literals import LiteralError, read_number, read_string
from cepheus.language.common.node_builder import Children
from cepheus.language.tesla.build_timers import TimerBuilder
from cepheus.rules.belief.model import Bands, Belief, Chances, Node, Observation, Row, Season
from cepheus.rules.belief.periods import Period, read_period

_NO_DISTRIBUTION = Normal(0, 1)
_NO_PERIOD = read_period("00:00", "12:00")


class BeliefBuilder(TimerBuilder):
    """Builds networks of one source at a time."""

    def network(self, children: Children) -> Belief:
        """``network Fire { node .. observe .. }``; the span is the rule's name."""
        _, name, items, _, _ = children
        nodes = tuple(item for item in items if isinstance(item, Node))
        observations = tuple(item for item in items if isinstance(item, Observation))
        return Belief(str(name), nodes, observations, self._token_span(name))

    def observation(self, children: Children) -> Observation:
        """``observe TrafficJam = LOW``."""
        _, node, _, state = children
        return Observation(str(node), str(state), Span(self.source, node.start_pos, state.end_pos))

    def number_observation(self, children: Children) -> Observation:
        """``observe Outside = 31.5``."""
        _, node, _, (_, written) = children
        return Observation(str(node), written.text, Span(self.source, node.start_pos, written.end))

    # ---- Nodes ---------------------------------------------------------------------------------------------------

    def prior_node(self, children: Children) -> Node:
        """``node TrafficJam {HIGH: .1, MEDIUM: .3, LOW: .6}``."""
        _, name, chances, seasons = children
        return self._node(name, [_alone(chances)], seasons=[(period, [_alone(each)]) for period, each in seasons])

    def conditional_node(self, children: Children) -> Node:
        """``node Temp given Fire, TrafficJam { YES, HIGH: {YES: 1, NO: 0} .. }``."""
        _, name, _, parents, rows, seasons = children
        return self._node(name, rows, parents=parents, seasons=seasons)

    def number_node(self, children: Children) -> Node:
        """``node Outside {COLD < 5 < WARM} ~ N(12, 25)``."""
        _, name, bands, value, seasons = children
        return self._node(
            name, [_alone(value)], bands=bands, seasons=[(period, [_alone(each)]) for period, each in seasons]
        )

    def conditional_number_node(self, children: Children) -> Node:
        """``node Outside {COLD < 5 < WARM} given Rain { YES: N(8, 16) NO: N(14, 25) }``."""
        _, name, bands, _, parents, rows, seasons = children
        return self._node(name, rows, parents=parents, bands=bands, seasons=seasons)

    def _node(
        self,
        name: Any,
        rows: list[Row],
        *,
        parents: Children | None = None,
        bands: Bands | None = None,
        seasons: list[tuple[tuple[Period, Span], list[Row]]],
    ) -> Node:
        """Make a node; the span is its name."""
        tokens = parents or []
        return Node(
            str(name),
            tuple(rows),
            tuple(map(str, tokens)),
            bands,
            tuple(Season(period, tuple(table), span) for (period, span), table in seasons),
            self._token_span(name),
            tuple(map(self._token_span, tokens)),
        )

    # ---- Tables --------------------------------------------------------------------------------------------------

    def chances(self, children: Children) -> tuple[Chances, Span]:
        """``{HIGH: .1, MEDIUM: .3, LOW: .6}``."""
        opening, chances, closing = children
        return tuple(chances), Span(self.source, opening.start_pos, closing.end_pos)

    def chance(self, children: Children) -> tuple[str, float]:
        """``HIGH: .1``."""
        state, (number, _) = children
        return str(state), number

    def bands(self, children: Children) -> Bands:
        """``{COLD < 5 < MILD < 25 < HOT}``."""
        opening, lowest, bands, closing = children
        states = (str(lowest), *(state for _, state in bands))
        span = Span(self.source, opening.start_pos, closing.end_pos)
        return Bands(states, tuple(cut for cut, _ in bands), span)

    def band(self, children: Children) -> tuple[float, str]:
        """``< 5 < MILD``."""
        below, (cut, _), above, state = children
        for sign in (below, above):
            if sign != "<":
                self._error("bands", f"bands are separated by '<', not by '{sign}'", self._token_span(sign))
        return cut, str(state)

    def table(self, children: Children) -> list[Row]:
        """``{ YES: .. NO: .. }``."""
        rows: list[Row] = children[1]
        return rows

    def row(self, children: Children) -> Row:
        """``YES, *: {YES: 1, NO: 0}``."""
        states, (value, end) = children
        given = tuple(None if state.type == "STAR" else str(state) for state in states)
        return Row(value, given, Span(self.source, states[0].start_pos, end.end))

    def more_seasons(self, children: Children) -> Children:
        """``from '07:00' to '09:00' ..``."""
        seasons, period, value = children
        seasons.append((period, value))
        found: Children = seasons
        return found

    def period(self, children: Children) -> tuple[Period, Span]:
        """``from '07:00' to '09:00'``."""
        word, start, _, end = children
        span = Span(self.source, word.start_pos, end.end_pos)
        return self._read(span, _NO_PERIOD, lambda: _read_period(read_string(start), read_string(end))), span

    # ---- Numbers -------------------------------------------------------------------------------------------------

    def distribution(self, children: Children) -> tuple[Distribution, Span]:
        """``N(0, 1)``."""
        name, _, closing = children
        span = Span(self.source, name.start_pos, closing.end_pos)
        try:
            return parse_distribution(span.text), span
        except EventError as error:
            finding = error.diagnostics[0]
            self._error(finding.code, finding.message, span, finding.hint)
            return _NO_DISTRIBUTION, span

    def real(self, children: Children) -> tuple[float, Span]:
        """``0.5``, ``-3``."""
        span = Span(self.source, children[0].start_pos, children[-1].end_pos)
        number = self._read(span, 0.0, lambda: as_float(read_number(children[-1], negative=len(children) > 1)[0]))
        return number, span


def _alone(value: tuple[Chances | Distribution, Span]) -> Row:
    return Row(value[0], (), value[1])


def _read_period(start: str, end: str) -> Period:
    try:
        return read_period(start, end)
    except ValueError as error:
        hint = "write '07:00', 'Mon 07:00', '12-01' or '2026-12-01T00:00:00Z' on both sides; times are UTC"
        raise LiteralError("period", str(error), hint) from None
