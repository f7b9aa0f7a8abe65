/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CausalConvWithState: a convolution of each channel by itself along the positions, which sees the
 * positions up to its own alone. Those before the first one come from an earlier run, and the last
 * ones go to the next (Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State
 * Spaces", 2023, has it before its recurrence).
 */
#include "causal_conv/fields.h"
#include "kit/operator/layer.h"
#include "causal_conv/rows.h"
#include <tenon/kit/parallel.h>

#include <math.h>

enum { X = 0, WEIGHT = 1, BIAS = 2, PAST = 3 };
enum { Y = 0, PRESENT = 1 };

typedef struct causal_conv_job {
    const tn_call *call;
    tn_causal_conv_row function;
    float *scratch;
    int64_t rows, channels, length, taps; /* rows: batch * channels */
    int64_t scratch_floats;               /* a thread */
} causal_conv_job;

static tn_status refuse(tn_call *call, uint32_t input, const char *expected) {
    const tn_tensor *tensor = call->inputs[input];
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' has the shape %s, expected %s",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
                            expected);
}

static tn_status read_job(tn_call *call, causal_conv_job *job) {
    TN_TRY(tn_infer_require_rank(call, X, 3, 3));
    TN_TRY(tn_infer_require_rank(call, WEIGHT, 3, 3));
    const tn_tensor *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    const tn_tensor *bias = tn_infer_input(call, BIAS), *past = tn_infer_input(call, PAST);
    job->call = call;
    job->channels = x->shape[1];
    job->length = x->shape[2];
    job->taps = weight->shape[2];
    if (weight->shape[0] != job->channels || weight->shape[1] != 1 || job->taps < 1)
        return refuse(call, WEIGHT, "[channels, 1, taps], at least one tap");
    if (bias) TN_TRY(tn_infer_require_rank(call, BIAS, 1, 1));
    if (bias && bias->shape[0] != job->channels) return refuse(call, BIAS, "[channels]");
    if (past) TN_TRY(tn_infer_require_rank(call, PAST, 3, 3));
    if (past && (past->shape[0] != x->shape[0] || past->shape[1] != job->channels ||
                 past->shape[2] != job->taps - 1))
        return refuse(call, PAST, "[batch, channels, taps - 1]");
    job->rows = tn_infer_product(x->shape, 0, 2);
    /* Room for positions, results and weights. */
    if (!tn_infer_add(job->length, job->taps, &job->scratch_floats) ||
        !tn_infer_multiply(job->scratch_floats, 2, &job->scratch_floats) ||
        job->scratch_floats > INT32_MAX * (int64_t)1024)
        return call->host->fail(call, TN_ERROR_SHAPE, "too many positions");
    return TN_OK;
}

static tn_status causal_conv_infer(tn_call *call) {
    causal_conv_job job;
    TN_TRY(read_job(call, &job));
    const int64_t shape[3] = {call->inputs[X]->shape[0], job.channels, job.taps - 1};
    TN_TRY(tn_infer_set_shape(call, PRESENT, 3, shape));
    return tn_infer_copy_shape(call, Y, X);
}

/* Position `at` of a row, from the first one of the past on. */
static double position_of(const causal_conv_job *job, int64_t row, int64_t at) {
    const tn_tensor *past = tn_infer_input(job->call, PAST);
    const int64_t before = job->taps - 1;
    if (at >= before) return tn_element_f64(job->call->inputs[X], row * job->length + at - before);
    return past ? tn_element_f64(past, row * before + at) : 0;
}

static void write_present(const causal_conv_job *job, int64_t row) {
    const tn_tensor *present = tn_infer_output(job->call, PRESENT);
    const int64_t before = job->taps - 1;
    for (int64_t i = 0; present && i < before; i++)
        tn_element_set_f64(present, row * before + i, position_of(job, row, job->length + i));
}

static double bias_of(const causal_conv_job *job, int64_t row) {
    const tn_tensor *bias = tn_infer_input(job->call, BIAS);
    return bias ? tn_element_f64(bias, row % job->channels) : 0;
}

