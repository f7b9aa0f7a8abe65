/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonZero: the indices of all elements that are not zero, in row-major order; a row for each axis.
 * How many there are is known when it has run. NaN is not zero, -0 is. A scalar has no axis: its
 * output has no rows, and one column where it is not zero.
 */
#include <tenon/kit/parallel.h>
#include "kit/operator/layer.h"

static tn_status non_zero_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    const int64_t shape[2] = {x->rank, tn_element_count(x)};
    return tn_infer_set_shape(call, 0, 2, shape);
}

static bool is_zero(const tn_tensor *x, int64_t at) {
    return tn_element_is_real(x->type) ? tn_element_f64(x, at) == 0 : tn_element_i64(x, at) == 0;
}

static tn_status non_zero_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    int64_t *y = call->outputs[0]->data, found = 0, number = 0;
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++)
        found += !is_zero(x, i);
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        int64_t rest = i;
        if (is_zero(x, i)) continue;
        for (uint32_t k = x->rank; k-- > 0; rest /= x->shape[k])
            y[k * found + number] = rest % x->shape[k];
        number++;
    }
    call->outputs[0]->shape[1] = found;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernel: elements are cut into parts; each part is counted, and then each writes its columns */

enum { MOST_PARTS = 64, PART_ELEMENTS = 8192 };

typedef struct search {
    const tn_tensor *x;
    int64_t *y;
    int64_t elements, parts, found;
    int64_t counts[MOST_PARTS]; /* then: the first column of each part */
} search;

/* Whether an element is not zero, from its bits: those of a float without the sign. */
#define TESTS(name, type, mask)                                                                    \
    static int64_t count_##name(const type *x, int64_t count) {                                    \
        int64_t found = 0;                                                                         \
        for (int64_t i = 0; i < count; i++)                                                        \
            found += (x[i] & (mask)) != 0;                                                         \
        return found;                                                                              \
    }                                                                                              \
    static bool test_##name(const void *x, int64_t i) {                                            \
        return (((const type *)x)[i] & (mask)) != 0;                                               \
    }
TESTS(byte, uint8_t, UINT8_MAX)
TESTS(short, uint16_t, UINT16_MAX)
TESTS(half, uint16_t, INT16_MAX)
TESTS(word, uint32_t, UINT32_MAX)
TESTS(single, uint32_t, INT32_MAX)
TESTS(long, uint64_t, UINT64_MAX)
TESTS(double, uint64_t, INT64_MAX)

static int64_t count_part(const tn_tensor *x, int64_t first, int64_t count) {
    const char *data = (const char *)x->data + first * (int64_t)tn_element_bytes(x->type);
    const void *from = data;
    const bool is_real = tn_element_is_real(x->type);
    switch (tn_element_bytes(x->type)) {
    case 1:
        return count_byte(from, count);
    case 2:
        return is_real ? count_half(from, count) : count_short(from, count);
    case 4:
        return is_real ? count_single(from, count) : count_word(from, count);
    default:
        return is_real ? count_double(from, count) : count_long(from, count);
    }
}

/* The row of the last axis that begins at `begin`: columns `number` on; answers the next one. */
#define WRITE(name)                                                                                \
    static int64_t write_##name(const search *s, int64_t begin, int64_t first, int64_t end,        \
                                const int64_t *index, int64_t number) {                            \
        const uint32_t last = s->x->rank - 1;                                                      \
        for (int64_t i = first; i < end; i++) {                                                    \
            if (!test_##name(s->x->data, begin + i)) continue;                                     \
            for (uint32_t k = 0; k < last; k++)                                                    \
                s->y[k * s->found + number] = index[k];                                            \
            s->y[last * s->found + number++] = i;                                                  \
        }                                                                                          \
        return number;                                                                             \
    }
WRITE(byte)
WRITE(short)
WRITE(half)
WRITE(word)
WRITE(single)
WRITE(long)
WRITE(double)

typedef int64_t (*row_function)(const search *s, int64_t begin, int64_t first, int64_t end,
                                const int64_t *index, int64_t number);

static row_function choose_row(tn_type type) {
    const bool is_real = tn_element_is_real(type);
    switch (tn_element_bytes(type)) {
    case 1:
        return write_byte;
    case 2:
        return is_real ? write_half : write_short;
    case 4:
        return is_real ? write_single : write_word;
    default:
        return is_real ? write_double : write_long;
    }
}

static void write_part(const search *s, int64_t begin, int64_t end, int64_t number) {
    const tn_tensor *x = s->x;
    const row_function write = choose_row(x->type);
    const uint32_t last = x->rank - 1;
    const int64_t width = x->shape[last];
    int64_t index[TN_MAX_RANK], rest = begin / width;
    for (uint32_t k = last; k-- > 0; rest /= x->shape[k])
        index[k] = rest % x->shape[k];
    while (begin < end) {
        const int64_t first = begin % width, row = begin - first;
        const int64_t stop = end - row < width ? end - row : width;
        number = write(s, row, first, stop, index, number);
        begin = row + stop;
        for (uint32_t k = last; k-- > 0 && ++index[k] == x->shape[k];)
            index[k] = 0;
    }
}

static tn_status count_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    search *s = user;
    (void)thread;
    for (int64_t part = begin; part < end; part++) {
        const int64_t first = tn_parallel_first(s->elements, s->parts, part);
        s->counts[part] =
            count_part(s->x, first, tn_parallel_first(s->elements, s->parts, part + 1) - first);
    }
    return TN_OK;
}

