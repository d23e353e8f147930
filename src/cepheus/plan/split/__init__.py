"""How a rule set can be spread over shards that know nothing of one another."""

from cepheus.plan.split.model import ByBand, ByKey, BySlice, RuleGroup, Split, Way, WayName, Whole
from cepheus.plan.split.split import split

__all__ = ["ByBand", "ByKey", "BySlice", "RuleGroup", "Split", "Way", "WayName", "Whole", "split"]
