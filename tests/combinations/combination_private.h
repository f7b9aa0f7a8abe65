/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TESTS_COMBINATION_PRIVATE_H
#define TN_TESTS_COMBINATION_PRIVATE_H

#include "combination.h"

#include "base/status.h"
#include "plugin/devices.h"
#include "run/context_private.h"

enum { SEED = 1, ENGINES = 4, OUTPUTS = 2, ROUNDS = 8 };

typedef struct loaded {
    tn_engine *engines[ENGINES];
    uint32_t count;
    void *borrowed; /* not an engine's yet */
    tn_threads *threads;
    tn_device_handle *device;
    int device_blocks; /* of the caller's allocator */
    uint64_t blocks_taken;
    tn_used_device used; /* its table */
} loaded;

tn_status combination_build(const combination *own, uint32_t seed, tn_plan **out_plan);
bool has(const combination *own, int ability);
void loaded_release(loaded *own);
tn_status run_engines(combination *own, loaded *made, float *out, uint32_t *out_count,
                      const char **out_stage);

#endif
