"""The languages in which rules are written; each compiles to the one model of rules."""
