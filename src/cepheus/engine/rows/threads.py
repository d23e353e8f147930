"""The compiled loop for conditions that look back at the match: open matches in order of preferment, from one start.

An open match, a thread, has a state, the words that conditions read (``plan/rows/conditions.py``) and the variables of
its rows, as a chain of nodes that threads share. Of two threads with equal state and words only the preferred one is
kept. A row is one step: it is taken as a whole or, where room or an answer is missing, not at all.
"""

from __future__ import annotations

from cepheus.engine.rows.kernel import MATCH_WIDTH, PART_WIDTH, Ending, FoundMatch, Now, Part, Skip, Stop
from cepheus.engine.rows.looking import Look, Pool
from cepheus.engine.rows.machine import ASKS, HOLDS, MASK, bring_up_to_date, decide, values_of
from cepheus.kernel.compiled import compiled, inlined
from cepheus.kernel.memory import fixed, peek, peek_half, poke, put, word

_FIRST, _IDLE, _BUSY = 0, 1, 2
_NONE = -1
_WORD_BYTES = 8
_ASK = int(Stop.ASK)
_OPEN = int(Stop.OPEN)
_ROOM_FOR_MATCHES = int(Stop.ROOM_FOR_MATCHES)
_ROOM_FOR_ROWS = int(Stop.ROOM_FOR_ROWS)
_ROOM_FOR_THREADS = int(Stop.ROOM_FOR_THREADS)
_SKIP_TO_NOTHING = int(Stop.SKIP_TO_NOTHING)
_SKIP_TO_START = int(Stop.SKIP_TO_START)
_STEPS = int(Stop.STEPS)


@inlined
def _part(look: int, p: int) -> int:
    """The address of what is kept of a partition."""
    return fixed(look, Look.PARTS) + _WORD_BYTES * PART_WIDTH * p


@inlined
def _words(look: int, line: int) -> int:
    """The address of the words of a thread."""
    return fixed(look, Look.WORDS) + _WORD_BYTES * fixed(look, Look.WIDTH) * line


@inlined
def _tried_words(look: int, variable: int) -> int:
    """The address of the words after a variable would take the row at hand."""
    return fixed(look, Look.SCRATCH) + _WORD_BYTES * fixed(look, Look.WIDTH) * variable


@compiled
def run_threads(look: int) -> int:
    """Take rows in the order of their arrival, or end partitions (``Ending``); 0 if that is done."""
    now, time, ending = fixed(look, Look.NOW), fixed(look, Look.TIME), fixed(look, Look.ENDING)
    within = fixed(look, Look.WITHIN)
    place, row = peek(now, Now.ARRIVED), peek(now, Now.ROW)
    stop = 0
    while stop == 0:
        if ending != Ending.NONE:
            if place >= fixed(look, Look.PARTITIONS):
                break
            p = place
            last = _last_ready(look, p)
            if row < 0:
                part = _part(look, p)
                reached = fixed(look, Look.UNTIL)
                waiting = peek_half(fixed(look, Look.AFTER), last) if last >= 0 else _NONE
                if waiting >= 0:  # it has come, but what it looks ahead at has not
                    reached = min(reached, peek(time, waiting))
                if peek(part, Part.SITUATION) != _BUSY or (
                    ending == Ending.BY_TIME and reached - peek(time, peek(part, Part.ATTEMPT)) < within
                ):
                    place += 1
                    continue
                if ending == Ending.ALL:
                    _end_threads(look, part, last)
                stop, row = _over(look, p, last)
        else:
            if row < 0:
                if place >= fixed(look, Look.TODO_COUNT):
                    break
                row = peek_half(fixed(look, Look.TODO), place)
                place += 1
            last = peek_half(fixed(look, Look.TODO), place - 1)
            p = peek_half(fixed(look, Look.PARTITION), row)
        while row >= 0 and stop == 0:
            stop, row = _take(look, p, row, last)
    poke(now, Now.ARRIVED, place)
    poke(now, Now.ROW, row)
    return int(stop)


@inlined
def _last_ready(look: int, p: int) -> int:
    """The last row of a partition that may be taken."""
    last = peek(_part(look, p), Part.LAST)
    while last >= 0 and peek_half(fixed(look, Look.READY), last) < 0:
        last = peek_half(fixed(look, Look.BEFORE), last)
    return last


