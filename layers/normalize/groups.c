/* SPDX-License-Identifier: Apache-2.0 */
/*
 * y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by the mean and variance of a group of
 * an image's channels: of one channel (InstanceNormalization; Ulyanov, Vedaldi and Lempitsky,
 * "Instance Normalization: The Missing Ingredient for Fast Stylization", 2016) or of as many as a
 * field says (GroupNormalization; Wu and He, "Group Normalization", 2018). Scale and bias are those
 * of a channel, in GroupNormalization before opset 21 those of a group.
 */
#include "normalize/fields.h"
#include "normalize/groups.h"
#include "normalize/row_sums.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>

#include <math.h>

enum { X = 0, SCALE = 1, BIAS = 2 };

typedef struct group_job {
    const tn_call *call;
    int64_t groups, channels, plane; /* of an image; channels of a group; elements of a channel */
    bool is_per_group;               /* scale and bias */
} group_job;

static bool is_instance(const tn_call *call) {
    return call->op->field_count == TN_COUNT(instance_fields);
}

static tn_status read_job(tn_call *call, group_job *job) {
    const tn_group_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, X, 2, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[X];
    const int64_t channels = x->shape[1];
    job->call = call;
    job->groups = is_instance(call) ? channels : params->num_groups;
    job->is_per_group = !is_instance(call) && call->op->since_version < 21;
    if (job->groups > 0 && channels % job->groups != 0)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "field 'num_groups' is %lld, which does not divide %lld channels",
                                (long long)job->groups, (long long)channels);
    job->channels = job->groups > 0 ? channels / job->groups : 0;
    job->plane = tn_infer_product(x->shape, 2, x->rank);
    for (uint32_t i = SCALE; i <= BIAS; i++) {
        const int64_t wanted = job->is_per_group ? job->groups : channels;
        TN_TRY(tn_infer_require_rank(call, i, 1, 1));
        if (call->inputs[i]->shape[0] != wanted)
            return call->host->fail(
                call, TN_ERROR_SHAPE, "input '%s' has %lld elements for %lld %s",
                tn_infer_input_name(call, i), (long long)call->inputs[i]->shape[0],
                (long long)wanted, job->is_per_group ? "groups" : "channels");
    }
    return TN_OK;
}

static tn_status group_infer(tn_call *call) {
    group_job job;
    TN_TRY(read_job(call, &job));
    return tn_infer_copy_shape(call, 0, X);
}

static void do_channel(const group_job *job, int64_t first, int64_t operand, double mean,
                       double inverse) {
    const tn_call *call = job->call;
    const double factor = tn_element_f64(call->inputs[SCALE], operand) * inverse;
    const double bias = tn_element_f64(call->inputs[BIAS], operand);
    for (int64_t i = first; i < first + job->plane; i++)
        tn_element_set_f64(call->outputs[0], i,
                           (tn_element_f64(call->inputs[X], i) - mean) * factor + bias);
}

/* An item is a group of an image. */
static tn_status do_groups(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const group_job *job = user;
    const tn_group_params *params = job->call->params;
    const int64_t count = job->channels * job->plane;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t group = item % job->groups;
        double mean, variance;
        tn_element_moments(job->call->inputs[X], item * count, count, &mean, &variance);
        const double inverse = 1 / sqrt(variance + (double)params->epsilon);
        for (int64_t channel = 0; channel < job->channels; channel++)
            do_channel(job, item * count + channel * job->plane,
                       job->is_per_group ? group : group * job->channels + channel, mean, inverse);
    }
    return TN_OK;
}

static tn_status group_reference(tn_call *call) {
    group_job job;
    TN_TRY(read_job(call, &job));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return do_groups(&job, 0, call->inputs[X]->shape[0] * job.groups, 0);
}

static tn_status group_run(tn_call *call) {
    enum { GRAIN = 4096 };
    group_job job;
    TN_TRY(read_job(call, &job));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, call->inputs[X]->shape[0] * job.groups,
                                    tn_parallel_grain(GRAIN, job.channels * job.plane), do_groups,
                                    &job);
}

/* ----------------------------------------------------------------------------------------------
 * 32-bit floats by rows */

