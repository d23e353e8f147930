/* The steps of the search, each a kernel: see machine.cl, which comes before. */

/* ---- windows --------------------------------------------------------------------------------------------------- */

static inline long before(long time, long duration) {
    return time < INT_LEAST + duration ? INT_LEAST : time - duration;
}

static inline long time_at(DATA, int position, long entry) {
    return slot_of(PASSED, position, SLOT_TIME)[entry & (places[PLACE * position + 1] - 1)];
}

static inline long search_times(DATA, int position, long time, long low, long high) {
    while (low < high) {
        long middle = (low + high) >> 1;
        if (time_at(PASSED, position, middle) < time) low = middle + 1;
        else high = middle;
    }
    return low;
}

static inline void scope(DATA, int i, __global const long *step, long *since, long *until) {
    *until = bound(PASSED, i, (int)step[StepField_REFERENCE], SLOT_TIME);
    if (step[StepField_OTHER_REFERENCE] < 0) {
        *since = before(*until, step[StepField_WINDOW]);
        return;
    }
    long other = bound(PASSED, i, (int)step[StepField_OTHER_REFERENCE], SLOT_TIME);
    *since = min(other, *until) + 1;
    *until = max(other, *until);
}

/* Whether an entry is the very event that a window or interval refers to; types tell their rows apart. */
static inline bool is_reference(DATA, int i, __global const long *step, long entry, long kind) {
    const int position = (int)step[StepField_POSITION];
    const long row = slot_of(PASSED, position, (int)places[PLACE * position + 2])[entry &
                                                                                   (places[PLACE * position + 1] - 1)];
    for (int k = 0; k < 2; k++) {
        const int other = (int)step[k ? StepField_OTHER_REFERENCE : StepField_REFERENCE];
        if (other < 0) continue;
        const long other_kind = places[PLACE * POSITIONS + other];
        if (other_kind == kind && bound(PASSED, i, other, (int)places[PLACE * other + 2]) == row) return true;
    }
    return false;
}

/* Count the events from an entry on that have exactly that time and would do but for it. */
static long passed_over(DATA, int i, __global const long *step, long entry, long next, long time, long *bounded) {
    const int position = (int)step[StepField_POSITION];
    long found = 0;
    for (int k = 0; entry + k < next && time_at(PASSED, position, entry + k) == time; k++) {
        if (k == MOST_COMPARED) {
            *bounded = 1;
            break;
        }
        if (is_reference(PASSED, i, step, entry + k, step[StepField_TYPE])) continue;
        found += fits(PASSED, i, step, entry + k);
    }
    return found;
}

/* The entries from `low` up to `high` that the step's window of each partial sequence holds. By chunk of them: the
   largest number of blocks, how many events were passed over for their time alone, and whether counting stopped. */
__kernel void find_windows(DATA, const int step_at, const int count, const int chunk, const long first, const long next,
                           __global long *low, __global long *high, __global long *told) {
    const int group = (int)get_global_id(0);
    const int begin = group * chunk, end = min(begin + chunk, count);
    if (begin >= count) return;
    __global const long *step = steps + StepField_WIDTH * step_at;
    const int position = (int)step[StepField_POSITION];
    long most = 0, passed = 0, bounded = 0;
    for (int i = begin; i < end; i++) {
        long since, until;
        scope(PASSED, i, step, &since, &until);
        const long begins = search_times(PASSED, position, since, first, next);
        const long ends = search_times(PASSED, position, until, first, next);
        low[i] = begins;
        high[i] = max(begins, ends);
        if (ends > begins) most = max(most, (ends - 1) / BLOCK - begins / BLOCK + 1);
        if (ends < next && time_at(PASSED, position, ends) == until)
            passed += passed_over(PASSED, i, step, ends, next, until, &bounded);
        if (step[StepField_OTHER_REFERENCE] >= 0 && since <= until) {
            const long entry = search_times(PASSED, position, since - 1, first, next);
            if (entry < next && time_at(PASSED, position, entry) == since - 1)
                passed += passed_over(PASSED, i, step, entry, next, since - 1, &bounded);
        }
    }
    told[3 * group] = most;
    told[3 * group + 1] = passed;
    told[3 * group + 2] = bounded;
}

