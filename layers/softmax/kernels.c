/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of floats by vectors (lanes.h), as kernels: one a processor level. bytes.c does 8 bits.
 */
#include "softmax/kernels.h"
#include "common/infer.h"
#include "softmax/lanes.h"
#include "softmax/softmax.h"

typedef struct lanes_job {
    const tn_softmax_level *level;
    tn_softmax_lanes lanes;
    int64_t groups; /* of columns, in each of lanes.outer */
    const float *x;
    float *y;
} lanes_job;

/* An item is a contiguous lane. */
static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        job->level->lane(count, job->x + i * count, job->y + i * count);
    return TN_OK;
}

/* An item is a group of columns as wide as a vector. */
static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const int64_t count = job->lanes.count, inner = job->lanes.inner, width = job->level->width;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % job->groups * width;
        const int64_t offset = i / job->groups * count * inner + first;
        job->level->columns(count, inner, inner - first < width ? inner - first : width,
                            job->x + offset, job->y + offset);
    }
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    enum { GRAIN = 8192 };
    lanes_job job = {.level = call->user, .x = call->inputs[0]->data, .y = call->outputs[0]->data};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (job.lanes.inner == 1)
        return call->host->parallel_for(call, job.lanes.outer, GRAIN / job.lanes.count + 1,
                                        do_lanes, &job);
    job.groups = (job.lanes.inner + job.level->width - 1) / job.level->width;
    return call->host->parallel_for(call, job.lanes.outer * job.groups,
                                    GRAIN / job.level->width / job.lanes.count + 1, do_columns,
                                    &job);
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
LANES_KERNEL(avx2, "avx2,fma");
LANES_KERNEL(avx512, "avx512f,avx512bw,avx512vl,avx512dq");

const tn_kernel *const tn_softmax_kernels[6] = {&avx512,
                                                &avx2,
                                                &baseline,
                                                &tn_softmax_int8_avx512,
                                                &tn_softmax_int8_avx2,
                                                &tn_softmax_int8_baseline};
