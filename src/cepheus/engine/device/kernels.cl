/* The search of the columns engine, by pairs: partial sequence x stored event.

   Rules are data here as well: the tables of the program, as the compiled kernels of the host read them. Names of fields
   and instructions are defined by the text that is put before this one, from the same declarations.

   A column is a ring in the arena, one run of `capacity` words for each slot of its rows and one more for the numbers of
   the rows. A partial sequence is, for each position that is bound, the place of the event in its ring. Entries are
   looked at in blocks of BLOCK, whose outcome is one word of bits: a bit for each entry that will do. BLOCK is 64 where
   one processor works on a block with vector instructions, 1 where every pair has a thread of its own. */

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define INT_LEAST ((long)0x8000000000000000L)
#define MOST_COMPARED 1000
#define ALL_BITS (BLOCK == 64 ? ~0UL : ((1UL << (BLOCK & 63)) - 1))

/* Of a position: where its column begins, how many words a slot has, the slot of the numbers of rows. */
#define PLACE 3

#define DATA                                                                                                           \
    __global const long *arena, __global const long *steps, __global const long *constraints,                          \
        __global const long *code, __global const long *outputs, __global const long *places,                          \
        __global const int *partials, const int stride
#define PASSED arena, steps, constraints, code, outputs, places, partials, stride
#define UNUSED (void)arena, (void)steps, (void)constraints, (void)code, (void)outputs, (void)places, (void)partials

/* ---- values ---------------------------------------------------------------------------------------------------- */

static inline __global const long *slot_of(DATA, int position, int slot) {
    return arena + places[PLACE * position] + (long)slot * places[PLACE * position + 1];
}

static inline long bound(DATA, int i, int position, int slot) {
    return slot_of(PASSED, position, slot)[partials[position * stride + i]];
}

static inline bool compare_ints(long operator_code, long left, long right) {
    switch (operator_code) {
    case 0: return left == right;
    case 1: return left != right;
    case 2: return left < right;
    case 3: return left <= right;
    case 4: return left > right;
    default: return left >= right;
    }
}

static inline bool compare_floats(long operator_code, double left, double right) {
    switch (operator_code) {
    case 0: return left == right;
    case 1: return left != right;
    case 2: return left < right;
    case 3: return left <= right;
    case 4: return left > right;
    default: return left >= right;
    }
}

static inline long floor_divide(long left, long right) { /* right > 0 */
    long quotient = left / right;
    return left % right < 0 ? quotient - 1 : quotient;
}

static bool calendar(long part, long time, long *found) {
    if (time < -62135596800000000L || time >= 253402300800000000L) return false;
    long days = floor_divide(time, 86400000000L);
    long micros = time - days * 86400000000L;
    if (part == DatePart_HOUR) { *found = micros / 3600000000L; return true; }
    if (part == DatePart_MINUTE) { *found = micros / 60000000L % 60; return true; }
    if (part == DatePart_SECOND) { *found = micros / 1000000L % 60; return true; }
    if (part == DatePart_WEEKDAY) { *found = days + 3 - 7 * floor_divide(days + 3, 7) + 1; return true; }
    long shifted = days + 719468;
    long era = floor_divide(shifted, 146097);
    long day = shifted - era * 146097;
    long year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    long of_year = day - (365 * year + year / 4 - year / 100);
    long months = (5 * of_year + 2) / 153;
    long month = months < 10 ? months + 3 : months - 9;
    if (part == DatePart_YEAR) *found = year + era * 400 + (month <= 2 ? 1 : 0);
    else if (part == DatePart_MONTH) *found = month;
    else *found = of_year - (153 * months + 2) / 5 + 1;
    return true;
}

/* ---- the expression machine ------------------------------------------------------------------------------------ */

#define EACH for (int k = 0; k < count; k++)
#define TOP (BLOCK * top)
#define AFTER (BLOCK * (top + 1))
#define BELOW (BLOCK * (top - 1))

#define INTEGERS(VALUE, FITS)                                                                                          \
    top--;                                                                                                             \
    EACH {                                                                                                             \
        long left = values[TOP + k], right = values[AFTER + k];                                                        \
        long made = (VALUE);                                                                                           \
        defined[TOP + k] &= defined[AFTER + k] & (long)(FITS);                                                         \
        values[TOP + k] = made;                                                                                        \
    }                                                                                                                  \
    break

