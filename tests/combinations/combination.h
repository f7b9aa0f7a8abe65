/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abilities that meet: a small network taken from graph to result with any set of the forms in
 * which a caller may build, load, bind and run it. Each result is compared with that of the network
 * built, loaded and run plainly, to the last bit.
 */
#ifndef TN_TESTS_COMBINATION_H
#define TN_TESTS_COMBINATION_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/tenon.h>

#include "failing_allocator.h"

enum {
    /* building */
    PROFILES,        /* a profile for few rows and one for many */
    REFIT,           /* built with other constants, which are then refitted */
    UNPACKED,        /* without what kernels pack of constants */
    CANCELLED_BUILD, /* a build that was ended before, halfway */
    BORDER,          /* 64-bit floats, channels last */
    /* loading: what is not chosen is loaded from bytes */
    FROM_FILE,
    BORROWED,
    TWICE, /* a second engine of the same plan, which shares its weights with the first */
    ISOLATED,
    CHECKED,
    VERIFIED,
    SHARED_THREADS,
    DEVICE_ALLOCATOR,
    /* contexts */
    ALLOCATOR,
    LENT_MEMORY,
    /* binding, in turns */
    STRIDED,
    OUTPUT_ALLOCATOR,
    DEVICE_BINDING,
    STREAM, /* of the caller's */
    /* running */
    ASYNC,
    CANCEL, /* a run that is cancelled somewhere, before each */
    PROFILING,
    DESCRIBED, /* reports and descriptions after every step */
    ABILITIES
};
extern const char *const ability_names[ABILITIES];

enum { NET_CONV, NET_BODIES, NET_UNKNOWN, NET_SEQUENCES, NET_STUB, NET_MIXED, NETS };
extern const char *const net_names[NETS];

#define WITH(ability) (UINT32_C(1) << (ability))

typedef struct combination {
    failing_allocator allocator;
    tn_runtime *runtime;
    const char *folder; /* for files */
    uint32_t net, abilities;
    uint64_t fail_at; /* the allocation that fails once the plan is built, from 1; 0: none */
} combination;

tn_graph *make_network(tn_runtime *runtime, uint32_t net, uint32_t seed);
const char *network_device(uint32_t net);
/* The shape of an output for so many rows; of what data sizes, the most that it can be. */
void network_output(uint32_t net, uint32_t output, int64_t rows, uint32_t *out_rank,
                    int64_t *out_shape);

/* All of it. The results of each round are appended to `out` (RESULT_BYTES numbers).
 * On failure *out_stage says what was being done, and nothing is left behind. */
enum { RESULT_BYTES = 1 << 16 };
tn_status combination_run(combination *own, float *out, uint32_t *out_count,
                          const char **out_stage);

#endif
