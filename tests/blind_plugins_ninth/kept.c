/* SPDX-License-Identifier: Apache-2.0 */
/* Bank: x times each of some filters, whose weights are packed in lanes of four or eight; the state
 * that a kernel keeps with a plan has their sums. */
#include "ninth.h"

TN_LAYER_PARAMS(bank, float offset;);
static const tn_field fields[] = {TN_LAYER_F32(bank, offset, "0", -100, 100, "added to x")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, depth"),
                                 TN_PORT("w", "f32", 0, "filters, depth")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, filters: (x + offset) w")};

static tn_status infer(tn_call *call) {
    const int64_t *x = call->inputs[0]->shape, *w = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1) || !TN_LAYER_FITS(call, 1, -1, x[1])) return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, x[0], w[0]);
}
static double element(const tn_call *call, int64_t i) {
    const int64_t depth = call->inputs[0]->shape[1], filters = call->inputs[1]->shape[0];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += (tn_layer_load(call->inputs[0], i / filters * depth + k) +
                (double)((const bank *)call->params)->offset) *
               tn_layer_load(call->inputs[1], i % filters * depth + k);
    return sum;
}
TN_LAYER_REFERENCE(element)

/* What prepare makes: packed weights, if they are constant, and what the offset adds to a filter.
 */
typedef struct state {
    const float *packed;
    int64_t lanes, filters;
    bool is_summed;
    double *sums;
} state;

static int64_t lanes_of(const tn_call *call) {
    return call->tactic == 0 ? 4 : 8;
}
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const int64_t lanes = lanes_of(call), filters = call->inputs[1]->shape[0];
    const int64_t depth = call->inputs[1]->shape[1];
    float *to = data;
    memset(data, 0, bytes);
    for (int64_t f = 0; f < filters; f++)
        for (int64_t k = 0; k < depth; k++)
            to[(f / lanes * depth + k) * lanes + f % lanes] =
                ((const float *)call->inputs[1]->data)[f * depth + k];
    return TN_OK;
}
static void sum_filters(const tn_call *call, state *s) {
    const int64_t depth = call->inputs[1]->shape[1];
    for (int64_t f = 0; f < s->filters; f++) {
        s->sums[f] = 0;
        for (int64_t k = 0; k < depth; k++)
            s->sums[f] += (double)((const float *)call->inputs[1]->data)[f * depth + k];
    }
}
static void free_state(tn_call *call, state *s) {
    if (s) call->host->deallocate(call->host, s->sums);
    call->host->deallocate(call->host, s);
}
static tn_status prepare(tn_call *call) {
    const tn_tensor *w = call->inputs[1];
    state *s = call->host->allocate(call->host, sizeof(state), 64);
    if (!s) return TN_ERROR_MEMORY;
    memset(s, 0, sizeof(*s));
    call->state = NULL;
    if (w->data) {
        const int64_t lanes = lanes_of(call), filters = w->shape[0], depth = w->shape[1];
        const uint64_t bytes = (uint64_t)((filters + 7) / 8 * 8 * depth) * sizeof(float);
        const char *key = WRONG(1) ? "lanes" : lanes == 4 ? "lanes of four" : "lanes of eight";
        s->lanes = lanes, s->filters = filters;
        s->sums = call->host->allocate(call->host, (uint64_t)(filters + 1) * sizeof(double), 64);
        if (!s->sums) {
            free_state(call, s);
            return TN_ERROR_MEMORY;
        }
        const void *packed = NULL;
        const tn_status status =
            bytes > 0 ? call->host->packed(call, 1, key, bytes, fill, call, &packed) : TN_OK;
        if (status != TN_OK) {
            if (WRONG(2))
                call->host->deallocate(call->host, s); /* the sums stay */
            else
                free_state(call, s);
            return status;
        }
        s->packed = packed;
        if (!WRONG(3)) sum_filters(call, s);
    }
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    free_state(call, call->state);
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const state *s = call->state;
    const int64_t depth = call->inputs[0]->shape[1], filters = call->inputs[1]->shape[0];
    const double offset = (double)((const bank *)call->params)->offset;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const float *x = (const float *)call->inputs[0]->data + row * depth;
        float *y = (float *)call->outputs[0]->data + row * filters;
        for (int64_t f = 0; f < filters; f++) {
            double sum = 0;
            for (int64_t k = 0; k < depth; k++) {
                const float w =
                    s->packed ? s->packed[(f / s->lanes * depth + k) * s->lanes + f % s->lanes]
                              : ((const float *)call->inputs[1]->data)[f * depth + k];
                sum += ((double)x[k] + (s->sums ? 0 : offset)) * (double)w;
            }
            y[f] = (float)(s->sums && offset != 0 ? sum + offset * s->sums[f] : sum);
        }
    }
    return TN_OK;
}
static tn_status rows_of_threads(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return rows(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    state *s = call->state;
    if (WRONG(3) && s->sums && !s->is_summed) { /* when they are needed first */
        s->is_summed = true;
        sum_filters(call, s);
    }
    return call->host->parallel_for(call, call->inputs[0]->shape[0], 1, rows_of_threads, call);
}
static tn_status tactics(tn_call *call) {
    call->tactic_count = MISTAKE == 50 ? 1 : 2;
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[3,5] w=f32[6,5]", "offset=2 | x=f32[1,4] w=f32[9,4]"};
static const tn_operator bank_operator = {
    OPERATOR,          .state_version = 1,  .name = "Bank", TN_FIELDS(bank, fields),
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference,
    TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel bank_cpu = {KERNEL,
                                   .op = "Bank",
                                   .name = "lanes",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .tactics = tactics,
                                   .prepare = prepare,
                                   .release = release,
                                   .run = run};
LIBRARY("ninth_kept", bank_operator, bank_cpu)