@inlined
def _take(look: int, p: int, row: int, last: int) -> tuple[int, int]:
    """Take a row: whether something is missing, and the row to go on with (-1: none has arrived yet)."""
    part = _part(look, p)
    if word(look, Look.NOW, Now.STEPS) > fixed(look, Look.STEPS_LIMIT):
        return _STEPS, row
    over = False
    if peek(part, Part.SITUATION) != _BUSY:
        if not _begin(look, part, row):
            return _ROOM_FOR_THREADS, row
    elif peek(part, Part.THREADS) < 0:
        over = True  # the loop stopped here for room
    elif fixed(look, Look.WITHIN) > 0:
        time = fixed(look, Look.TIME)
        over = peek(time, row) - peek(time, peek(part, Part.ATTEMPT)) >= fixed(look, Look.WITHIN)
    if not over:
        stop = _step(look, part, row)
        if stop != 0:
            return stop, row
        over = peek(part, Part.THREADS) < 0
    if over:
        stop, following = _over(look, p, last)
        return stop, row if stop != 0 else following
    following = peek_half(fixed(look, Look.AFTER), row)
    return 0, following if following <= last else _NONE


@inlined
def _new_thread(look: int) -> int:
    """A free line, -1 if there is none."""
    pool = fixed(look, Look.POOL)
    line = peek(pool, Pool.FREE_THREAD)
    if line >= 0:
        poke(pool, Pool.FREE_THREAD, word(look, Look.NEXT, line))
    elif peek(pool, Pool.THREADS) < fixed(look, Look.THREADS_ROOM):
        line = peek(pool, Pool.THREADS)
        poke(pool, Pool.THREADS, line + 1)
    return line


@inlined
def _new_node(look: int, parent: int, state: int) -> int:
    """A node with no use yet, -1 if there is no room."""
    pool = fixed(look, Look.POOL)
    node = peek(pool, Pool.FREE_NODE)
    if node >= 0:
        poke(pool, Pool.FREE_NODE, word(look, Look.PARENT, node))
    elif peek(pool, Pool.NODES) < fixed(look, Look.NODES_ROOM):
        node = peek(pool, Pool.NODES)
        poke(pool, Pool.NODES, node + 1)
    else:
        return _NONE
    put(look, Look.PARENT, node, parent)
    put(look, Look.NODE_STATE, node, state)
    put(look, Look.USES, node, 0)
    if parent >= 0:
        _use(look, parent)
    return node


@inlined
def _use(look: int, node: int) -> None:
    put(look, Look.USES, node, word(look, Look.USES, node) + 1)


@inlined
def _release(look: int, node: int) -> None:
    """One use less of a node; those that nobody uses any more are free."""
    pool = fixed(look, Look.POOL)
    while node >= 0:
        left = word(look, Look.USES, node) - 1
        put(look, Look.USES, node, left)
        if left > 0:
            break
        parent = word(look, Look.PARENT, node)
        put(look, Look.PARENT, node, peek(pool, Pool.FREE_NODE))
        poke(pool, Pool.FREE_NODE, node)
        node = parent


@inlined
def _drop(look: int, line: int) -> None:
    """Free a list of threads."""
    pool = fixed(look, Look.POOL)
    while line >= 0:
        following = word(look, Look.NEXT, line)
        _release(look, word(look, Look.NODE, line))
        put(look, Look.NEXT, line, peek(pool, Pool.FREE_THREAD))
        poke(pool, Pool.FREE_THREAD, line)
        line = following


@inlined
def _begin(look: int, part: int, row: int) -> bool:
    """Begin a match at a row, with one thread that has no rows yet; False if there is no room."""
    line = _new_thread(look)
    if line < 0:
        return False
    state = 0 if peek(part, Part.SITUATION) == _FIRST else 1
    put(look, Look.STATE, line, state)
    put(look, Look.NODE, line, _NONE)
    put(look, Look.NEXT, line, _NONE)
    words = _words(look, line)
    for k in range(fixed(look, Look.WIDTH)):
        poke(words, k, word(look, Look.INITIAL, k))
    poke(part, Part.SITUATION, _BUSY)
    poke(part, Part.ATTEMPT, row)
    poke(part, Part.THREADS, line)
    poke(part, Part.CANDIDATE_END, _NONE)
    poke(part, Part.CANDIDATE, _NONE)
    poke(part, Part.WAITS, word(look, Look.ACCEPTS, state) & 1)
    return True