#define FLOATS(VALUE)                                                                                                  \
    top--;                                                                                                             \
    EACH {                                                                                                             \
        double left = as_double(values[TOP + k]), right = as_double(values[AFTER + k]);                                \
        double made = (VALUE);                                                                                         \
        defined[TOP + k] &= defined[AFTER + k] & (long)(fabs(made) < INFINITY);                                        \
        values[TOP + k] = as_long(made);                                                                               \
    }                                                                                                                  \
    break

#define COMPARED(READ, SIGN)                                                                                           \
    EACH {                                                                                                             \
        long both = defined[TOP + k] & defined[AFTER + k];                                                             \
        values[TOP + k] = both & (long)(READ(values[TOP + k]) SIGN READ(values[AFTER + k]));                           \
        defined[TOP + k] = both;                                                                                       \
    }                                                                                                                  \
    break

#define COMPARE(READ)                                                                                                  \
    top--;                                                                                                             \
    switch (a) {                                                                                                       \
    case 0: COMPARED(READ, ==);                                                                                        \
    case 1: COMPARED(READ, !=);                                                                                        \
    case 2: COMPARED(READ, <);                                                                                         \
    case 3: COMPARED(READ, <=);                                                                                        \
    case 4: COMPARED(READ, >);                                                                                         \
    default: COMPARED(READ, >=);                                                                                       \
    }                                                                                                                  \
    break

#define AS_IS(word) (word)

#define WHOLE(ROUNDED)                                                                                                 \
    EACH {                                                                                                             \
        double made = ROUNDED(as_double(values[TOP + k]));                                                             \
        bool fits = made >= -9223372036854775808.0 && made < 9223372036854775808.0;                                    \
        defined[TOP + k] &= (long)fits;                                                                                \
        values[TOP + k] = fits ? (long)made : 0;                                                                       \
    }                                                                                                                  \
    break

static inline long remainder_of(long left, long right) {
    if (right == 0 || right == -1) return 0;
    long rest = left % right;
    return rest != 0 && ((rest < 0) != (right < 0)) ? rest + right : rest;
}

static inline double remainder_of_floats(double left, double right) {
    if (right == 0.0) return NAN;
    double rest = fmod(left, right);
    if (rest == 0.0) return copysign(0.0, right);
    return (rest < 0.0) != (right < 0.0) ? rest + right : rest;
}

/* Run code for `count` events of a position, from a place in its ring on; whatever else it looks at is bound. With jumps
   in the code, count is 1. What it is worth is left in the first `count` cells. */