/* The bits of all blocks of all windows, `blocks` words for each partial sequence: every pair on its own. */
__kernel void mark_pairs(DATA, const int step_at, const int count, const int blocks, __global const long *low,
                         __global const long *high, __global ulong *bits) {
    const long item = get_global_id(0);
    if (item >= (long)count * blocks) return;
    const int i = (int)(item / blocks);
    const long block = low[i] / BLOCK + item % blocks;
    ulong found = 0;
    if (block * BLOCK < high[i])
        found = within(block_bits(PASSED, i, steps + StepField_WIDTH * step_at, block), block, low[i], high[i]);
    bits[item] = found;
}

/* Whether another event of the time of the outermost one that was taken would have done as well. */
static long has_rival(DATA, int i, __global const long *step, long entry, int direction, long end, long first, long next,
                      long *bounded) {
    const int position = (int)step[StepField_POSITION];
    const long time = time_at(PASSED, position, entry);
    for (int k = 1;; k++) {
        const long other = entry + direction * k;
        if (other == end || other < first || other >= next || time_at(PASSED, position, other) != time) return 0;
        if (k > MOST_COMPARED) {
            *bounded = 1;
            return 0;
        }
        if (fits(PASSED, i, step, other)) return 1;
    }
}

/* Leave the bits of the first or last so many events of each window. They are found here, block by block as far as need
   be, unless they are `known`. By chunk: how often the order of simultaneous events decided, whether counting stopped. */
__kernel void leave_few(DATA, const int step_at, const int count, const int chunk, const int blocks, const int known,
                        const long first, const long next, __global const long *low, __global const long *high,
                        __global ulong *bits, __global long *told) {
    const int group = (int)get_global_id(0);
    const int begin = group * chunk, end = min(begin + chunk, count);
    if (begin >= count) return;
    __global const long *step = steps + StepField_WIDTH * step_at;
    const bool last = step[StepField_POLICY] == PolicyCode_LAST;
    long decided = 0, bounded = 0;
    for (int i = begin; i < end; i++) {
        __global ulong *own = bits + (long)i * blocks;
        const long base = low[i] / BLOCK;
        long left = step[StepField_COUNT], outermost = -1;
        for (int k = 0; k < blocks; k++) {
            const int b = last ? blocks - 1 - k : k;
            const long block = base + b;
            ulong found = 0;
            if (left > 0 && block * BLOCK < high[i])
                found = known ? own[b] : within(block_bits(PASSED, i, step, block), block, low[i], high[i]);
            ulong kept = 0;
            while (found && left > 0) {
                const int bit = last ? 63 - (int)clz(found) : (int)popcount((found & (0UL - found)) - 1);
                kept |= 1UL << bit;
                found &= ~(1UL << bit);
                outermost = block * BLOCK + bit;
                left--;
            }
            own[b] = kept;
        }
        if (left == 0)
            decided += has_rival(PASSED, i, step, outermost, last ? -1 : 1, last ? first - 1 : high[i], first, next,
                                 &bounded);
    }
    told[3 * group] = decided;
    told[3 * group + 1] = bounded;
}

/* One bit for each partial sequence: set if nothing in its window will do. */
__kernel void mark_absent(DATA, const int step_at, const int count, const int chunk, __global const long *low,
                          __global const long *high, __global ulong *bits) {
    const int group = (int)get_global_id(0);
    const int begin = group * chunk, end = min(begin + chunk, count);
    __global const long *step = steps + StepField_WIDTH * step_at;
    for (int i = begin; i < end; i++) {
        ulong found = 0;
        for (long block = (high[i] - 1) / BLOCK; !found && high[i] > low[i] && block >= low[i] / BLOCK; block--)
            found = within(block_bits(PASSED, i, step, block), block, low[i], high[i]);
        bits[i] = found == 0;
    }
}

/* One bit for each partial sequence: set if no bit of its window is. */
__kernel void mark_empty(__global const ulong *pairs, const int count, const int blocks, __global ulong *bits) {
    const int i = (int)get_global_id(0);
    if (i >= count) return;
    ulong found = 0;
    for (int b = 0; b < blocks; b++) found |= pairs[(long)i * blocks + b];
    bits[i] = found == 0;
}

/* One bit for each partial sequence: set if the constraints of a step hold. */
__kernel void mark_required(DATA, const int step_at, const int count, __global ulong *bits) {
    const int i = (int)get_global_id(0);
    if (i >= count) return;
    __global const long *step = steps + StepField_WIDTH * step_at;
    long marks[1] = {1}, values[DEPTH * BLOCK], defined[DEPTH * BLOCK];
    for (long at = step[StepField_CONSTRAINTS]; at < step[StepField_CONSTRAINTS_END]; at++)
        mark(PASSED, i, -1, 0, 1, constraints + ConstraintField_WIDTH * at, marks, values, defined);
    bits[i] = marks[0];
}

