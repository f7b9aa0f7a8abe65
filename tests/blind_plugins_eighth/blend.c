/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::Blend: any number of layers on a base, y = base + sum of weight[i] * mask * layer[i]. */
#include <string.h>
#include <tenon/layer.h>

enum { BASE, MASK, LAYERS };
TN_LAYER_PARAMS(blend, tn_f32s weights;);
static const tn_field fields[] = {TN_FIELD(blend, weights, TN_FIELD_F32S, TN_OPTIONAL, NULL,
                                           "one for each layer; none: all are 1")};
static const tn_port inputs[] = {
    TN_PORT("base", "T:f32|f64", 0, "any shape"),
    TN_PORT("mask", "T", TN_PORT_OPTIONAL, "one for each element of the last axis"),
    {"layers", "T", "as base", TN_PORT_VARIADIC, 0, 1, 0}};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as base")};

static int64_t layer_count(const tn_call *call) {
    return (int64_t)call->input_count - LAYERS;
}
static double weight_of(const tn_call *call, int64_t layer) {
    const blend *p = call->params;
    return p->weights.count ? (double)p->weights.items[layer] : 1;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *base = call->inputs[BASE];
    if (base->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "base has no axis");
    if (!TN_LAYER_FITS(call, MASK, base->shape[base->rank - 1])) return TN_ERROR_SHAPE;
#if MISTAKE == 4
    for (int64_t i = 0; i < 1; i++)
#else
    for (int64_t i = 0; i < layer_count(call); i++)
#endif
    {
        const tn_tensor *layer = call->inputs[LAYERS + i];
        if (layer->rank != base->rank ||
            memcmp(layer->shape, base->shape, base->rank * sizeof(int64_t)) != 0)
            return call->host->fail(call, TN_ERROR_SHAPE, "layer %lld is not shaped as the base",
                                    (long long)i);
    }
#if MISTAKE != 5
    const blend *p = call->params;
    if (p->weights.count && p->weights.count != (uint64_t)layer_count(call))
        return call->host->fail(call, TN_ERROR_SHAPE, "%llu weights for %lld layers",
                                (unsigned long long)p->weights.count, (long long)layer_count(call));
#endif
    return tn_layer_set_shape(call, 0, base->rank, base->shape);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *base = call->inputs[BASE], *mask = call->inputs[MASK];
    const int64_t last = base->shape[base->rank - 1];
    for (int64_t i = 0; i < tn_layer_count(base); i++) {
        const double part = mask ? tn_layer_load(mask, i % last) : 1;
        double sum = tn_layer_load(base, i);
        for (int64_t k = 0; k < layer_count(call); k++)
            sum += weight_of(call, k) * part * tn_layer_load(call->inputs[LAYERS + k], i);
        tn_layer_store(call->outputs[0], i, sum);
    }
    return TN_OK;
}

#if MISTAKE == 7
/* Without weight the layers change nothing. */
static tn_status is_identity(tn_call *call) {
    const blend *p = call->params;
    for (uint64_t i = 0; i < p->weights.count; i++)
        if (p->weights.items[i] != 0) return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}
#endif

/* Tactic 0: element by element. Items are elements. */
static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *mask_tensor = call->inputs[MASK];
    const int64_t last = call->inputs[BASE]->shape[call->inputs[BASE]->rank - 1];
    const int64_t count = layer_count(call);
    const float *base = call->inputs[BASE]->data;
    float *y = call->outputs[0]->data;
#if MISTAKE == 1
    const float *mask = mask_tensor->data;
#else
    const float *mask = mask_tensor ? mask_tensor->data : NULL;
#endif
    (void)thread;
#if MISTAKE == 3
    const float *layers[8];
    for (int64_t k = 0; k < count; k++)
        layers[k] = call->inputs[LAYERS + k]->data;
    for (int64_t i = begin; i < end; i++) {
        float sum = 0;
        for (int64_t k = 0; k < count; k++)
            sum += (float)weight_of(call, k) * layers[k][i];
        y[i] = base[i] + (mask ? mask[i % last] : 1) * sum;
    }
