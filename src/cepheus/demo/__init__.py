"""The demo: two scenarios with generated events, what the rules find in them, and why."""

from cepheus.demo.museum import MUSEUM
from cepheus.demo.scenario import Incident, Scenario, Stream
from cepheus.demo.tunnel import TUNNEL

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (TUNNEL, MUSEUM)}
"""The scenarios by name."""

__all__ = ["MUSEUM", "SCENARIOS", "TUNNEL", "Incident", "Scenario", "Stream"]
