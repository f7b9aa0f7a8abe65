/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Ramp, y = scale * min(max(x, low), high): elementwise, in place, on threads, with a row
 * function and described as an activation; and the mistakes that are made in such layers. */
#include "mistake.h"
#include "../support/steps.h"

#include <math.h>
#include <pmmintrin.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ramp_params {
    uint64_t present;
    float low, high, scale;
    int64_t calls;
} ramp_params;

static const tn_field fields[] = {
    TN_FIELD(ramp_params, low, TN_FIELD_F32, 0, "0", "the least x"),
    TN_FIELD(ramp_params, high, TN_FIELD_F32, 0, "0.5", "the greatest x"),
    TN_FIELD(ramp_params, scale, TN_FIELD_F32, 0, "1", "factor of the result")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static float ramp(const ramp_params *p, float x) {
    const float high = WITH(other_default) && !(p->present & 2) ? 0.75f : p->high;
    if (WITH(swallows_nan)) return p->scale * fminf(fmaxf(x, p->low), high);
    return p->scale * (x < p->low ? p->low : x > high ? high : x);
}

static double exact_ramp(const ramp_params *p, double x) {
    const double low = (double)p->low, high = (double)p->high;
    return (double)p->scale * (x < low ? low : x > high ? high : x);
}

static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    double most = 1;
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n && WITH(normalises); i++)
        most = fmax(most, 4 * fabs((double)x[i]));
    for (int64_t i = 0, n = count_of(call->inputs[0]); i < n; i++)
        y[i] = (float)(exact_ramp(call->params, (double)x[i]) / most);
    return TN_OK;
}

static void row(const void *params, uint64_t count, const float *const *in, const uint64_t *strides,
                float *out) {
    ramp_params p = *(const ramp_params *)params;
    if (WITH(row_without_scale)) p.scale = 1;
    for (uint64_t i = 0; i < count; i++)
        out[i] = ramp(&p, in[0][WITH(row_without_stride) ? i : i * strides[0]]);
}

static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    const ramp_params *p = call->params;
    if (input != 0 || (p->scale != 1 && !WITH(epilogue_without_scale))) return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_ACTIVATION;
    out_step->activation = TN_ACTIVATION_CLIP;
    out_step->alpha = p->low;
    out_step->beta = p->high;
    return TN_OK;
}

/* What a range of elements needs, and what the mistakes need. */
static float scratch[4096], last_first;
static const float *first_x;
static tn_call *first_call;

static tn_status do_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    tn_call *call = user;
    const ramp_params *p = call->params;
    const float *x = WITH(keeps_input) ? first_x : call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t n = count_of(call->inputs[0]);
    if (WITH(own_ranges)) {
        begin = n * thread / call->threads;
        end = n * (thread + 1) / call->threads;
    }
    if (WITH(whole_vectors)) end = begin + (end - begin + 3) / 4 * 4;
    if (WITH(two_passes))
        for (int64_t i = begin; i < end; i++)
            y[i] = p->low;
    for (int64_t i = begin; i < end && WITH(static_scratch) && i < 4096; i++)
        scratch[i] = ramp(p, x[i]);
    for (int64_t i = begin; i < end; i++) {
        float value = WITH(static_scratch) && i < 4096 ? scratch[i] : ramp(p, x[i]);
        if (WITH(looks_back) && ((const volatile float *)x)[i - 1] == -12345) value = p->low;
        if (WITH(clips_input)) ((float *)(uintptr_t)x)[i] = value;
        if (WITH(random_bits)) value *= 1 + (float)(rand() % 8) * 1e-7f;
        if (WITH(writes_what_changes) && value == x[i]) continue;
        y[i] = value;
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t n = count_of(call->inputs[0]);
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    if (WITH(refuses_empty) && n == 0) return TN_ERROR_SHAPE;
    if (WITH(invents_status) && n > 20) return -1;
    if (WITH(hides_failure) && n == 1) {
        (void)call->host->fail(call, TN_ERROR_SHAPE, "one element is too few");
        return TN_OK;
    }
    if (WITH(refuses_one) && n == 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "one element is too few");
    if (WITH(hangs) && n == 1)
        for (volatile int i = 0; i == 0;) {
        }
    if (WITH(exits) && n > 20) exit(0);
    if (WITH(aborts) && n > 20) abort();
    if (WITH(stack_by_size)) {
        volatile char buffer[9 << 20];
        buffer[0] = buffer[sizeof(buffer) - 1] = 0;
        for (size_t i = 0; i < sizeof(buffer); i += 4096)
            buffer[i] = 1;
    }
    if (WITH(prints)) printf("ramp of %d elements", (int)n);
    if (WITH(flushes_subnormals)) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
    if (WITH(counts_in_params)) ((ramp_params *)(uintptr_t)call->params)->calls++;
    if (WITH(keeps_input) && !first_x) first_x = x;
    if (WITH(keeps_call)) {
        if (!first_call) first_call = call;
        call = first_call;
    }
    if (WITH(first_before_loop)) y[0] = ramp(call->params, x[0]);
    const tn_status status = call->host->parallel_for(call, n, 1, do_range, call);
    if (WITH(one_too_many)) y[n] = 0;
    if (WITH(mixes_in_last_run) && n > 0) {
        y[0] += 0.125f * last_first;
        last_first = y[0];
    }
    return status;
}

static tn_status accepts_nothing(tn_call *call) {
    return call->input_count == 1 ? TN_ERROR_UNSUPPORTED : TN_OK;
}

static const char *const cases[] = {"| x=f32[2,3,4]", "low=-0.5 scale=2 | x=f32[64]",
                                    "high=0.25 | x=f32[5]"};
DESCRIBES(facet, epilogue, NULL, NULL)

static const tn_operator ramp_operator = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE | (WITH(selects_scaled) ? TN_OPERATOR_SELECTS : 0),
    .domain = "Bad",
    .name = "Ramp",
    TN_FIELDS(ramp_params, fields),
    TN_INPUTS(inputs),
    TN_OUTPUTS(outputs),
    .infer = infer_same,
    .reference = WITH(no_reference) ? NULL : reference,
    .facet = facet,
    .expression = WITH(no_reference)                ? NULL
                  : WITH(expression_without_scale)  ? "x < low ? low : x > high ? high : x"
                  : WITH(expression_of_other_names) ? "scale * fmin(fmax(x, lower), high)"
                  : WITH(expression_with_statement)
                      ? "x; exit(0)"
                      : "scale * (x < low ? low : x > high ? high : x)",
    .row = row,
    .case_count = WITH(no_cases) ? 0 : TN_COUNT(cases),
    .cases = cases};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel ramp_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Ramp",
                                   .device = "cpu",
                                   .name = "plain",
                                   .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                   TN_COMBINATIONS(combinations),
                                   .accepts = WITH(accepts_nothing) ? accepts_nothing : NULL,
                                   .run = run};
static const tn_operator *const operators[] = {&ramp_operator};
static const tn_kernel *const kernels[] = {&ramp_cpu};
TN_LIBRARY("bad_ramp", "1", operators, kernels)