enum { BLOCK = 4096 /* elements that are summed in 32 bits */ };

const tn_normalize_level tn_normalize_baseline = {&tn_reduce_baseline, &tn_rows_baseline};
const tn_normalize_level tn_normalize_avx2 = {&tn_reduce_avx2, &tn_rows_avx2};
const tn_normalize_level tn_normalize_avx512 = {&tn_reduce_avx512, &tn_rows_avx512};

double tn_normalize_sum(const tn_normalize_level *level, const float *x, int64_t count,
                        const float *mean) {
    float block[BLOCK];
    double sum = 0;
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t part = count - at < BLOCK ? count - at : BLOCK;
        if (mean) level->rows->combines[TN_COMBINE_SUB](part, x + at, 1, mean, 0, block);
        sum += (double)(mean ? level->reduce->lanes[TN_REDUCE_SUM_SQUARE](part, block)
                             : level->reduce->lanes[TN_REDUCE_SUM](part, x + at));
    }
    return sum;
}

static void do_channel_row(const group_job *job, int64_t first, int64_t operand, float mean,
                           double inverse) {
    const tn_normalize_level *level = job->call->user;
    const float *x = (const float *)job->call->inputs[X]->data + first;
    const float bias = ((const float *)job->call->inputs[BIAS]->data)[operand];
    const float factor =
        (float)((double)((const float *)job->call->inputs[SCALE]->data)[operand] * inverse);
    float *y = (float *)job->call->outputs[0]->data + first;
    for (int64_t at = 0; at < job->plane; at += BLOCK) {
        const int64_t part = job->plane - at < BLOCK ? job->plane - at : BLOCK;
        level->rows->combines[TN_COMBINE_SUB](part, x + at, 1, &mean, 0, y + at);
        level->rows->combines[TN_COMBINE_MUL](part, y + at, 1, &factor, 0, y + at);
        level->rows->combines[TN_COMBINE_ADD](part, y + at, 1, &bias, 0, y + at);
    }
}

/* An item is a group of an image. */
static tn_status do_group_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const group_job *job = user;
    const tn_group_params *params = job->call->params;
    const int64_t count = job->channels * job->plane;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t group = item % job->groups;
        const float *x = (const float *)job->call->inputs[X]->data + item * count;
        const float mean =
            (float)(tn_normalize_sum(job->call->user, x, count, NULL) / (double)count);
        const double variance = tn_normalize_sum(job->call->user, x, count, &mean) / (double)count;
        for (int64_t channel = 0; channel < job->channels; channel++)
            do_channel_row(job, item * count + channel * job->plane,
                           job->is_per_group ? group : group * job->channels + channel, mean,
                           1 / sqrt(variance + (double)params->epsilon));
    }
    return TN_OK;
}

static tn_status rows_run(tn_call *call) {
    enum { GRAIN = 8192 };
    group_job job;
    TN_TRY(read_job(call, &job));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    return call->host->parallel_for(call, call->inputs[X]->shape[0] * job.groups,
                                    tn_parallel_grain(GRAIN, job.channels * job.plane),
                                    do_group_rows, &job);
}

static const char *const rows_combinations[] = {"f32, f32, f32 -> f32"};
#define ROWS_KERNELS(prefix, operator_name)                                                        \
    TN_LEVEL_KERNELS_OF(, tn_##prefix##_rows, TN_LEVELS(tn_normalize), "", 1, operator_name,       \
                        "rows", "Groups of elements by vectors, on all threads.",                  \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,                    \
                        TN_COMBINATIONS(rows_combinations), .run = rows_run)
ROWS_KERNELS(instance, "InstanceNormalization");
ROWS_KERNELS(group, "GroupNormalization");

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port instance_inputs[] = {
    TN_PORT("input", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T", 0, "a factor a channel"),
    TN_PORT("B", "T", 0, "a bias a channel"),
};
static const tn_port instance_outputs[] = {TN_PORT("output", "T", 0, "the input normalised")};
static const tn_port group_18_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T", 0, "a factor a group"),
    TN_PORT("bias", "T", 0, "a bias a group"),
};
static const tn_port group_21_inputs[] = {
    TN_PORT("X", "T:float", 0, "batch, channels, spatial axes"),
    TN_PORT("scale", "T", 0, "a factor a channel"),
    TN_PORT("bias", "T", 0, "a bias a channel"),
};
static const tn_port group_outputs[] = {TN_PORT("Y", "T", 0, "X normalised")};