@compiled
def _step(look: int, part: int, row: int) -> int:
    """Take a row: what is open after it, and the match that ends with it, which cuts off what is less preferred."""
    pool, now, tried = fixed(look, Look.POOL), fixed(look, Look.NOW), fixed(look, Look.TRIED)
    step = peek(pool, Pool.STEP) + 1
    stamp = step
    values = values_of(look, row)
    mask = peek(values, MASK)
    number = peek(part, Part.NUMBER) + 1
    first, latest, candidate = _NONE, _NONE, _NONE
    line, opened, order = peek(part, Part.THREADS), 0, 0
    stop = 0
    while line >= 0 and candidate < 0 and stop == 0:
        stamp += 1
        state = word(look, Look.STATE, line)
        for k in range(word(look, Look.NEXT_BEGINS, state), word(look, Look.NEXT_BEGINS, state + 1)):
            goal = word(look, Look.NEXT_OF, k)
            if goal < 0:
                continue
            variable = word(look, Look.VARIABLE, goal)
            if (mask >> variable) & 1 == 0:
                continue
            poke(now, Now.STEPS, peek(now, Now.STEPS) + 1)
            if peek(tried, 2 * variable) != stamp:
                poke(tried, 2 * variable, stamp)
                poke(tried, 2 * variable + 1, _try(look, line, order, variable, row, values, number))
            held = peek(tried, 2 * variable + 1)
            if held == ASKS:
                stop = _ASK
                break
            if held != HOLDS:
                continue
            accepts = word(look, Look.ACCEPTS, goal)
            fresh = _NONE
            if accepts & 4 == 0:
                place = _met(look, goal, _tried_words(look, variable), step)
                if place < 0:
                    continue
                fresh = _new_thread(look)
                if fresh < 0:
                    stop = _ROOM_FOR_THREADS
                    break
                put(look, Look.MET, 2 * place, step)
                put(look, Look.MET, 2 * place + 1, fresh)
            node = _new_node(look, word(look, Look.NODE, line), goal)
            if fresh >= 0:
                put(look, Look.STATE, fresh, goal)
                put(look, Look.NODE, fresh, node)
                put(look, Look.NEXT, fresh, _NONE)
                _copy(look, _tried_words(look, variable), _words(look, fresh))
                if latest < 0:
                    first = fresh
                else:
                    put(look, Look.NEXT, latest, fresh)
                latest = fresh
                opened += 1
            if node < 0:
                stop = _ROOM_FOR_THREADS
                break
            if fresh >= 0:
                _use(look, node)
            if accepts & 1:
                candidate = node
                _use(look, node)
                break
        if opened > fixed(look, Look.OPEN_LIMIT):
            stop = _OPEN
        line = word(look, Look.NEXT, line)
        order += 1
    poke(pool, Pool.STEP, stamp)
    if stop != 0:
        _drop(look, first)
        _release(look, candidate)
        return stop
    poke(now, Now.ANSWERED, 0)
    _drop(look, peek(part, Part.THREADS))
    poke(part, Part.THREADS, first)
    if candidate >= 0:
        _release(look, peek(part, Part.CANDIDATE))
        poke(part, Part.CANDIDATE, candidate)
        poke(part, Part.CANDIDATE_END, row)
        poke(part, Part.WAITS, 1)
    return 0


@inlined
def _try(look: int, line: int, order: int, variable: int, row: int, values: int, number: int) -> int:
    """Whether a variable may take the row after a thread; its words are in the scratch then."""
    words = _tried_words(look, variable)
    _copy(look, _words(look, line), words)
    bring_up_to_date(look, words, variable, row, values)
    result = HOLDS
    if word(look, Look.ASKED, variable) != 0:
        result = ASKS
    elif word(look, Look.CODE_BEGINS, variable + 1) > word(look, Look.CODE_BEGINS, variable):
        result = decide(look, words, variable, row, number)
    if result == ASKS and order < word(look, Look.NOW, Now.ANSWERED):
        result = word(look, Look.ANSWERS, order * fixed(look, Look.VARIABLES) + variable)
    return result


@inlined
def _copy(look: int, source: int, goal: int) -> None:
    for k in range(fixed(look, Look.WIDTH)):
        poke(goal, k, peek(source, k))


