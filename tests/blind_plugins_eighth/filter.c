/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::PlaneFilter: each channel filtered by a window of its own, zeros around it; bias and
 * activation in the same pass, also where channels lie in blocks. */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W"),
                                 TN_PORT("weights", "f32", 0, "C, height, width: odd extents")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    const int64_t *x = call->inputs[0]->shape, *window = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1, -1) || !TN_LAYER_FITS(call, 1, x[1], -1, -1))
        return TN_ERROR_SHAPE;
    if (window[1] % 2 == 0 || window[2] % 2 == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "a window of %lld x %lld has no middle",
                                (long long)window[1], (long long)window[2]);
    return tn_layer_set_shape(call, 0, 4, x);
}

static tn_status reference(tn_call *call) {
    const int64_t *s = call->inputs[0]->shape, *window = call->inputs[1]->shape;
    for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++) {
        const int64_t w = i % s[3], h = i / s[3] % s[2], plane = i / s[3] / s[2];
        double sum = 0;
        for (int64_t k = 0; k < window[1] * window[2]; k++) {
            const int64_t r = h + k / window[2] - window[1] / 2;
            const int64_t c = w + k % window[2] - window[2] / 2;
            if (r < 0 || r >= s[2] || c < 0 || c >= s[3]) continue;
            sum += tn_layer_load(call->inputs[0], (plane * s[2] + r) * s[3] + c) *
                   tn_layer_load(call->inputs[1], plane % s[1] * window[1] * window[2] + k);
        }
        tn_layer_store(call->outputs[0], i, sum);
    }
    return TN_OK;
}

/* -- what is absorbed -- */

static bool is_bias(const tn_step *step) {
    return strcmp(step->facet, TN_FACET_BIAS) == 0;
}
static tn_status accepts(tn_call *call) {
    for (uint32_t i = 0; i < call->step_count; i++) {
        const tn_step *step = call->steps[i];
        if (step->port != 0 || step->inputs[0] != (i == 0 ? TN_STEP_VALUE : i - 1))
            return TN_ERROR_UNSUPPORTED;
        if (!is_bias(step)) continue;
        if (step->input_count != 2 || !(step->inputs[1] & TN_STEP_OPERAND) ||
            step->inputs[1] == TN_STEP_ABSENT)
            return TN_ERROR_UNSUPPORTED;
#if MISTAKE != 2
        const int32_t axis = ((const tn_facet_axis *)step->what)->axis;
        if (axis != 1 && axis != -3) return TN_ERROR_UNSUPPORTED;
#endif
    }
    return TN_OK;
}
static float activate(const tn_facet_activation *a, float x) {
    if (a->function == TN_ACTIVATION_CLIP) {
#if MISTAKE == 4
        return fminf(fmaxf(x, 0), 6);
#else
        x = x < a->alpha ? a->alpha : x; /* keeps NaN */
        return x > a->beta ? a->beta : x;
#endif
    }
#if MISTAKE != 7
    if (a->function == TN_ACTIVATION_LEAKY_RELU) return x < 0 ? a->alpha * x : x;
#endif
    return x < 0 ? 0 : x;
}
static float bias_of(const tn_call *call, const tn_step *step, int64_t channel) {
    const tn_tensor *bias = call->operands[step->inputs[1] & ~TN_STEP_OPERAND];
    return ((const float *)bias->data)[channel];
}
#if MISTAKE != 50
static float finish(const tn_call *call, float x, int64_t channel) {
#if MISTAKE == 1
    for (uint32_t i = 0; i < call->step_count; i++)
        if (is_bias(call->steps[i])) x += bias_of(call, call->steps[i], channel);
    for (uint32_t i = 0; i < call->step_count; i++)
        if (!is_bias(call->steps[i])) x = activate(call->steps[i]->what, x);
#elif MISTAKE == 8
    if (call->step_count > 0)
        x = is_bias(call->steps[0]) ? x + bias_of(call, call->steps[0], channel)
                                    : activate(call->steps[0]->what, x);
#else
    for (uint32_t i = 0; i < call->step_count; i++)
        x = is_bias(call->steps[i]) ? x + bias_of(call, call->steps[i], channel)
                                    : activate(call->steps[i]->what, x);
#endif
    return x;
}
#endif

