"""Goal tables, compiled: rows in one pool, found by the hash of the variables they share with what they wait for.

A row stands in two lists: that of its table, from the oldest to the newest, by which time forgets it, and that of its
hash bucket, by which a partner finds it. Where rows share no variables with what they wait for, all are candidates: the
table's own list serves. Rows of one table are equally wide, so what one gives back the next takes.
"""

from __future__ import annotations

from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.lanes import before
from cepheus.kernel.memory import fixed, peek, poke
from cepheus.plan.interval.layout import ROW_HEADER, At, Match, Row, TableState
from cepheus.plan.interval.program import IndexCode, TableField

_TABLE_BYTES = TableField.row_bytes()
_STATE_BYTES = TableState.row_bytes()
NOWHERE = -1


@inlined
def table_at(context: int, table: int) -> int:
    """The address of what the program says of a table."""
    return fixed(context, At.TABLES) + _TABLE_BYTES * table


@inlined
def state_at(context: int, table: int) -> int:
    """The address of a table's state."""
    return fixed(context, At.TABLE_STATE) + _STATE_BYTES * table


@inlined
def row_at(context: int, row: int) -> int:
    """The address of a row of the pool."""
    return fixed(context, At.POOL) + 8 * row


@inlined
def bucket_of(context: int, hashed: int) -> int:
    """The bucket of a hash."""
    return hashed & (fixed(context, At.BUCKETS_SIZE) - 1)


@inlined
def newest_of(context: int, hashed: int) -> int:
    """The newest row of a bucket."""
    return peek(fixed(context, At.NEWEST), bucket_of(context, hashed))


@inlined
def has_keys(context: int, table: int) -> bool:
    """Whether rows of a table are found by shared variables."""
    return fixed(table_at(context, table), TableField.INDEX) == IndexCode.KEYS


@inlined
def newest_row(context: int, table: int, hashed: int) -> int:
    """The row where a search of a table for what has a hash begins, if it goes from new to old."""
    if has_keys(context, table):
        return newest_of(context, hashed)
    return peek(state_at(context, table), TableState.LAST)


@inlined
def oldest_row(context: int, table: int, hashed: int) -> int:
    """The row where such a search begins if it goes from old to new."""
    if has_keys(context, table):
        return peek(fixed(context, At.OLDEST), bucket_of(context, hashed))
    return peek(state_at(context, table), TableState.FIRST)


@inlined
def older_row(context: int, table: int, here: int) -> int:
    """The next row of a search from new to old."""
    return peek(here, Row.OLDER if has_keys(context, table) else Row.BEFORE)


@inlined
def newer_row(context: int, table: int, here: int) -> int:
    """The next row of a search from old to new."""
    return peek(here, Row.NEWER if has_keys(context, table) else Row.AFTER)


@inlined
def is_sought(context: int, table: int, hashed: int, here: int) -> bool:
    """Whether a row that a search met is one of the table, with the hash: buckets are for all tables."""
    return not has_keys(context, table) or (peek(here, Row.HASH) == hashed and peek(here, Row.TABLE) == table)


@inlined
def take_row(context: int, table: int) -> int:
    """Take a free row of a table; NOWHERE if the pool must grow."""
    state = state_at(context, table)
    row = peek(state, TableState.FREE)
    if row != NOWHERE:
        poke(state, TableState.FREE, peek(row_at(context, row), Row.OLDER))
        return row
    row = peek(context, At.POOL_USED)
    width = fixed(table_at(context, table), TableField.WIDTH)
    if row + width > fixed(context, At.POOL_SIZE):
        return NOWHERE
    poke(context, At.POOL_USED, row + width)
    return row


@compiled
def _into_bucket(context: int, row: int) -> None:
    """Put a row at the new end of the bucket of its hash."""
    here = row_at(context, row)
    bucket = bucket_of(context, peek(here, Row.HASH))
    newest = peek(fixed(context, At.NEWEST), bucket)
    poke(here, Row.OLDER, newest)
    poke(here, Row.NEWER, NOWHERE)
    if newest == NOWHERE:
        poke(fixed(context, At.OLDEST), bucket, row)
    else:
        poke(row_at(context, newest), Row.NEWER, row)
    poke(fixed(context, At.NEWEST), bucket, row)