/* ---- compaction ------------------------------------------------------------------------------------------------ */

/* How many bits are set, by chunk of words. */
__kernel void count_bits(__global const ulong *bits, const long items, const long chunk, __global long *counts) {
    const long group = get_global_id(0);
    const long begin = group * chunk, end = min(begin + chunk, items);
    if (begin >= items) return;
    long found = 0;
    for (long item = begin; item < end; item++) found += popcount(bits[item]);
    counts[group] = found;
}

/* Write a partial sequence for each bit, in order: chunks begin where the sums of the counts before them say. With a
   position below 0, sequences are kept as they are. */
__kernel void go_on(DATA, const int position, const int positions, const long items, const long chunk,
                    const int blocks, __global const long *low, __global const ulong *bits,
                    __global const long *offsets, __global int *longer, const int longer_stride) {
    UNUSED;
    const long group = get_global_id(0);
    const long begin = group * chunk, end = min(begin + chunk, items);
    if (begin >= items) return;
    long to = offsets[group];
    for (long item = begin; item < end; item++) {
        ulong left = bits[item];
        const int i = (int)(item / blocks);
        const long block = position < 0 ? 0 : low[i] / BLOCK + item % blocks;
        while (left) {
            const int bit = (int)popcount((left & (0UL - left)) - 1);
            left &= left - 1;
            for (int p = 0; p < positions; p++) longer[p * longer_stride + to] = partials[p * stride + i];
            if (position >= 0)
                longer[position * longer_stride + to] =
                    (int)((block * BLOCK + bit) & (places[PLACE * position + 1] - 1));
            to++;
        }
    }
}

/* ---- composite events ------------------------------------------------------------------------------------------ */

/* One bit for each sequence: set if all attributes that a composite event must have are defined. */
__kernel void mark_defined(DATA, const int count, const int outputs_at, const int outputs_end, __global ulong *bits) {
    const int i = (int)get_global_id(0);
    if (i >= count) return;
    long values[DEPTH * BLOCK], defined[DEPTH * BLOCK];
    ulong whole = 1;
    for (int at = outputs_at; at < outputs_end && whole; at++) {
        __global const long *output = outputs + OutputField_WIDTH * at;
        if (output[OutputField_CODE] < 0 || output[OutputField_OPTIONAL]) continue;
        run_code(PASSED, i, -1, 0, 1, output[OutputField_CODE], values, defined);
        whole = defined[0] != 0;
    }
    bits[i] = whole;
}

/* Write composite events, a run of `count` words for each field, and behind them whose they are. */
__kernel void make_events(DATA, const int count, const int rule, const int positions, const int outputs_at,
                          const int outputs_end, __global long *fields) {
    const int i = (int)get_global_id(0);
    if (i >= count) return;
    long values[DEPTH * BLOCK], defined[DEPTH * BLOCK];
    long start = bound(PASSED, i, 0, SLOT_START);
    __global long *field = fields + i;
    field[(long)OutputHeader_RULE * count] = rule;
    field[(long)OutputHeader_TIME * count] = bound(PASSED, i, 0, SLOT_TIME);
    long to = OutputHeader_WIDTH;
    for (int p = 0; p < positions; p++) {
        field[to++ * count] = bound(PASSED, i, p, SLOT_ID);
        start = min(start, bound(PASSED, i, p, SLOT_START));
    }
    field[(long)OutputHeader_START * count] = start;
    for (int at = outputs_at; at < outputs_end; at++) {
        __global const long *output = outputs + OutputField_WIDTH * at;
        if (output[OutputField_CODE] < 0) {
            field[to++ * count] = bound(PASSED, i, (int)output[OutputField_POSITION], (int)output[OutputField_SLOT]);
            continue;
        }
        run_code(PASSED, i, -1, 0, 1, output[OutputField_CODE], values, defined);
        field[to++ * count] = values[0];
        if (output[OutputField_OPTIONAL]) field[to++ * count] = defined[0];
    }
    field[to * count] = partials[i];
}

/* ---- columns --------------------------------------------------------------------------------------------------- */

/* Put rows, `width` words each one after the other, into a ring from an entry on. */
__kernel void put_rows(__global long *arena, __global const long *rows, const long base, const long capacity,
                       const int width, const long entry, const int count) {
    const long item = get_global_id(0);
    if (item >= (long)count * width) return;
    const long row = item / width, slot = item % width;
    arena[base + slot * capacity + ((entry + row) & (capacity - 1))] = rows[item];
}