static inline void run_code(DATA, int i, int position, long first, const int count, long at, long *values,
                            long *defined) {
    int top = -1;
    while (true) {
        __global const long *instruction = code + 3 * at;
        const long a = instruction[1], b = instruction[2];
        at++;
        switch ((int)instruction[0]) {
        case Op_END:
            return;
        case Op_SLOT:
        case Op_OPTIONAL_SLOT: {
            top++;
            if (a == position) {
                __global const long *column = slot_of(PASSED, a, b) + first;
                EACH values[TOP + k] = column[k];
            } else {
                long value = bound(PASSED, i, a, b);
                EACH values[TOP + k] = value;
            }
            if (instruction[0] == Op_SLOT) {
                EACH defined[TOP + k] = 1;
            } else if (a == position) {
                __global const long *column = slot_of(PASSED, a, b + 1) + first;
                EACH defined[TOP + k] = column[k] != 0;
            } else {
                long known = bound(PASSED, i, a, b + 1) != 0;
                EACH defined[TOP + k] = known;
            }
            break;
        }
        case Op_CONSTANT:
            top++;
            EACH values[TOP + k] = a;
            EACH defined[TOP + k] = 1;
            break;
        case Op_TO_FLOAT:
            EACH values[BLOCK * (top - a) + k] = as_long((double)values[BLOCK * (top - a) + k]);
            break;
        case Op_ADD_INT: INTEGERS((long)((ulong)left + (ulong)right), ((left ^ made) & (right ^ made)) >= 0);
        case Op_SUB_INT: INTEGERS((long)((ulong)left - (ulong)right), ((left ^ right) & (left ^ made)) >= 0);
        case Op_MUL_INT: INTEGERS((long)((ulong)left * (ulong)right), mul_hi(left, right) == (made >> 63));
        case Op_MIN_INT: INTEGERS(right < left ? right : left, 1);
        case Op_MAX_INT: INTEGERS(right > left ? right : left, 1);
        case Op_MOD_INT: INTEGERS(remainder_of(left, right), right != 0);
        case Op_ADD_FLOAT: FLOATS(left + right);
        case Op_SUB_FLOAT: FLOATS(left - right);
        case Op_MUL_FLOAT: FLOATS(left * right);
        case Op_MIN_FLOAT: FLOATS(right < left ? right : left);
        case Op_MAX_FLOAT: FLOATS(right > left ? right : left);
        case Op_DIV_FLOAT: FLOATS(right == 0.0 ? NAN : left / right);
        case Op_MOD_FLOAT: FLOATS(remainder_of_floats(left, right));
        case Op_COMPARE_INT: COMPARE(AS_IS);
        case Op_COMPARE_FLOAT: COMPARE(as_double);
        case Op_ABS_INT:
            EACH {
                long value = values[TOP + k];
                defined[TOP + k] &= (long)(value != INT_LEAST);
                values[TOP + k] = value < 0 ? (long)(0UL - (ulong)value) : value;
            }
            break;
        case Op_ABS_FLOAT:
            EACH values[TOP + k] = as_long(fabs(as_double(values[TOP + k])));
            break;
        case Op_SQRT:
            EACH {
                double value = as_double(values[TOP + k]);
                defined[TOP + k] &= (long)(value >= 0.0);
                values[TOP + k] = as_long(value >= 0.0 ? sqrt(value) : 0.0);
            }
            break;
        case Op_FLOOR: WHOLE(floor);
        case Op_CEIL: WHOLE(ceil);
        case Op_ROUND: WHOLE(rint);
        case Op_CALENDAR:
            EACH {
                long part = 0;
                defined[TOP + k] = defined[TOP + k] && calendar(a, values[TOP + k], &part);
                values[TOP + k] = part;
            }
            break;
        case Op_NOT:
            EACH values[TOP + k] = values[TOP + k] == 0;
            break;
        case Op_IS_NULL:
            EACH {
                values[TOP + k] = defined[TOP + k] == 0;
                defined[TOP + k] = 1;
            }
            break;
        case Op_BOTH:
        case Op_EITHER: {
            const long decisive = instruction[0] == Op_EITHER;
            top--;
            EACH {
                long one = defined[TOP + k], other = defined[AFTER + k];
                long settled = (one & (long)(values[TOP + k] == decisive)) |
                               (other & (long)(values[AFTER + k] == decisive));
                defined[TOP + k] = settled | (one & other);
                values[TOP + k] = settled ? decisive : 1 - decisive;
            }
            break;
        }
        case Op_JUMP:
            at += a - 1;
            break;
        case Op_JUMP_IF_DEFINED:
            if (defined[TOP]) at += a - 1;
            else top--;
            break;
        case Op_JUMP_IF:
            if (defined[TOP] && values[TOP] == b) at += a - 1;
            break;
        case Op_JUMP_UNLESS:
            if (!defined[TOP] || values[TOP] == 0) at += a - 1;
            top--;
            break;
        default: /* lowered rules with other instructions are not sent here */
            return;
        }
    }
}

/* ---- constraints ----------------------------------------------------------------------------------------------- */

#define MARK(VALUE, SIGN, OTHER)                                                                                       \
    EACH marks[k] &= (long)((VALUE)SIGN(OTHER));                                                                       \
    break

#define MARK_BY(VALUE, OTHER)                                                                                          \
    switch ((int)constraint[ConstraintField_OPERATOR]) {                                                               \
    case 0: MARK(VALUE, ==, OTHER);                                                                                    \
    case 1: MARK(VALUE, !=, OTHER);                                                                                    \
    case 2: MARK(VALUE, <, OTHER);                                                                                     \
    case 3: MARK(VALUE, <=, OTHER);                                                                                    \
    case 4: MARK(VALUE, >, OTHER);                                                                                     \
    default: MARK(VALUE, >=, OTHER);                                                                                   \
    }

