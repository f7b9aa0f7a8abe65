/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses of classes: NegativeLogLikelihoodLoss, -input[label] * weight[label] of each lane along
 * the axis of classes, and SoftmaxCrossEntropyLoss, the same of the logarithm of the scores'
 * Softmax, which is a second output. Both may be summed, or averaged by their weights.
 */
#include <tenon/kit/lanes.h>
#include "loss/fields.h"
#include "kit/operator/layer.h"

#include <math.h>

enum { SCORES = 0, LABELS = 1, WEIGHTS = 2 };
enum { LOSS = 0, LOG_PROB = 1 };
enum { REDUCTION_NONE = 0, REDUCTION_SUM = 1, REDUCTION_MEAN = 2 };
enum { IGNORE_INDEX_PRESENT = 1u };

/* ----------------------------------------------------------------------------------------------
 * shapes */

/* The labels have the shape of the scores without the axis of classes. */
static tn_status check_labels(tn_call *call) {
    const tn_tensor *scores = call->inputs[SCORES], *labels = call->inputs[LABELS];
    bool fits = labels->rank + 1 == scores->rank && labels->shape[0] == scores->shape[0];
    for (uint32_t i = 2; fits && i < scores->rank; i++)
        fits = labels->shape[i - 1] == scores->shape[i];
    if (fits) return TN_OK;
    char text[TN_INFER_SHAPE_TEXT_BYTES], other[TN_INFER_SHAPE_TEXT_BYTES];
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has the shape %s, which is not %s without axis 1",
                            tn_infer_input_name(call, LABELS),
                            tn_infer_shape_text(labels->rank, labels->shape, text, sizeof(text)),
                            tn_infer_shape_text(scores->rank, scores->shape, other, sizeof(other)));
}

static tn_status loss_infer(tn_call *call) {
    const tn_loss_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, SCORES, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, LABELS, 1, TN_MAX_RANK - 1));
    TN_TRY(check_labels(call));
    const tn_tensor *scores = call->inputs[SCORES], *labels = call->inputs[LABELS];
    const tn_tensor *weights = tn_infer_input(call, WEIGHTS);
    if (weights && (weights->rank != 1 || weights->shape[0] != scores->shape[1]))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input '%s' must have a weight for each of the %lld classes",
                                tn_infer_input_name(call, WEIGHTS), (long long)scores->shape[1]);
    TN_TRY(tn_infer_copy_shape(call, LOG_PROB, SCORES));
    if (params->reduction != REDUCTION_NONE) return tn_infer_set_shape(call, LOSS, 0, NULL);
    return tn_infer_set_shape(call, LOSS, labels->rank, labels->shape);
}

/* ----------------------------------------------------------------------------------------------
 * lanes */

typedef struct sums {
    double loss, weight;
} sums;

typedef struct loss_job {
    tn_call *call;
    tn_lanes lanes;
    int64_t block; /* lanes of a block, which are summed one after the other */
    bool has_softmax;
    sums *of_blocks;
} loss_job;

static loss_job read_job(tn_call *call, bool has_softmax) {
    return (loss_job){.call = call,
                      .lanes = tn_lanes_along(call->inputs[SCORES], 1, 2),
                      .has_softmax = has_softmax};
}

static int64_t lane_count(const loss_job *job) {
    return job->lanes.outer * job->lanes.inner;
}

/* The logarithm of the sum of exponentials; stores the logarithms of Softmax where asked. */
static double log_sum(const loss_job *job, int64_t first) {
    const tn_tensor *x = job->call->inputs[SCORES];
    const tn_tensor *log_prob = tn_infer_output(job->call, LOG_PROB);
    const int64_t step = job->lanes.inner, end = first + job->lanes.count * step;
    double largest = -(double)INFINITY, sum = 0;
    for (int64_t i = first; i < end; i += step)
        largest = fmax(largest, tn_element_f64(x, i));
    for (int64_t i = first; i < end; i += step)
        sum += exp(tn_element_f64(x, i) - largest);
    const double offset = largest + log(sum);
    for (int64_t i = first; log_prob && i < end; i += step)
        tn_element_set_f64(log_prob, i, tn_element_f64(x, i) - offset);
    return offset;
}