static tn_status write_parts(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const search *s = user;
    (void)thread;
    for (int64_t part = begin; part < end; part++)
        write_part(s, tn_parallel_first(s->elements, s->parts, part),
                   tn_parallel_first(s->elements, s->parts, part + 1), s->counts[part]);
    return TN_OK;
}

static tn_status non_zero_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    search s = {.x = x, .y = call->outputs[0]->data, .elements = tn_element_count(x)};
    s.parts = s.elements / PART_ELEMENTS + 1;
    if (s.parts > MOST_PARTS) s.parts = MOST_PARTS;
    TN_TRY(call->host->parallel_for(call, s.parts, 1, count_parts, &s));
    for (int64_t part = 0; part < s.parts; part++) {
        const int64_t count = s.counts[part];
        s.counts[part] = s.found;
        s.found += count;
    }
    call->outputs[0]->shape[1] = s.found;
    if (s.found == 0 || x->rank == 0) return TN_OK;
    return call->host->parallel_for(call, s.parts, 1, write_parts, &s);
}

static const tn_port non_zero_inputs[] = {TN_PORT("X", "any", 0, "any tensor")};
static const tn_port non_zero_outputs[] = {
    TN_PORT("Y", "i64", TN_PORT_SIZED_BY_RUN, "a row for each axis, a column for each element")};
static const char *const non_zero_cases[] = {
    "| X=bool[2,2]{1,0,1,1} | Y=i64[2,3]{0,1,1,0,0,1}",
    "| X=f32[2,3]{0,-0.0,nan,1e-45,0,-2} | Y=i64[2,3]{0,1,1,2,0,2}",
    "| X=f16[7]{0,1,-0.0,0,2,3,0} | Y=i64[1,3]{1,4,5}",
    "| X=bf16[3]{0,1,-0.0} | Y=i64[1,1]{1}",
    "| X=f64[3]{0,4,-0.0} | Y=i64[1,1]{1}",
    "| X=i64[2,2]{0,4294967296,0,-1} | Y=i64[2,2]{0,1,1,1}",
    "| X=i32[3]{0,-1,65536} | Y=i64[1,2]{1,2}",
    "| X=i16[3]{0,-1,256} | Y=i64[1,2]{1,2}",
    "| X=u8[2,1,2]{0,0,3,0} | Y=i64[3,1]{1,0,0}",
    "| X=f32[]{3} | Y=i64[0,1]",
    "| X=f32[]{0} | Y=i64[0,0]",
    "| X=u64[2,0,3]",
    "| X=bool[3,2]{0,0,0,0,0,0} | Y=i64[2,0]",
    "| X=f32[4,67,131]",
    "| X=bool[3,50,97]",
};

TN_OPERATOR(non_zero, "", "NonZero", 9, "The indices of elements that are not zero.", TN_NO_FIELDS);

TN_CPU_KERNEL(non_zero_parts, "", "NonZero", "parts", "Parts counted on all threads, then written.",
              .run = non_zero_run);

TN_LAYER(non_zero, TN_OPERATORS(&non_zero_9), TN_KERNELS(&non_zero_parts));
