"""Goal tables, compiled: rows in one pool, found by the hash of the variables they share with what they wait for.

A row stands in two lists: that of its hash bucket, by which a partner finds it, and that of its table, from the oldest
to the newest, by which time forgets it. Rows of one table are equally wide, so what one gives back the next takes.
"""

from __future__ import annotations

from cepheus.engine.columns.lanes import before
from cepheus.engine.columns.memory import fixed, peek, poke
from cepheus.engine.goals.compiled import compiled, inlined
from cepheus.engine.goals.layout import ROW_HEADER, At, Match, Row, TableField, TableState

_TABLE_BYTES = 8 * len(TableField)
_STATE_BYTES = 8 * len(TableState)
NOWHERE = -1


@inlined
def table_at(context: int, table: int) -> int:
    """Give the address of what the program says of a table."""
    return fixed(context, At.TABLES) + _TABLE_BYTES * table


@inlined
def state_at(context: int, table: int) -> int:
    """Give the address of a table's state."""
    return fixed(context, At.TABLE_STATE) + _STATE_BYTES * table


@inlined
def row_at(context: int, row: int) -> int:
    """Give the address of a row of the pool."""
    return fixed(context, At.POOL) + 8 * row


@inlined
def bucket_of(context: int, hashed: int) -> int:
    """Give the bucket of a hash."""
    return hashed & (fixed(context, At.BUCKETS_SIZE) - 1)


@inlined
def newest_of(context: int, hashed: int) -> int:
    """Give the newest row of a bucket."""
    return peek(fixed(context, At.NEWEST), bucket_of(context, hashed))


@inlined
def oldest_of(context: int, hashed: int) -> int:
    """Give the oldest row of a bucket."""
    return peek(fixed(context, At.OLDEST), bucket_of(context, hashed))


@compiled
def take_row(context: int, table: int) -> int:
    """Give a free row of a table; NOWHERE if the pool must grow."""
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
def link_row(context: int, table: int, row: int, hashed: int) -> None:
    """Put a row that has been filled in at the new end of its table and of its bucket."""
    bucket = bucket_of(context, hashed)
    here = row_at(context, row)
    newest = peek(fixed(context, At.NEWEST), bucket)
    poke(here, Row.TABLE, table)
    poke(here, Row.HASH, hashed)
    poke(here, Row.OLDER, newest)
    poke(here, Row.NEWER, NOWHERE)
    if newest == NOWHERE:
        poke(fixed(context, At.OLDEST), bucket, row)
    else:
        poke(row_at(context, newest), Row.NEWER, row)
    poke(fixed(context, At.NEWEST), bucket, row)
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
    poke(context, At.ROWS, peek(context, At.ROWS) + 1)


@compiled
def remove_row(context: int, row: int) -> None:
    """Take a row out of its lists and give its room back to its table."""
    here = row_at(context, row)
    table = peek(here, Row.TABLE)
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
    poke(context, At.ROWS, peek(context, At.ROWS) - 1)


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
        row = peek(state_at(context, table), TableState.FIRST)
        while row != NOWHERE:
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
            row = peek(here, Row.AFTER)