static tn_status do_lane(const loss_job *job, int64_t lane, sums *total) {
    tn_call *call = job->call;
    const tn_loss_params *params = call->params;
    const tn_tensor *weights = tn_infer_input(call, WEIGHTS);
    const tn_tensor *loss = tn_infer_output(call, LOSS);
    const int64_t first = tn_lanes_first(&job->lanes, lane);
    const int64_t label = tn_element_i64(call->inputs[LABELS], lane);
    const double offset = job->has_softmax ? log_sum(job, first) : 0;
    double value = 0;
    if (!(params->present & IGNORE_INDEX_PRESENT) || label != params->ignore_index) {
        if (label < 0 || label >= job->lanes.count)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "label %lld is none of the %lld classes 0, 1, ...",
                                    (long long)label, (long long)job->lanes.count);
        const double weight = weights ? tn_element_f64(weights, label) : 1;
        const double score = tn_element_f64(call->inputs[SCORES], first + label * job->lanes.inner);
        value = (offset - score) * weight;
        total->loss += value;
        total->weight += weight;
    }
    if (loss && params->reduction == REDUCTION_NONE) tn_element_set_f64(loss, lane, value);
    return TN_OK;
}

/* An item is a block. */
static tn_status do_blocks(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const loss_job *job = user;
    const int64_t count = lane_count(job);
    (void)thread;
    for (int64_t block = begin; block < end; block++) {
        sums total = {0};
        for (int64_t i = 0; i < job->block && block * job->block + i < count; i++)
            TN_TRY(do_lane(job, block * job->block + i, &total));
        job->of_blocks[block] = total;
    }
    return TN_OK;
}

static void store_total(const loss_job *job, int64_t blocks) {
    const tn_loss_params *params = job->call->params;
    const tn_tensor *loss = tn_infer_output(job->call, LOSS);
    sums total = {0};
    if (!loss || params->reduction == REDUCTION_NONE) return;
    for (int64_t i = 0; i < blocks; i++) {
        total.loss += job->of_blocks[i].loss;
        total.weight += job->of_blocks[i].weight;
    }
    const bool is_mean = params->reduction == REDUCTION_MEAN;
    tn_element_set_f64(loss, 0, is_mean ? total.loss / total.weight : total.loss);
}

