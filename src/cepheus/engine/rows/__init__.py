"""The engine of row patterns: one compiled loop over rows, patterns as data.

What hosts build on is in ``engine.py`` (importing it compiles nothing):

- ``RowEngine(query, types, time=None, parts=())`` is one query over rows of these columns, checked and frozen.
  ``engine.given`` are the columns that it gives and their types. ``engine.build()`` makes the mutable ``RowMatching``.
- ``matching.feed(rows) -> Given``: rows (an Arrow table or record batch that has the columns of ``types``) of any
  partitions mixed, those of one partition in the order of ORDER BY. What comes back are the rows given for matches that
  nothing which may still come can change.
- ``matching.advance(time) -> Given``: no row will come whose first column of ORDER BY is before ``time``, in
  microseconds. Matches that WITHIN ends by then are settled.
- ``matching.finish() -> Given``: no more rows come at all; what waits for the end of its partition is settled.
- ``matching.snapshot() -> bytes`` and ``matching.restore(data)``: all that later answers depend on, checked and
  versioned like the snapshots of other engines; if the query differs, SnapshotError, and nothing is changed.
- ``matching.held`` is how many rows it still needs, ``matching.undecided_since`` the time of the first of those that a
  match may have which is still to come: no match that ends before that time will be given any more.

``Given`` has the ``table``, the number of the partition of each of its rows (``partitions``, counted as they first
came), and the ``times`` of each: the column ``time`` of the last row of the match, in ALL ROWS PER MATCH of the row
itself. However rows are cut into batches, each partition gives the same rows in the same order; only how partitions
interleave differs. ``together`` puts what was given at several times in order of partitions.
"""
