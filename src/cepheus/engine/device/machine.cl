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