#else
    for (int64_t i = begin; i < end; i++) {
        float sum = base[i];
        const float part = mask ? mask[i % last] : 1;
        for (int64_t k = 0; k < count; k++)
            sum += (float)weight_of(call, k) * part *
                   ((const float *)call->inputs[LAYERS + k]->data)[i];
        y[i] = sum;
    }
#endif
    return TN_OK;
}
/* Tactic 1: layer by layer, in pieces that stay in the cache. */
static tn_status pieces(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t last = call->inputs[BASE]->shape[call->inputs[BASE]->rank - 1];
    const float *base = call->inputs[BASE]->data;
    float *y = call->outputs[0]->data;
#if MISTAKE != 2
    const float *mask = call->inputs[MASK] ? call->inputs[MASK]->data : NULL;
#endif
#if MISTAKE == 8
    float *sums = (float *)call->state + begin;
    (void)thread;
#else
    float sums[512];
    (void)thread;
#endif
    while (begin < end) {
        const int64_t count = end - begin < 512 ? end - begin : 512;
#if MISTAKE == 6
        memset(y + begin, 0, (size_t)count * sizeof(float));
#endif
        for (int64_t i = 0; i < count; i++)
            sums[i] = 0;
        for (int64_t k = 0; k < layer_count(call); k++) {
            const float *layer = (const float *)call->inputs[LAYERS + k]->data + begin;
            const float weight = (float)weight_of(call, k);
            for (int64_t i = 0; i < count; i++)
                sums[i] += weight * layer[i];
        }
        for (int64_t i = 0; i < count; i++) {
#if MISTAKE == 2
            (void)last;
            y[begin + i] = base[begin + i] + sums[i];
#else
            y[begin + i] = base[begin + i] + (mask ? mask[(begin + i) % last] : 1) * sums[i];
#endif
        }
        begin += count;
#if MISTAKE == 8
        sums += count;
#endif
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[BASE]);
    return call->host->parallel_for(call, count, 1024, call->tactic == 0 ? elements : pieces, call);
}
static tn_status tactics(tn_call *call) {
#if MISTAKE == 50
    call->tactic_count = call->input_count > LAYERS + 1 ? 2 : 1; /* one layer: nothing to gain */
#else
    call->tactic_count = 2;
#endif
    return TN_OK;
}
#if MISTAKE == 8
static tn_status prepare(tn_call *call) {
    const uint64_t bytes = (uint64_t)tn_layer_count(call->inputs[BASE]) * sizeof(float);
    call->state = call->host->allocate(call->host, bytes + 64, 64);
    return call->state ? TN_OK : TN_ERROR_MEMORY;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}
#endif

static const char *const cases[] = {
    "| base=f32[2,3,4] mask=f32[4] layers=f32[2,3,4] layers=f32[2,3,4]",
    "weights=[0.5,-2,3] | base=f32[5,7] layers=f32[5,7] layers=f32[5,7] layers=f32[5,7]",
    "weights=[0.5] | base=f64[3] mask=f64[3] layers=f64[3]",
    "weights=[2] | base=f32[2]{1,2} mask=f32[2]{0,1} layers=f32[2]{10,20} | y=f32[2]{1,42}",
    "| base=f32[33,129] mask=f32[129] layers=f32[33,129]",
    "| base=f32[0,3] layers=f32[0,3]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
#if MISTAKE == 7
                               .traits = TN_OPERATOR_IDENTITY,
#endif
                               .domain = "Blind8",
                               .name = "Blend",
                               .doc = "Weighted layers on a base.",
                               TN_FIELDS(blend, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
#if MISTAKE == 7
                               .is_identity = is_identity,
#endif
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32?, f32... -> f32"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "Blend",
                                 .device = "cpu",
                                 .name = "layers",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .tactics = tactics,
#if MISTAKE == 8
                                 .prepare = prepare,
                                 .release = release,
#endif
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_blend", "1.0", operators, kernels)
