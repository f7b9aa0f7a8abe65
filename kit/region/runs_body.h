/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of runs.h for one processor level. Included by a file a level, which names its table
 * as TN_RUNS.
 */
#include <tenon/kit/vector.h>
#include "kit/region/runs.h"

/* Longer runs are the C library's, whose call no longer counts. */
#define LONGEST 1024

/* Defines copy_SIZE for runs of SIZE bytes or more, moved by SIZE bytes. */
#define COPY(SIZE, TYPE)                                                                           \
    TN_INLINE void piece_##SIZE(char *to, const char *from) {                                      \
        typedef TYPE;                                                                              \
        *(piece *)to = *(const piece *)from;                                                       \
    }                                                                                              \
    static void copy_##SIZE(const tn_runs *runs, char *to, const char *from) {                     \
        const int64_t last = runs->bytes - SIZE;                                                   \
        for (int64_t i = 0; i < runs->counts[0]; i++) {                                            \
            char *target = to + i * runs->to_steps[0];                                             \
            const char *source = from + i * runs->from_steps[0];                                   \
            for (int64_t k = 0; k < runs->counts[1]; k++) {                                        \
                for (int64_t at = 0; at < last; at += SIZE)                                        \
                    piece_##SIZE(target + at, source + at);                                        \
                piece_##SIZE(target + last, source + last);                                        \
                target += runs->to_steps[1];                                                       \
                source += runs->from_steps[1];                                                     \
            }                                                                                      \
        }                                                                                          \
    }
#define INTEGER(BITS) uint##BITS##_t piece __attribute__((aligned(1), may_alias))
#define VECTOR(BYTES) uint8_t piece __attribute__((vector_size(BYTES), aligned(1), may_alias))

COPY(1, INTEGER(8))
COPY(2, INTEGER(16))
COPY(4, INTEGER(32))
COPY(8, INTEGER(64))
COPY(16, VECTOR(16))
#if TN_VECTOR_BYTES >= 32
COPY(32, VECTOR(32))
#endif
#if TN_VECTOR_BYTES >= 64
COPY(64, VECTOR(64))
#endif

static void copy_long(const tn_runs *runs, char *to, const char *from) {
    for (int64_t i = 0; i < runs->counts[0]; i++)
        for (int64_t k = 0; k < runs->counts[1]; k++)
            memcpy(to + i * runs->to_steps[0] + k * runs->to_steps[1],
                   from + i * runs->from_steps[0] + k * runs->from_steps[1], (size_t)runs->bytes);
}

static void copy(const tn_runs *runs, void *to, const void *from) {
    const int64_t bytes = runs->bytes;
    if (bytes > LONGEST) copy_long(runs, to, from);
#if TN_VECTOR_BYTES >= 64
    else if (bytes >= 64)
        copy_64(runs, to, from);
#endif
#if TN_VECTOR_BYTES >= 32
    else if (bytes >= 32)
        copy_32(runs, to, from);
#endif
    else if (bytes >= 16)
        copy_16(runs, to, from);
    else if (bytes >= 8)
        copy_8(runs, to, from);
    else if (bytes >= 4)
        copy_4(runs, to, from);
    else if (bytes >= 2)
        copy_2(runs, to, from);
    else if (bytes == 1)
        copy_1(runs, to, from);
}

const tn_runs_level TN_RUNS = {copy};
