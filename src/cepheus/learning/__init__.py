"""Rules learned from history: events and known occurrences in, TESLA rules with their evidence out.

The shape of it:

- ``history``: events in columns by type, every value a float64 (texts by their code), null as NaN.
- ``occurrences``: what is to be explained, as intervals of time with keys.
- ``terminators``: which type of event ends the traces, and how late labels are.
- ``traces``: for a terminator, the positive traces (one an occurrence, with every terminator that may belong to it) and
  a weighted sample of the negative ones (one a terminator elsewhere).
- ``drafts``: a rule being learned, as plain data; ``writing`` makes a rule of the ordinary model of it.
- ``bindings``: the ways in which a draft matches the traces, a table with a column of events for each place of the
  draft. A trace is found if it has a row. Every learner works on this table: the best threshold of a condition
  follows from the extreme value of each trace, so that one sort tries all thresholds at once.
- ``learners``: one module for each aspect, one contract: a state in, better states out.
- ``search``: a beam over drafts; ``tuning`` prunes what it finds and sets thresholds with the widest margin.
- ``evaluate``: whole rules on the columns engine, hundreds at once; ``significance``: a permutation test.
- ``learn`` puts these together; ``report`` says what was found and why.

Invariants: rows of bindings are sorted by trace; a state's bindings are what its draft matches; what a learner gives
matches no trace that its input did not match, except that a negation may be narrowed while it is being learned.
"""
