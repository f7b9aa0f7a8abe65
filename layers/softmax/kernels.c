/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of floats by vectors (lanes.h), as kernels: one a processor level. bytes.c does 8 bits.
 */
#include <tenon/kit/levels.h>
#include "softmax/kernels.h"
#include <tenon/kit/infer.h>
#include "softmax/lanes.h"

typedef struct lanes_job {
    const tn_softmax_level *level;
    tn_softmax_lanes lanes;
    const float *x;
    float *y;
} lanes_job;

static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        job->level->lane(count, job->x + i * count, job->y + i * count);
    return TN_OK;
}

static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const tn_softmax_lanes *lanes = &job->lanes;
    const int64_t width = job->level->width, groups = tn_softmax_groups(lanes, width);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_softmax_group(lanes, width, groups, i, &columns);
        job->level->columns(lanes->count, lanes->inner, columns, job->x + at, job->y + at);
    }
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    enum { GRAIN = 8192 };
    lanes_job job = {.level = call->user, .x = call->inputs[0]->data, .y = call->outputs[0]->data};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return tn_softmax_do(call, &job.lanes, job.level->width, GRAIN, do_lanes, do_columns, &job);
}

static const char *const combinations[] = {"f32 -> f32"};

#define LANES_KERNEL(level, features_text)                                                         \
    static const tn_kernel level = {                                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = "Softmax",                                                                           \
        .device = "cpu",                                                                           \
        .name = "lanes_" #level,                                                                   \
        .doc = "Lanes by vectors, on all threads.",                                                \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                                    \
        TN_COMBINATIONS(combinations),                                                             \
        .run = lanes_run,                                                                          \
        .user = (void *)(uintptr_t)&tn_softmax_##level,                                            \
    }
LANES_KERNEL(baseline, NULL);
LANES_KERNEL(avx2, TN_KIT_FEATURES_avx2);
LANES_KERNEL(avx512, TN_KIT_FEATURES_avx512);

const tn_kernel *const tn_softmax_kernels[6] = {&avx512,
                                                &avx2,
                                                &baseline,
                                                &tn_softmax_int8_avx512,
                                                &tn_softmax_int8_avx2,
                                                &tn_softmax_int8_baseline};