@inlined
def _met(look: int, goal: int, words: int, step: int) -> int:
    """A free place among the threads of this step, -1 if a preferred one has the same state and words."""
    width, mask, met = fixed(look, Look.WIDTH), fixed(look, Look.MET_MASK), fixed(look, Look.MET)
    at = goal * 0x2545F491
    for k in range(width):
        at = (at ^ peek(words, k)) * 0x5851F42D4C957F2D
        at ^= at >> 29
    at &= mask
    while peek(met, 2 * at) == step:
        line = peek(met, 2 * at + 1)
        if word(look, Look.STATE, line) == goal:
            other = _words(look, line)
            k = 0
            while k < width and peek(other, k) == peek(words, k):
                k += 1
            if k == width:
                return _NONE
        at = (at + 1) & mask
    return at


@inlined
def _end_threads(look: int, part: int, last: int) -> None:
    """At the end of a partition, take the first thread that may end there as the candidate."""
    line = peek(part, Part.THREADS)
    while line >= 0:
        node = word(look, Look.NODE, line)
        if node >= 0 and word(look, Look.ACCEPTS, word(look, Look.STATE, line)) & 3:
            _use(look, node)
            _release(look, peek(part, Part.CANDIDATE))
            poke(part, Part.CANDIDATE, node)
            poke(part, Part.CANDIDATE_END, last)
            poke(part, Part.WAITS, 1)
            break
        line = word(look, Look.NEXT, line)
    _drop(look, peek(part, Part.THREADS))
    poke(part, Part.THREADS, _NONE)


@compiled
def _over(look: int, p: int, last: int) -> tuple[int, int]:
    """End a match that is over, with its candidate if there is one; the row to go on with (-1: none has arrived)."""
    part = _part(look, p)
    start = peek(part, Part.ATTEMPT)
    resume = peek_half(fixed(look, Look.AFTER), start)
    if peek(part, Part.WAITS) != 0:
        stop, resume = _write_match(look, p, start, resume)
        if stop != 0:
            return stop, _NONE
    _release(look, peek(part, Part.CANDIDATE))
    _drop(look, peek(part, Part.THREADS))
    poke(part, Part.THREADS, _NONE)
    poke(part, Part.CANDIDATE, _NONE)
    poke(part, Part.WAITS, 0)
    poke(part, Part.SITUATION, _IDLE)
    return 0, resume if resume <= last else _NONE


@inlined
def _write_match(look: int, p: int, start: int, resume: int) -> tuple[int, int]:
    """Write the match that is over, and where to go on behind it."""
    now, part = fixed(look, Look.NOW), _part(look, p)
    count, filled, end = peek(now, Now.MATCHES), peek(now, Now.ROWS), peek(part, Part.CANDIDATE_END)
    length = 0
    node = peek(part, Part.CANDIDATE)
    while node >= 0:
        length += 1
        node = word(look, Look.PARENT, node)
    if count >= fixed(look, Look.MATCHES_ROOM):
        return _ROOM_FOR_MATCHES, resume
    if filled + length > fixed(look, Look.ROWS_ROOM):
        return _ROOM_FOR_ROWS, resume
    node, row = peek(part, Part.CANDIDATE), end
    skip, skip_to, target = fixed(look, Look.SKIP), fixed(look, Look.SKIP_TO), _NONE
    for k in range(length - 1, -1, -1):
        state = word(look, Look.NODE_STATE, node)
        put(look, Look.FOUND_ROWS, filled + k, row)
        put(look, Look.FOUND_STATES, filled + k, state)
        if (skip_to >> word(look, Look.VARIABLE, state)) & 1 and (target < 0 or skip == Skip.TO_FIRST):
            target = k
        node = word(look, Look.PARENT, node)
        row = peek_half(fixed(look, Look.BEFORE), row)
    if length > 0 and skip == Skip.PAST_LAST_ROW:
        resume = peek_half(fixed(look, Look.AFTER), end)
    elif length > 0 and skip != Skip.TO_NEXT_ROW:
        if target == 0:
            return _SKIP_TO_START, resume
        if target < 0:
            return _SKIP_TO_NOTHING, resume
        resume = word(look, Look.FOUND_ROWS, filled + target)
    number = peek(part, Part.NUMBER) + 1
    poke(part, Part.NUMBER, number)
    found = fixed(look, Look.MATCHES) + _WORD_BYTES * MATCH_WIDTH * count
    poke(found, FoundMatch.PARTITION, p)
    poke(found, FoundMatch.NUMBER, number)
    poke(found, FoundMatch.START, start)
    poke(found, FoundMatch.LENGTH, length)
    poke(found, FoundMatch.ROWS, filled)
    poke(now, Now.MATCHES, count + 1)
    poke(now, Now.ROWS, filled + length)
    return 0, resume
