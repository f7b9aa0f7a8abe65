/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax by vectors, of floats (lanes.h) and of 8-bit tensors (bytes.h), as kernels: one a
 * processor level. */
#include "kit/operator/layer.h"
#include "kit/reduce/lane_groups.h"
#include "softmax/bytes.h"
#include "softmax/lanes.h"
#include "softmax/softmax.h"

#include <math.h>

typedef struct lanes_job {
    const tn_softmax_level *level;
    bool is_log;
    tn_lanes lanes;
    const float *x;
    float *y;
} lanes_job;

static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        (job->is_log ? job->level->log_lane : job->level->lane)(count, job->x + i * count,
                                                                job->y + i * count);
    return TN_OK;
}

static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->level->width, groups = tn_lane_groups(lanes, width);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, width, groups, i, &columns);
        (job->is_log ? job->level->log_columns : job->level->columns)(
            lanes->count, lanes->inner, columns, job->x + at, job->y + at);
    }
    return TN_OK;
}

static tn_status run_lanes(tn_call *call, bool is_log) {
    enum { GRAIN = 8192 };
    lanes_job job = {.level = call->user,
                     .is_log = is_log,
                     .x = call->inputs[0]->data,
                     .y = call->outputs[0]->data};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return tn_lanes_do(call, &job.lanes, job.lanes.count, job.level->width, GRAIN, do_lanes,
                       do_columns, &job);
}

static tn_status lanes_run(tn_call *call) {
    return run_lanes(call, false);
}
static tn_status log_lanes_run(tn_call *call) {
    return run_lanes(call, true);
}

static const char *const lanes_combinations[] = {"f32 -> f32"};
TN_LEVEL_KERNELS(lanes, tn_softmax, "Softmax", "lanes", "Lanes by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                 TN_COMBINATIONS(lanes_combinations), .run = lanes_run);
TN_LEVEL_KERNELS(log_lanes, tn_softmax, "LogSoftmax", "lanes", "Lanes by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                 TN_COMBINATIONS(lanes_combinations), .run = log_lanes_run);

/* ----------------------------------------------------------------------------------------------
 * 8 bits */

static float scale_of(const tn_tensor *tensor) {
    return *(const float *)tensor->quantization->scales;
}

/* One scale, positive and finite. */
static bool is_quantized(const tn_tensor *tensor) {
    const tn_quantization *q = tensor->quantization;
    return (tensor->type == TN_I8 || tensor->type == TN_U8) && q && q->axis_count == 0 &&
           q->scale_type == TN_F32 && q->scales && scale_of(tensor) > 0 &&
           isfinite(scale_of(tensor));
}

static tn_status bytes_accepts(tn_call *call) {
    const tn_tensor *y = call->outputs[0];
    return is_quantized(call->inputs[0]) && (y->type == TN_F32 || is_quantized(y))
               ? TN_OK
               : TN_ERROR_UNSUPPORTED;
}

/* What a node keeps: its exponentials. */
static tn_status bytes_prepare(tn_call *call) {
    const double scale = (double)scale_of(call->inputs[0]);
    tn_softmax_powers *powers = call->host->allocate(call->host, sizeof(*powers), 64);
    if (!powers) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for exponentials");
    for (int i = 0; i < 256; i++)
        powers->by_1[i] = (float)exp(-scale * i);
    for (int i = 0; i < 16; i++)
        powers->by_16[i] = powers->by_1[i * 16];
    for (int i = 0; i < 8; i++) {
        powers->by_8[i] = powers->by_1[i * 8];
        powers->by_64[i] = powers->by_1[i % 4 * 64];
    }
    call->state = powers;
    return TN_OK;
}

static void bytes_release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

typedef struct bytes_job {
    tn_softmax_bytes bytes;
    const tn_softmax_bytes_level *level;
    tn_lanes lanes;
    const uint8_t *x;
    char *y;
    int64_t y_bytes; /* of an element */
} bytes_job;

static void read_output(const tn_tensor *y, tn_softmax_bytes *out_bytes) {
    out_bytes->is_float = y->type == TN_F32;
    out_bytes->per_step = 1;
    if (out_bytes->is_float) return;
    const void *zero = y->quantization->zero_points;
    const int32_t low = y->type == TN_I8 ? INT8_MIN : 0;
    out_bytes->per_step = 1 / scale_of(y);
    out_bytes->zero = !zero ? 0 : y->type == TN_I8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
    out_bytes->low = (float)(low - out_bytes->zero);
    out_bytes->high = (float)(low + UINT8_MAX - out_bytes->zero);
}

static tn_status do_byte_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const bytes_job *job = user;
    const int64_t count = job->lanes.count;
    (void)thread;
    for (int64_t i = begin * count; i < end * count; i += count)
        job->level->lane(&job->bytes, count, job->x + i, job->y + i * job->y_bytes);
    return TN_OK;
}

static tn_status do_byte_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const bytes_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->level->width, groups = tn_lane_groups(lanes, width);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const int64_t at = tn_lane_group(lanes, width, groups, i, &columns);
        job->level->columns(&job->bytes, lanes->count, lanes->inner, columns, job->x + at,
                            job->y + at * job->y_bytes);
    }
    return TN_OK;
}

static tn_status bytes_run(tn_call *call) {
    enum { GRAIN = 32768 };
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    bytes_job job = {.bytes = {.powers = call->state, .flip = x->type == TN_I8 ? 128 : 0},
                     .level = call->user,
                     .x = x->data,
                     .y = y->data,
                     .y_bytes = y->type == TN_F32 ? (int64_t)sizeof(float) : 1};
    TN_TRY(tn_softmax_read(call, &job.lanes));
    if (y->bytes == 0) return TN_OK;
    read_output(y, &job.bytes);
    return tn_lanes_do(call, &job.lanes, job.lanes.count, job.level->width, GRAIN, do_byte_lanes,
                       do_byte_columns, &job);
}

static const char *const bytes_combinations[] = {"qi8 -> f32", "qi8 -> qi8", "qi8 -> qu8",
                                                 "qu8 -> f32", "qu8 -> qi8", "qu8 -> qu8"};

TN_LEVEL_KERNELS(bytes, tn_softmax_bytes, "Softmax", "int8",
                 "8-bit lanes: exponentials looked up in a table.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                 TN_COMBINATIONS(bytes_combinations), .accepts = bytes_accepts,
                 .prepare = bytes_prepare, .release = bytes_release, .run = bytes_run);

#define DOUBLE_LANES(prefix, operator_name)                                                        \
    static const tn_kernel prefix##_lanes = {                                                      \
        TN_KERNEL_BEGIN("cpu", "", operator_name, "lanes", 1,                                      \
                        "Lanes on all threads, in double precision."),                             \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .run = tn_##prefix##_run}
DOUBLE_LANES(log_softmax, "LogSoftmax");
DOUBLE_LANES(hardmax, "Hardmax");

const tn_kernel *const tn_softmax_kernels[11] = {TN_LEVEL_LIST(lanes), TN_LEVEL_LIST(log_lanes),
                                                 TN_LEVEL_LIST(bytes), &log_softmax_lanes,
                                                 &hardmax_lanes};