#if MISTAKE == 50
/* The steps of a node, found out once: the facets' names are not compared for each element. */
typedef struct program {
    uint32_t count;
    bool is_bias[];
} program;
static tn_status prepare(tn_call *call) {
    program *made =
        call->host->allocate(call->host, sizeof(*made) + call->step_count * sizeof(bool), 64);
    if (!made) return TN_ERROR_MEMORY;
    made->count = call->step_count;
    for (uint32_t i = 0; i < call->step_count; i++)
        made->is_bias[i] = is_bias(call->steps[i]);
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
static float finish_prepared(const tn_call *call, float x, int64_t channel) {
    const program *made = call->state;
    for (uint32_t i = 0; i < made->count; i++)
        x = made->is_bias[i] ? x + bias_of(call, call->steps[i], channel)
                             : activate(call->steps[i]->what, x);
    return x;
}
#define finish finish_prepared
#endif

/* -- the kernel -- */

/* Lanes of channels that lie side by side: linear 1, blocked 8 or 16. Items are rows of y:
 * (n * blocks + block) * height + h. */
static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *tensor = call->inputs[0];
    const int64_t *s = tensor->shape, *window = call->inputs[1]->shape;
    const int64_t lanes = tensor->format == TN_C8 ? 8 : tensor->format == TN_C16 ? 16 : 1;
#if MISTAKE == 5
    const int64_t blocks = s[1] < lanes ? 1 : s[1] / lanes;
#else
    const int64_t blocks = (s[1] + lanes - 1) / lanes;
#endif
    const float *x = tensor->data, *weights = call->inputs[1]->data;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t h = item % s[2], plane = item / s[2], first = plane % blocks * lanes;
        for (int64_t w = 0; w < s[3]; w++) {
            float sums[16] = {0};
            for (int64_t k = 0; k < window[1] * window[2]; k++) {
                const int64_t r = h + k / window[2] - window[1] / 2;
                const int64_t c = w + k % window[2] - window[2] / 2;
#if MISTAKE == 6
                if (r * s[3] + c < 0 || r * s[3] + c >= s[2] * s[3]) continue;
#else
                if (r < 0 || r >= s[2] || c < 0 || c >= s[3]) continue;
#endif
                const float *from = x + ((plane * s[2] + r) * s[3] + c) * lanes;
                for (int64_t l = 0; l < lanes && first + l < s[1]; l++)
                    sums[l] += from[l] * weights[(first + l) * window[1] * window[2] + k];
            }
            float *to = y + (item * s[3] + w) * lanes;
            for (int64_t l = 0; l < lanes; l++)
#if MISTAKE == 3
                to[l] = finish(call, sums[l], first + l < s[1] ? first + l : s[1] - 1);
#else
                to[l] = first + l < s[1] ? finish(call, sums[l], first + l) : 0;
#endif
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t *s = call->inputs[0]->shape;
    const tn_format format = call->inputs[0]->format;
    const int64_t lanes = format == TN_C8 ? 8 : format == TN_C16 ? 16 : 1;
#if MISTAKE == 5
    const int64_t blocks = s[1] < lanes ? (s[1] > 0) : s[1] / lanes;
#else
    const int64_t blocks = (s[1] + lanes - 1) / lanes;
#endif
    return call->host->parallel_for(call, s[0] * blocks * s[2], 4, rows, call);
}

static const char *const cases[] = {
    "| x=f32[2,3,5,6] weights=f32[3,3,3]",
    "| x=f32[1,8,4,4] weights=f32[8,1,3]",
    "| x=f32[1,1,2,3]{1,2,3,4,5,6} weights=f32[1,1,3]{1,0,2} | y=f32[1,1,2,3]{4,7,2,10,16,5}",
    "| x=f32[2,19,7,9] weights=f32[19,5,3]",
    "| x=f32[1,16,1,1] weights=f32[16,3,3]",
    "| x=f32[0,4,3,3] weights=f32[4,3,3]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "PlaneFilter",
                               .doc = "A window for each channel.",
                               TN_NO_FIELDS,
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32", "f32:c8, f32 -> f32:c8",
                                           "f32:c16, f32 -> f32:c16"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "PlaneFilter",
                                 .device = "cpu",
                                 .name = "rows",
                                 .absorbs = "tn.bias/1, tn.activation/1(relu|clip|leaky_relu)",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .accepts = accepts,
#if MISTAKE == 50
                                 .prepare = prepare,
                                 .release = release,
#endif
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_filter", "1.0", operators, kernels)
