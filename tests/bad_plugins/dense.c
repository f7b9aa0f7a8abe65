/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Dense, y = x * w + bias: weights packed when they are constant, two tactics, bias, addition
 * and activations absorbed; and the mistakes that are made with them. */
#include "mistake.h"
#include "../support/steps.h"

#include <math.h>
#include <string.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, depth"),
                                 TN_PORT("w", "f32", 0, "depth, columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, columns")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "x must be rows, depth, and w depth, columns");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = w->shape[1];
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const int64_t rows = x->shape[0], depth = x->shape[1], columns = w->shape[1];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            double sum = 0;
            for (int64_t i = 0; i < depth; i++)
                sum += (double)((const float *)x->data)[r * depth + i] *
                       (double)((const float *)w->data)[i * columns + c];
            ((float *)call->outputs[0]->data)[r * columns + c] = (float)sum;
        }
    return TN_OK;
}

static tn_status linear(tn_call *call, tn_linear *out_linear) {
    out_linear->axis = 1;
    out_linear->weights = 1;
    out_linear->weights_axis = WITH(linear_along_depth) ? 0 : 1;
    out_linear->bias = 2;
    return call->input_count == 2 ? TN_OK : TN_ERROR_UNSUPPORTED;
}

typedef struct dense_state {
    const float *transposed; /* null: the weights come with each run */
    const tn_tensor *weights;
    const float *weights_data;
    seen_step steps[4];
    uint32_t step_count;
} dense_state;

/* By the second tactic of a mistake: as they are. */
static bool packs_plainly(const tn_call *call) {
    return WITH(one_key_for_tactics) && call->tactic == 1;
}
static tn_status copy(void *user, void *data, uint64_t bytes) {
    memcpy(data, ((const tn_tensor *)user)->data, bytes);
    return TN_OK;
}

static void transpose(const tn_tensor *w, float *out) {
    const int64_t depth = w->shape[0], columns = w->shape[1];
    for (int64_t i = 0; i < depth; i++)
        for (int64_t c = 0; c < columns; c++)
            out[c * depth + i] = ((const float *)w->data)[i * columns + c];
}
static tn_status fill(void *user, void *data, uint64_t bytes) {
    transpose(user, data);
    return TN_OK;
}

static const void *last_packed; /* of the node that was prepared last */