/* Take the marks of events away that do not satisfy a constraint. */
static inline void mark(DATA, int i, int position, long first, const int count, __global const long *constraint,
                        long *marks, long *values, long *defined) {
    const int kind = (int)constraint[ConstraintField_KIND];
    if (kind == ConstraintKind_CODE) {
        run_code(PASSED, i, position, first, count, constraint[ConstraintField_CODE], values, defined);
        EACH marks[k] &= defined[k] & (long)(values[k] != 0);
        return;
    }
    if (kind == JUMPING) {
        EACH {
            run_code(PASSED, i, position, first + k, 1, constraint[ConstraintField_CODE], values, defined);
            marks[k] &= defined[0] & (long)(values[0] != 0);
        }
        return;
    }
    const int left = (int)constraint[ConstraintField_POSITION], right = (int)constraint[ConstraintField_OTHER_POSITION];
    const int slot = (int)constraint[ConstraintField_SLOT], other_slot = (int)constraint[ConstraintField_OTHER_SLOT];
    const bool fixed_number = kind == ConstraintKind_INT_CONSTANT || kind == ConstraintKind_FLOAT_CONSTANT;
    const bool floating = kind == ConstraintKind_FLOAT_CONSTANT || kind == ConstraintKind_FLOAT_SLOT;
    if (left == position && (fixed_number || right != position)) {
        __global const long *column = slot_of(PASSED, position, slot) + first;
        const long other = fixed_number ? constraint[ConstraintField_CONSTANT] : bound(PASSED, i, right, other_slot);
        if (floating) {
            const double number = as_double(other);
            MARK_BY(as_double(column[k]), number)
        } else {
            MARK_BY(column[k], other)
        }
        return;
    }
    EACH {
        long one = left == position ? slot_of(PASSED, left, slot)[first + k] : bound(PASSED, i, left, slot);
        long other = fixed_number            ? constraint[ConstraintField_CONSTANT]
                     : right == position ? slot_of(PASSED, right, other_slot)[first + k]
                                         : bound(PASSED, i, right, other_slot);
        long holds = floating ? compare_floats(constraint[ConstraintField_OPERATOR], as_double(one), as_double(other))
                              : compare_ints(constraint[ConstraintField_OPERATOR], one, other);
        marks[k] &= holds;
    }
}

/* Which entries of the block with this number satisfy what a step asks, a bit each. */
static ulong block_bits(DATA, int i, __global const long *step, long block) {
    if (step[StepField_FLAGS] & StepFlag_PLAIN) return ALL_BITS;
    const int position = (int)step[StepField_POSITION], count = BLOCK;
    const long first = (block * BLOCK) & (places[PLACE * position + 1] - 1);
    long marks[BLOCK], values[DEPTH * BLOCK], defined[DEPTH * BLOCK];
    EACH marks[k] = 1;
    if (step[StepField_SINCE] > 0) {
        __global const long *rows = slot_of(PASSED, position, (int)places[PLACE * position + 2]) + first;
        EACH marks[k] = rows[k] >= step[StepField_SINCE];
    }
    for (long at = step[StepField_CONSTRAINTS]; at < step[StepField_CONSTRAINTS_END]; at++)
        mark(PASSED, i, position, first, count, constraints + ConstraintField_WIDTH * at, marks, values, defined);
    ulong bits = 0;
    EACH bits |= (ulong)marks[k] << k;
    return bits;
}

static inline bool fits(DATA, int i, __global const long *step, long entry) {
    return (block_bits(PASSED, i, step, entry / BLOCK) >> (entry & (BLOCK - 1))) & 1;
}

/* The part of a block's bits that lies from an entry on, up to and without another. */
static inline ulong within(ulong bits, long block, long low, long high) {
    const long begin = block * BLOCK;
    if (low > begin) bits &= low - begin >= BLOCK ? 0 : ALL_BITS << (low - begin);
    if (high < begin + BLOCK) bits &= high <= begin ? 0 : ALL_BITS >> (begin + BLOCK - high);
    return bits;
}

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