@compiled
def _out_of_bucket(context: int, row: int) -> None:
    """Take a row out of its bucket."""
    here = row_at(context, row)
    bucket = bucket_of(context, peek(here, Row.HASH))
    older, newer = peek(here, Row.OLDER), peek(here, Row.NEWER)
    if newer == NOWHERE:
        poke(fixed(context, At.NEWEST), bucket, older)
    else:
        poke(row_at(context, newer), Row.OLDER, older)
    if older == NOWHERE:
        poke(fixed(context, At.OLDEST), bucket, newer)
    else:
        poke(row_at(context, older), Row.NEWER, newer)


@inlined
def link_row(context: int, table: int, row: int, hashed: int) -> None:
    """Put a row that has been filled in at the new end of its table and, if it has one, of its bucket."""
    here = row_at(context, row)
    poke(here, Row.TABLE, table)
    poke(here, Row.HASH, hashed)
    if fixed(table_at(context, table), TableField.INDEX) != IndexCode.NONE:
        _into_bucket(context, row)
        poke(context, At.ROWS, peek(context, At.ROWS) + 1)
    state = state_at(context, table)
    last = peek(state, TableState.LAST)
    poke(here, Row.BEFORE, last)
    poke(here, Row.AFTER, NOWHERE)
    if last == NOWHERE:
        poke(state, TableState.FIRST, row)
    else:
        poke(row_at(context, last), Row.AFTER, row)
    poke(state, TableState.LAST, row)
    poke(state, TableState.COUNT, peek(state, TableState.COUNT) + 1)


@compiled
def remove_row(context: int, row: int) -> None:
    """Take a row out of its lists and give its room back to its table."""
    here = row_at(context, row)
    table = peek(here, Row.TABLE)
    if fixed(table_at(context, table), TableField.INDEX) != IndexCode.NONE:
        _out_of_bucket(context, row)
        poke(context, At.ROWS, peek(context, At.ROWS) - 1)
    state = state_at(context, table)
    elder, after = peek(here, Row.BEFORE), peek(here, Row.AFTER)
    if after == NOWHERE:
        poke(state, TableState.LAST, elder)
    else:
        poke(row_at(context, after), Row.BEFORE, elder)
    if elder == NOWHERE:
        poke(state, TableState.FIRST, after)
    else:
        poke(row_at(context, elder), Row.AFTER, after)
    poke(here, Row.TABLE, NOWHERE)
    poke(here, Row.OLDER, peek(state, TableState.FREE))
    poke(state, TableState.FREE, row)
    poke(state, TableState.COUNT, peek(state, TableState.COUNT) - 1)


@compiled
def forget(context: int, table: int, now: int) -> None:
    """Remove the rows of a table that ended too long before ``now`` for any window to reach them."""
    reach = fixed(table_at(context, table), TableField.REACH)
    if reach < 0:
        return
    horizon = before(now, reach)
    row = peek(state_at(context, table), TableState.FIRST)
    while row != NOWHERE:
        here = row_at(context, row)
        if peek(here, ROW_HEADER + Match.END) >= horizon:
            return
        following = peek(here, Row.AFTER)
        remove_row(context, row)
        row = following


@compiled
def rebuild_buckets(context: int, tables: int) -> None:
    """Put all rows into buckets anew, after the number of buckets has changed."""
    for bucket in range(fixed(context, At.BUCKETS_SIZE)):
        poke(fixed(context, At.NEWEST), bucket, NOWHERE)
        poke(fixed(context, At.OLDEST), bucket, NOWHERE)
    for table in range(tables):
        if fixed(table_at(context, table), TableField.INDEX) == IndexCode.NONE:
            continue
        row = peek(state_at(context, table), TableState.FIRST)
        while row != NOWHERE:
            _into_bucket(context, row)
            row = peek(row_at(context, row), Row.AFTER)