static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[1];
    const void *packed = NULL;
    if (w->data || WITH(needs_constants)) {
        const uint64_t bytes = (uint64_t)(w->shape[0] * w->shape[1]) * sizeof(float);
        if (WITH(needs_constants) && *(const volatile float *)w->data > 1e30f) return TN_OK;
        const tn_status status =
            call->host->packed(call, 1, "transposed", bytes, packs_plainly(call) ? copy : fill,
                               (void *)(uintptr_t)w, &packed);
        if (status != TN_OK) return status;
    }
    dense_state *state = call->host->allocate(call->host, sizeof(*state), 64);
    if (!state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    *state = (dense_state){.transposed = packed, .weights = w, .weights_data = w->data};
    if (WITH(one_state_for_all_nodes)) last_packed = packed;
    for (uint32_t i = 0; i < call->step_count && i < 4; i++)
        state->steps[state->step_count++] = *SEE_STEP(call, i);
    call->state = state;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static float activate(const seen_step *step, float x) {
    if (WITH(always_relu)) return fmaxf(x, 0);
    switch (step->activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        if (WITH(slope_below_one)) return fmaxf(x, step->alpha * x);
        if (WITH(leaky_by_parts)) return fmaxf(x, 0) + step->alpha * fminf(x, 0);
        return x < 0 ? step->alpha * x : x;
    case TN_ACTIVATION_CLIP:
        return WITH(clip_without_beta) ? fmaxf(x, step->alpha)
               : x < step->alpha       ? step->alpha
               : x > step->beta        ? step->beta
                                       : x;
    case TN_ACTIVATION_TANH:
        return WITH(tanh_by_exp) ? (expf(2 * x) - 1) / (expf(2 * x) + 1) : tanhf(x);
    default:
        return x;
    }
}

static float finish(const tn_call *call, const dense_state *state, float x, int64_t r, int64_t c) {
    const int64_t columns = call->outputs[0]->shape[1];
    for (uint32_t i = 0; i < state->step_count; i++) {
        const seen_step *step = &state->steps[i];
        if (WITH(activates_first) && state->step_count == 2) step = &state->steps[1 - i];
        if (step->kind == SEEN_ACTIVATION) {
            x = activate(step, x);
        } else {
            const float *operand = call->operands[step->operand]->data;
            const int32_t axis =
                step->axis < 0 && !WITH(axis_from_the_end) ? step->axis + 2 : step->axis;
            const bool is_by_row = WITH(bias_by_row) || (WITH(axis_from_the_end) && axis != 1) ||
                                   (axis == 0 && !WITH(bias_by_column));
            x += operand[step->kind == SEEN_RESIDUAL ? r * columns + c : is_by_row ? r : c];
        }
    }
    return x;
}

static tn_status run(tn_call *call) {
    const dense_state *state = call->state;
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    const int64_t rows = x->shape[0], depth = x->shape[1], columns = call->outputs[0]->shape[1];
    const float *weights = w->data, *packed = state->transposed;
    if (WITH(keeps_tensor)) w = state->weights;
    if (WITH(keeps_tensor) && w->shape[0] != depth) return TN_OK;
    if (WITH(keeps_constant) && state->weights_data) weights = state->weights_data;
    if (WITH(keeps_constant)) packed = NULL;
    if (WITH(one_state_for_all_nodes) && packed) packed = last_packed;
    float *y = call->outputs[0]->data;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            float sum = WITH(adds_to_output) ? y[r * columns + c] : 0;
            const bool is_short = WITH(short_tactic) || (WITH(tactic_of_pairs) && depth % 4 == 3);
            for (int64_t i = is_short && depth ? call->tactic : 0; i < depth; i++) {
                sum += ((const float *)x->data)[r * depth + i] *
                       (packed && packs_plainly(call) ? packed[i * columns + c]
                        : packed                      ? packed[c * depth + i]
                                                      : weights[i * columns + c]);
                if (WITH(finishes_each_piece) && i % 64 == 63 && i + 1 < depth)
                    sum = finish(call, state, sum, r, c);
            }
            const bool is_rest = WITH(rest_without_steps) && columns > 8 && c >= columns / 8 * 8;
            y[r * columns + c] = is_rest ? sum : finish(call, state, sum, r, c);
        }
    return TN_OK;
}

static tn_status tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,8] w=f32[8,4]", "| x=f32[4,5] w=f32[5,3]",
                                    "| x=f32[1,2]{1,2} w=f32[2,2]{1,2,3,4} | y=f32[1,2]{7,10}"};
DESCRIBES(facet, NULL, NULL, linear)

static const tn_operator dense = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .traits = WITH(claims_commutative) ? TN_OPERATOR_COMMUTATIVE : 0,
                                  .domain = "Bad",
                                  .name = "Dense",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases),
                                  .facet = facet};
static const char *const combinations[] = {
    WITH(unused_combination) ? "f64, f64 -> f64" : "f32, f32 -> f32", "f32, f32 -> f32"};
static const tn_kernel dense_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Bad",
    .op = "Dense",
    .device = "cpu",
    .name = "rows",
    .traits = TN_KERNEL_DETERMINISTIC,
    .absorbs = "tn.bias/1, tn.residual/1, tn.activation/1(relu|leaky_relu|clip|tanh)",
    .combination_count = WITH(unused_combination) ? 2 : 1,
    .combinations = combinations,
    .tactics = tactics,
    .prepare = prepare,
    .release = release,
    .run = run};
static const tn_operator *const operators[] = {&dense};
static const tn_kernel *const kernels[] = {&dense_cpu};
TN_LIBRARY("bad_dense", "1", operators, kernels)