static tn_status causal_conv_reference(tn_call *call) {
    const tn_causal_conv_params *params = call->params;
    causal_conv_job job;
    TN_TRY(read_job(call, &job));
    const tn_tensor *y = tn_infer_output(call, Y);
    for (int64_t row = 0; row < job.rows; row++) {
        for (int64_t t = 0; y && t < job.length; t++) {
            double sum = bias_of(&job, row);
            for (int64_t j = 0; j < job.taps; j++)
                sum += tn_element_f64(call->inputs[WEIGHT], row % job.channels * job.taps + j) *
                       position_of(&job, row, t + j);
            if (params->activation) sum /= 1 + exp(-sum);
            tn_element_set_f64(y, row * job.length + t, sum);
        }
        write_present(&job, row);
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * of floats by vectors, a kernel a processor level; those of 16 bits are widened */

/* An item is a row. */
static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const causal_conv_job *job = user;
    const tn_causal_conv_params *params = job->call->params;
    float *x = job->scratch + (int64_t)thread * job->scratch_floats;
    float *weights = x + job->length + job->taps, *sums = weights + job->taps;
    const tn_tensor *y = tn_infer_output(job->call, Y);
    for (int64_t row = begin; row < end; row++) {
        const int64_t channel = row % job->channels;
        write_present(job, row);
        if (!y) continue;
        for (int64_t i = 0; i < job->length + job->taps - 1; i++)
            x[i] = (float)position_of(job, row, i);
        for (int64_t j = 0; j < job->taps; j++)
            weights[j] = (float)tn_element_f64(job->call->inputs[WEIGHT], channel * job->taps + j);
        job->function(job->length, job->taps, params->activation != 0, x, weights,
                      (float)bias_of(job, row), sums);
        for (int64_t t = 0; t < job->length; t++)
            tn_element_set_f64(y, row * job->length + t, (double)sums[t]);
    }
    return TN_OK;
}

static tn_status rows_reshape(tn_call *call) {
    causal_conv_job job;
    TN_TRY(read_job(call, &job));
    call->workspace_bytes = (uint64_t)job.scratch_floats * sizeof(float) * call->threads;
    return TN_OK;
}

static tn_status rows_run(tn_call *call) {
    enum { GRAIN = 8192 };
    causal_conv_job job;
    TN_TRY(read_job(call, &job));
    job.function = (tn_causal_conv_row)(uintptr_t)call->user;
    job.scratch = call->workspace;
    const int64_t each = job.length + job.taps;
    return call->host->parallel_for(call, job.rows, tn_parallel_grain(GRAIN, each), do_rows, &job);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port causal_conv_inputs[] = {
    TN_PORT("input", "T:f32|f16|bf16", 0, "batch, channels, positions"),
    TN_PORT("weight", "T", 0, "channels, 1, taps"),
    TN_PORT("bias", "T", TN_PORT_OPTIONAL, "a number a channel"),
    TN_PORT("past_state", "T", TN_PORT_OPTIONAL,
            "the positions before: batch, channels, taps - 1; not given: zeros"),
};
static const tn_port causal_conv_outputs[] = {
    TN_PORT("output", "T", 0, "as the input"),
    TN_PORT("present_state", "T", 0, "the last positions: batch, channels, taps - 1"),
};
static const char *const causal_conv_cases[] = {
    "| input=f32[2,3,7] weight=f32[3,1,4]",
    "activation=silu | input=f32[1,2,33] weight=f32[2,1,3] bias=f32[2] past_state=f32[1,2,2]",
    "activation=swish | input=f16[2,3,5] weight=f16[3,1,2] bias=f16[3]",
    "| input=bf16[1,2,3] weight=bf16[2,1,5] past_state=bf16[1,2,4]",
    "| input=f32[1,3,1] weight=f32[3,1,1]",
    "| input=f32[1,2,0] weight=f32[2,1,3] past_state=f32[1,2,2]",
    ("| input=f32[1,1,2]{3,4} weight=f32[1,1,2]{10,1} past_state=f32[1,1,1]{2} | "
     "output=f32[1,1,2]{23,34} present_state=f32[1,1,1]{4}"),
    "activation=silu | input=f32[1,64,100] weight=f32[64,1,4] bias=f32[64] past_state=f32[1,64,3]",
};
TN_OPERATOR(causal_conv, "", "CausalConvWithState", 27,
            "Convolves each channel with the positions up to its own.",
            TN_FIELDS(tn_causal_conv_params, causal_conv_fields));

TN_LEVEL_KERNELS(rows, tn_causal_conv, "CausalConvWithState", "rows",
                 "Channels on all threads, positions by vectors.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, .reshape = rows_reshape,
                 .run = rows_run);

TN_LAYER(causal_conv, TN_OPERATORS(&causal_conv_27), TN_KERNELS(TN_LEVEL_LIST(rows)));
