/* SPDX-License-Identifier: Apache-2.0 */
/* Blind::Stage: y = x * gain, by way of a row in a workspace; with all callbacks, in which the
 * mistakes are. */
#include "blind.h"
#include <xmmintrin.h>

TN_LAYER_PARAMS(stage, float gain;);
static const tn_field fields[] = {TN_LAYER_F32(stage, gain, "2", -100, 100, "a factor")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    return same_shape(call, 0, 0);
}
static tn_status reference(tn_call *call) {
    const double gain = (double)((const stage *)call->params)->gain;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, get(call->inputs[0], i) * gain);
    return TN_OK;
}
static int64_t width(const tn_tensor *x) {
    return x->shape[x->rank - 1];
}
static tn_status accepts(tn_call *call) {
    if (IS(1) && count_of(call->inputs[0]) > 0 &&
        isnan(*(const volatile float *)call->inputs[0]->data)) /* not known yet */
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}
typedef struct state {
    float *gain, *spare;
} state;
static tn_status prepare(tn_call *call) {
    const tn_host *host = call->host;
    state *s = host->allocate(host, sizeof(*s), 64);
    if (!s) return host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    *s = (state){0};
    s->gain = host->allocate(host, 64, 64);
    if (!s->gain) {
        if (!IS(2)) host->deallocate(host, s);
        return host->fail(call, TN_ERROR_MEMORY, "no memory for a gain");
    }
    *s->gain = ((const stage *)call->params)->gain;
    call->state = s;
    return TN_OK;
}
static void release(tn_call *call) {
    state *s = call->state;
    call->host->deallocate(call->host, s->gain);
    call->host->deallocate(call->host, s);
}
static tn_status open_context(tn_call *call) {
    int64_t *runs = call->host->allocate(call->host, 64, 64);
    call->context = runs;
    if (!runs && IS(3)) return TN_OK; /* nobody looks */
    if (!runs) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a context");
    *runs = 0;
    return TN_OK;
}
static void close_context(tn_call *call) {
    if (IS(4)) { /* the last one turns off the light, it is thought */
        state *s = call->state;
        call->host->deallocate(call->host, s->gain);
        s->gain = NULL;
    }
    call->host->deallocate(call->host, call->context);
}
static tn_status reshape(tn_call *call) {
    const tn_tensor *x = IS(6) ? call->minimum_inputs[0] : call->inputs[0];
    call->workspace_bytes = (uint64_t)width(x) * sizeof(float);
    if (IS(7) && width(call->inputs[0]) > 100) return TN_ERROR_RANGE; /* and no word of it */
    if (IS(8) && width(call->inputs[0]) > 100)
        call->host->fail(call, TN_ERROR_RANGE, "rows of %lld are slow",
                         (long long)width(call->inputs[0])); /* a hint, it is thought */
    return TN_OK;
}
static void multiply_four(const float *x, float gain, float *y) {
    _mm_storeu_ps(y, _mm_mul_ps(IS(5) ? _mm_load_ps(x) : _mm_loadu_ps(x), _mm_set1_ps(gain)));
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const float gain = IS(4) && !((state *)call->state)->gain ? 0 : *((state *)call->state)->gain;
    const int64_t n = width(x);
    float *row = call->workspace;
    ++*(volatile int64_t *)call->context;
    for (int64_t r = 0; r < tn_layer_rows(x); r++) {
        const float *from = (const float *)x->data + r * n;
        int64_t i = 0;
        if (IS(50)) /* up to an address that is one of a vector */
            for (; i < n && ((uintptr_t)(from + i) & 15); i++)
                row[i] = from[i] * gain;
        for (; i + 4 <= n; i += 4)
            multiply_four(from + i, gain, row + i);
        for (; i < n; i++)
            row[i] = from[i] * gain;
        memcpy((float *)call->outputs[0]->data + r * n, row, (size_t)n * sizeof(float));
        if (IS(9)) ((stage *)(uintptr_t)call->params)->gain = gain + 1;
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,16]", "gain=-1 | x=f32[2,4,8]", "| x=f64[2,4]"};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_OPERATOR("Stage", "A factor.", stage, .traits = TN_OPERATOR_ELEMENTWISE)
BLIND_KERNEL("Stage", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .accepts = accepts,
             .prepare = prepare, .release = release, .open = open_context, .close = close_context,
             .reshape = reshape)
BLIND_LIBRARY("blind_stage")