static const char *const instance_cases[] = {
    "| input=f32[2,3,5,7] scale=f32[3] B=f32[3]",
    "epsilon=0.01 | input=f32[1,2,33] scale=f32[2] B=f32[2]",
    "epsilon=0.5 | input=f32[3,4] scale=f32[4] B=f32[4]",
    "| input=f64[2,3,17] scale=f64[3] B=f64[3]",
    "| input=f16[1,3,5,7] scale=f16[3] B=f16[3]",
    "| input=bf16[1,2,9] scale=bf16[2] B=bf16[2]",
    "| input=f32[0,3,5] scale=f32[3] B=f32[3]",
    "| input=f32[1,64,56,56] scale=f32[64] B=f32[64]",
};
static const char *const group_18_cases[] = {
    "num_groups=2 | X=f32[2,4,5,3] scale=f32[2] bias=f32[2]",
    "num_groups=1 epsilon=0.01 | X=f64[2,3,5] scale=f64[1] bias=f64[1]",
    "num_groups=3 | X=f16[1,6,7] scale=f16[3] bias=f16[3]",
    "num_groups=2 | X=bf16[2,2] scale=bf16[2] bias=bf16[2]",
    "num_groups=2 | X=f32[0,4,5] scale=f32[2] bias=f32[2]",
    ("num_groups=1 epsilon=0 | X=f32[1,2,1]{1,3} scale=f32[1]{2} bias=f32[1]{5} | "
     "Y=f32[1,2,1]{3,7}"),
};
static const char *const group_21_cases[] = {
    "num_groups=2 | X=f32[2,4,5,3] scale=f32[4] bias=f32[4]",
    "num_groups=1 epsilon=0.01 | X=f64[2,3,5] scale=f64[3] bias=f64[3]",
    "num_groups=3 stash_type=f16 | X=f16[1,6,7] scale=f16[6] bias=f16[6]",
    "num_groups=2 stash_type=bf16 | X=bf16[2,2] scale=bf16[2] bias=bf16[2]",
    "num_groups=2 | X=f32[0,4,5] scale=f32[4] bias=f32[4]",
    ("num_groups=1 epsilon=0 | X=f32[1,2,1]{1,3} scale=f32[2]{2,4} bias=f32[2]{5,6} | "
     "Y=f32[1,2,1]{3,10}"),
    "num_groups=32 | X=f32[1,64,28,28] scale=f32[64] bias=f32[64]",
};

#define NORMALIZATION(symbol, name, version, words, kind, result_ports, case_table)                \
    const tn_operator symbol = {TN_OPERATOR_BEGIN("", name, version, words),                       \
                                TN_FIELDS(tn_group_params, kind##_fields),                         \
                                TN_INPUTS(kind##_inputs),                                          \
                                TN_OUTPUTS(result_ports),                                          \
                                .infer = group_infer,                                              \
                                .reference = group_reference,                                      \
                                TN_CASES(case_table)}
NORMALIZATION(tn_instance_normalization_6, "InstanceNormalization", 6,
              "Normalises each channel of each image.", instance, instance_outputs, instance_cases);
NORMALIZATION(tn_group_normalization_18, "GroupNormalization", 18,
              "Normalises groups of channels, with a factor a group.", group_18, group_outputs,
              group_18_cases);
NORMALIZATION(tn_group_normalization_21, "GroupNormalization", 21,
              "Normalises groups of channels, with a factor a channel.", group_21, group_outputs,
              group_21_cases);

const tn_kernel tn_instance_normalization_planes = {
    TN_KERNEL_BEGIN("cpu", "", "InstanceNormalization", "planes", 1,
                    "Planes on all threads, in double precision."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    .run = group_run,
};
const tn_kernel tn_group_normalization_groups = {
    TN_KERNEL_BEGIN("cpu", "", "GroupNormalization", "groups", 1,
                    "Groups on all threads, in double precision."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
    .run = group_run,
};