static tn_status compute(tn_call *call, bool has_softmax) {
    loss_job job = read_job(call, has_softmax);
    sums total = {0};
    job.block = lane_count(&job);
    job.of_blocks = &total;
    if (job.block > 0) TN_TRY(do_blocks(&job, 0, 1, 0));
    store_total(&job, 1);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * kernels: blocks on all threads, whose sums are added in their order */

enum { LANES_OF_BLOCK = 64 };

static int64_t block_count(const loss_job *job) {
    return (lane_count(job) + LANES_OF_BLOCK - 1) / LANES_OF_BLOCK;
}

static tn_status loss_reshape(tn_call *call) {
    const loss_job job = read_job(call, false);
    call->workspace_bytes = (uint64_t)block_count(&job) * sizeof(sums);
    return TN_OK;
}

static tn_status compute_parallel(tn_call *call, bool has_softmax) {
    enum { GRAIN = 4096 };
    loss_job job = read_job(call, has_softmax);
    const int64_t blocks = block_count(&job);
    const int64_t each = LANES_OF_BLOCK * (has_softmax ? job.lanes.count : 1);
    job.block = LANES_OF_BLOCK;
    job.of_blocks = call->workspace;
    if (blocks > 0)
        TN_TRY(call->host->parallel_for(call, blocks, GRAIN / (each + 1) + 1, do_blocks, &job));
    store_total(&job, blocks);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port likelihood_inputs[] = {
    TN_PORT("input", "T:float", 0, "batch, classes, further axes: logarithms of probabilities"),
    TN_PORT("target", "i64|i32", 0, "the right class of each lane"),
    TN_PORT("weight", "T", TN_PORT_OPTIONAL, "a weight for each class; absent: 1"),
};
static const tn_port likelihood_outputs[] = {
    TN_PORT("loss", "T", 0, "the loss of each lane, or one for all"),
};
static const tn_port cross_entropy_inputs[] = {
    TN_PORT("scores", "T:float", 0, "batch, classes, further axes"),
    TN_PORT("labels", "i64|i32", 0, "the right class of each lane"),
    TN_PORT("weights", "T", TN_PORT_OPTIONAL, "a weight for each class; absent: 1"),
};
static const tn_port cross_entropy_outputs[] = {
    TN_PORT("output", "T", 0, "the loss of each lane, or one for all"),
    TN_PORT("log_prob", "T", TN_PORT_OPTIONAL, "the logarithms of the scores' Softmax"),
};
#define SEVEN "0,1,2,3,0,1,2"
#define SEVENTY                                                                                    \
    SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN "," SEVEN
#define LOSS_CASES(x, labels, weights)                                                             \
    "| " x "=f32[3,5] " labels "=i64[3]{1,0,4}",                                                   \
        "reduction=none | " x "=f32[3,5] " labels "=i32[3]{1,0,4}",                                \
        "reduction=sum | " x "=f64[2,3,4] " labels "=i64[2,4]{0,1,2,0,2,1,0,2} " weights           \
        "=f64[3]",                                                                                 \
        "reduction=none ignore_index=1 | " x "=f32[2,3,2,2] " labels                               \
        "=i64[2,2,2]{0,1,2,0,2,1,0,2} " weights "=f32[3]",                                         \
        "ignore_index=-100 | " x "=f32[3,5] " labels "=i64[3]{1,-100,4} " weights                  \
        "=f32[5]{1,2,3,4,5}",                                                                      \
        "ignore_index=9 | " x "=f16[3,5] " labels "=i64[3]{1,9,4}",                                \
        "reduction=sum | " x "=bf16[2,3] " labels "=i64[2]{2,0}",                                  \
        "reduction=sum | " x "=f32[0,5] " labels "=i64[0]",                                        \
        "ignore_index=3 | " x "=f32[2,4,35] " labels "=i64[2,35]{" SEVENTY "}"
static const char *const likelihood_cases[] = {
    LOSS_CASES("input", "target", "weight"),
    ("reduction=none | input=f64[2,2]{-1,-2,-3,-4} target=i64[2]{1,0} weight=f64[2]{1,10}"
     " | loss=f64[2]{20,3}"),
    "| input=f64[2,2]{-1,-2,-3,-4} target=i64[2]{1,0} weight=f64[2]{1,3} | loss=f64[]{2.25}",
};
static const char *const cross_entropy_cases[] = {
    LOSS_CASES("scores", "labels", "weights"),
    "reduction=none | scores=f64[1,2]{1000,1000} labels=i64[1]{1}"
    " | output=f64[1]{0.6931471805599453} log_prob=f64[1,2]"
    "{-0.6931471805599453,-0.6931471805599453}",
    "| scores=f32[8,1000] labels=i64[8]{0,1,2,3,4,5,6,999}",
};

#define LOSS_OPERATOR(prefix, of_name, words, has_softmax)                                         \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return compute(call, has_softmax);                                                         \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return compute_parallel(call, has_softmax);                                                \
    }                                                                                              \
    static const tn_operator prefix = {TN_OPERATOR_BEGIN("", of_name, 12, words),                  \
                                       TN_FIELDS(tn_loss_params, loss_fields),                     \
                                       TN_INPUTS(prefix##_inputs),                                 \
                                       TN_OUTPUTS(prefix##_outputs),                               \
                                       .infer = loss_infer,                                        \
                                       .reference = prefix##_reference,                            \
                                       TN_CASES(prefix##_cases)};                                  \
    TN_CPU_KERNEL(prefix##_blocks, "", of_name, "blocks",                                          \
                  "Blocks of lanes on all threads, in double precision.", .reshape = loss_reshape, \
                  .run = prefix##_run)
LOSS_OPERATOR(likelihood, "NegativeLogLikelihoodLoss",
              "Weighted losses of logarithms of probabilities.", false);
LOSS_OPERATOR(cross_entropy, "SoftmaxCrossEntropyLoss",
              "Weighted losses of scores by their Softmax.", true);

TN_LAYER(loss, TN_OPERATORS(&likelihood, &cross_entropy),
         TN_KERNELS(&likelihood_blocks, &cross_entropy_blocks));
