/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax by vectors, of floats (lanes.h) and of 8-bit tensors (bytes.h), as kernels: one a
 * processor level. */
#include "kit/elementwise/cells.h"
#include "kit/operator/layer.h"
#include "kit/reduce/lane_groups.h"
#include "softmax/bytes.h"
#include "softmax/lanes.h"
#include "softmax/softmax.h"

#include <math.h>

typedef struct lanes_user {
    const tn_softmax_level *level;
    const tn_cells_level *cells;
    int kind;
} lanes_user;

/* Elements of 16 bits become floats in the thread's scratch memory and back. */
typedef struct lanes_job {
    const lanes_user *user;
    const tn_softmax_functions *functions;
    tn_lanes lanes;
    tn_type type;
    size_t bytes; /* of an element */
    const char *x;
    char *y;
    float *scratch;
    int64_t scratch_floats; /* of a thread; 0: elements are computed as they are */
} lanes_job;

static tn_status do_lanes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const tn_cells_level *cells = job->user->cells;
    const int64_t count = job->lanes.count;
    float *scratch = job->scratch ? job->scratch + job->scratch_floats * thread : NULL;
    if (job->scratch_floats == 0) {
        const size_t at = (size_t)(begin * count) * job->bytes;
        job->functions->rows[job->user->kind](end - begin, count, job->x + at, job->y + at);
        return TN_OK;
    }
    for (int64_t i = begin; i < end; i++) {
        const size_t at = (size_t)(i * count) * job->bytes;
        cells->load(TN_CELL_F32, job->type, count, job->x + at, scratch);
        job->functions->rows[job->user->kind](1, count, scratch, scratch);
        cells->store(TN_CELL_F32, job->type, count, scratch, job->y + at);
    }
    return TN_OK;
}

static void do_wide_columns(const lanes_job *job, size_t at, int64_t columns, float *scratch) {
    const tn_cells_level *cells = job->user->cells;
    const int64_t count = job->lanes.count, width = job->functions->width;
    const size_t stride = (size_t)job->lanes.inner * job->bytes;
    for (int64_t k = 0; k < count; k++)
        cells->load(TN_CELL_F32, job->type, columns, job->x + at + (size_t)k * stride,
                    scratch + k * width);
    job->functions->columns[job->user->kind](count, width, columns, scratch, scratch);
    for (int64_t k = 0; k < count; k++)
        cells->store(TN_CELL_F32, job->type, columns, scratch + k * width,
                     job->y + at + (size_t)k * stride);
}

static tn_status do_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const lanes_job *job = user;
    const tn_lanes *lanes = &job->lanes;
    const int64_t width = job->functions->width, groups = tn_lane_groups(lanes, width);
    for (int64_t i = begin; i < end; i++) {
        int64_t columns = 0;
        const size_t at = (size_t)tn_lane_group(lanes, width, groups, i, &columns) * job->bytes;
        if (job->scratch_floats)
            do_wide_columns(job, at, columns, job->scratch + job->scratch_floats * thread);
        else
            job->functions->columns[job->user->kind](lanes->count, lanes->inner, columns,
                                                     job->x + at, job->y + at);
    }
    return TN_OK;
}

static tn_status read_job(tn_call *call, lanes_job *job) {
    const lanes_user *user = call->user;
    const tn_type type = call->inputs[0]->type;
    *job = (lanes_job){.user = user, .type = type, .bytes = tn_element_bytes(type)};
    job->functions = type == TN_F64 ? &user->level->wide : &user->level->narrow;
    TN_TRY(tn_softmax_read(call, &job->lanes));
    if (job->bytes > 2 || tn_element_count(call->outputs[0]) == 0) return TN_OK;
    const int64_t rows = job->lanes.inner == 1 ? 1 : job->functions->width;
    job->scratch_floats = (job->lanes.count * rows + 15) / 16 * 16;
    return TN_OK;
}

static tn_status lanes_reshape(tn_call *call) {
    lanes_job job;
    TN_TRY(read_job(call, &job));
    call->workspace_bytes = (uint64_t)job.scratch_floats * sizeof(float) * call->threads;
    return TN_OK;
}

static tn_status lanes_run(tn_call *call) {
    enum { GRAIN = 8192 };
    lanes_job job;
    TN_TRY(read_job(call, &job));
    job.x = call->inputs[0]->data;
    job.y = call->outputs[0]->data;
    job.scratch = call->workspace;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return tn_lanes_do(call, &job.lanes, job.lanes.count, job.functions->width, GRAIN, do_lanes,
                       do_columns, &job);
}

static const char *const lanes_combinations[] = {"f32 -> f32", "f64 -> f64", "f16 -> f16",
                                                 "bf16 -> bf16"};
#define LANES_USER(prefix, kind, level)                                                            \
    static const lanes_user prefix##_user_##level = {&tn_softmax_##level, &tn_cells_##level, kind}
#define LANES_KERNELS(prefix, operator_name, kind)                                                 \
    LANES_USER(prefix, kind, baseline);                                                            \
    LANES_USER(prefix, kind, avx2);                                                                \
    LANES_USER(prefix, kind, avx512);                                                              \
    TN_LEVEL_KERNELS(                                                                              \
        prefix, prefix##_user, operator_name, "lanes", "Lanes by vectors, on all threads.",        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                                    \
        TN_COMBINATIONS(lanes_combinations), .reshape = lanes_reshape, .run = lanes_run)
LANES_KERNELS(lanes, "Softmax", TN_SOFTMAX_PLAIN);
LANES_KERNELS(log_lanes, "LogSoftmax", TN_SOFTMAX_LOG);

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

const tn_kernel *const tn_softmax_kernels[4] = {TN_LEVEL_LIST(lanes), TN_LEVEL_LIST(log_lanes),
                                                TN_LEVEL_LIST(bytes), TN_LEVEL_LIST(tn_hardmax)};
