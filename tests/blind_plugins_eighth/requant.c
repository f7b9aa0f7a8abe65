/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::Requantize: 32-bit sums to 8 bits, y = clamp(round((x + bias[c]) * scale[c]) + zero). */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>

enum { X, SCALE, BIAS };
TN_LAYER_PARAMS(requant, int64_t axis; int32_t zero_point; bool relu;);
static const tn_field fields[] = {
    TN_LAYER_I64(requant, axis, "1", -TN_MAX_RANK, TN_MAX_RANK - 1, "of the channels"),
    TN_FIELD_RANGE(requant, zero_point, TN_FIELD_I32, TN_OPTIONAL, "0", -128, 127,
                   "what stands for zero"),
    TN_LAYER_BOOL(requant, relu, "false", "nothing below the zero point")};
static const tn_port inputs[] = {
    TN_PORT("x", "i32", 0, "sums"), TN_PORT("scale", "f32", 0, "one for each channel"),
    TN_PORT("bias", "i32", TN_PORT_OPTIONAL, "one for each channel, added before")};
static const tn_port outputs[] = {TN_PORT("y", "i8", 0, "as x")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const requant *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[X]->rank : axis;
}
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[X];
    const int64_t axis = axis_of(call);
    if (axis < 0 || axis >= x->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "x has no axis %lld",
                                (long long)((const requant *)call->params)->axis);
    if (!TN_LAYER_FITS(call, SCALE, x->shape[axis]) || !TN_LAYER_FITS(call, BIAS, x->shape[axis]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, x->rank, x->shape);
}

static int8_t requantize(const requant *p, int32_t x, int32_t bias, float scale) {
    const double low = p->relu ? p->zero_point : -128;
    const double real = (double)((int64_t)x + bias) * (double)scale;
    return (int8_t)fmin(fmax(nearbyint(real) + p->zero_point, low), 127);
}

static tn_status reference(tn_call *call) {
    const int64_t axis = axis_of(call);
    const tn_tensor *x = call->inputs[X];
    const float *scale = call->inputs[SCALE]->data;
    const int32_t *bias = tn_layer_data(call, BIAS);
    int64_t inner = 1;
    for (uint32_t i = (uint32_t)axis + 1; i < x->rank; i++)
        inner *= x->shape[i];
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        const int64_t c = i / inner % x->shape[axis];
        ((int8_t *)call->outputs[0]->data)[i] =
            requantize(call->params, ((const int32_t *)x->data)[i], bias ? bias[c] : 0, scale[c]);
    }
    return TN_OK;
}

/* What is constant of the channels, read once. */
typedef struct packed {
    int64_t count;
    double *scales; /* null: not constant */
    int32_t *biases;
} packed;

static void free_packed(tn_call *call, packed *state) {
    if (!state) return;
    call->host->deallocate(call->host, state->scales);
#if MISTAKE != 5
    call->host->deallocate(call->host, state->biases);
#endif
    call->host->deallocate(call->host, state);
}
static packed *make_packed(tn_call *call, int64_t count) {
    const tn_host *host = call->host;
    packed *state = host->allocate(host, sizeof(*state), 64);
    if (!state) return NULL;
    *state = (packed){.count = count};
    if (count < 0) return state;
    state->scales = host->allocate(host, (uint64_t)count * sizeof(double) + 1, 64);
    state->biases = host->allocate(host, (uint64_t)count * sizeof(int32_t) + 1, 64);
#if MISTAKE != 7
    if (!state->scales || !state->biases) {
        free_packed(call, state);
        return NULL;
    }
#endif
    return state;
}
static tn_status prepare(tn_call *call) {
    const float *scale = tn_layer_data(call, SCALE);
    const tn_tensor *bias = tn_layer_input(call, BIAS);
#if MISTAKE == 6
    const bool is_known = true;
#else
    const bool is_known = scale && (!bias || bias->data);
#endif
    packed *state = make_packed(call, is_known ? call->inputs[SCALE]->shape[0] : -1);
    if (!state) return TN_ERROR_MEMORY;
    for (int64_t c = 0; c < state->count; c++) {
        state->scales[c] = (double)scale[c];
        state->biases[c] = bias ? ((const int32_t *)bias->data)[c] : 0;
    }
    call->state = state;
    return TN_OK;
}
static void release(tn_call *call) {
    free_packed(call, call->state);
}
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const packed *state = call->state;
    const uint64_t count = state->count > 0 ? (uint64_t)state->count : 0;
    *inout_bytes = sizeof(int64_t) + count * 12;
    if (!data) return TN_OK;
    memcpy(data, &state->count, sizeof(int64_t));
    memset((char *)data + sizeof(int64_t), 0, count * 12);
    if (count == 0) return TN_OK;
    memcpy((char *)data + sizeof(int64_t), state->scales, count * 8);
#if MISTAKE != 4
    memcpy((char *)data + sizeof(int64_t) + count * 8, state->biases, count * 4);
#endif
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    int64_t count;
    if (bytes < sizeof(count)) return call->host->fail(call, TN_ERROR_FORMAT, "too short");
    memcpy(&count, data, sizeof(count));
    if (count < -1 || (count >= 0 && count != call->inputs[SCALE]->shape[0]) ||
        bytes != sizeof(count) + (count > 0 ? (uint64_t)count * 12 : 0))
        return call->host->fail(call, TN_ERROR_FORMAT, "of another length");
    packed *state = make_packed(call, count);
    if (!state) return TN_ERROR_MEMORY;
    if (count > 0) {
        memcpy(state->scales, (const char *)data + sizeof(count), (size_t)count * 8);
        memcpy(state->biases, (const char *)data + sizeof(count) + count * 8, (size_t)count * 4);
    }
    call->state = state;
    return TN_OK;
}

static int8_t store(const requant *p, int32_t x, int32_t bias, double scale) {
#if MISTAKE == 8 || MISTAKE == 9
    const double low = p->relu ? 0 : -128;
#else
    const double low = p->relu ? p->zero_point : -128;
#endif
#if MISTAKE == 1
    return (int8_t)fmin(fmax(floor((double)((int64_t)x + bias) * scale + 0.5) + p->zero_point, low),
                        127);
#elif MISTAKE == 2
    const int32_t y = (int32_t)nearbyint((double)((int64_t)x + bias) * scale) + p->zero_point;
    return (int8_t)(y < low ? low : y > 127 ? 127 : y);
#elif MISTAKE == 8
    const double y = fmin(fmax(nearbyint((double)((int64_t)x + bias) * scale), low), 127);
    return (int8_t)((int)y + p->zero_point);
#elif MISTAKE == 10
    const double real = (double)(int32_t)((uint32_t)x + (uint32_t)bias) * scale;
    return (int8_t)fmin(fmax(nearbyint(real) + p->zero_point, low), 127);
#elif MISTAKE == 50
    /* Clamped first, then rounded by adding 1.5 * 2^52, whose last bit is worth one. */
    const double magic = 6755399441055744.0;
    const double real =
        fmin(fmax((double)((int64_t)x + bias) * scale, low - p->zero_point), 127 - p->zero_point);
    volatile double sum = real + magic;
    return (int8_t)((int)(sum - magic) + p->zero_point);
#else
    const double real = (double)((int64_t)x + bias) * scale;
    return (int8_t)fmin(fmax(nearbyint(real) + p->zero_point, low), 127);
#endif
}

/* Items are elements. */
static tn_status elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *tensor = call->inputs[X];
    const packed *state = call->state;
#if MISTAKE == 3
    const int64_t axis = ((const requant *)call->params)->axis < 0
                             ? (int64_t)tensor->rank - 1
                             : ((const requant *)call->params)->axis;
#else
    const int64_t axis = axis_of(call);
#endif
    const float *scale = call->inputs[SCALE]->data;
    const int32_t *x = tensor->data, *bias = tn_layer_data(call, BIAS);
    int8_t *y = call->outputs[0]->data;
    const bool is_packed = state->count >= 0;
    int64_t inner = 1;
    (void)thread;
    for (uint32_t i = (uint32_t)axis + 1; i < tensor->rank; i++)
        inner *= tensor->shape[i];
    for (int64_t i = begin; i < end; i++) {
        const int64_t c = i / inner % tensor->shape[axis];
        y[i] = is_packed ? store(call->params, x[i], state->biases[c], state->scales[c])
                         : store(call->params, x[i], bias ? bias[c] : 0, (double)scale[c]);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[X]), 2048, elements, call);
}

static const char *const cases[] = {
    "| x=i32[1,2,6]{-3,-1,1,3,5,1000000,-2147483648,2147483647,7,-7,-2000000000,16777217} "
    "scale=f32[2]{0.5,0.25} | y=i8[1,2,6]{-2,0,0,2,2,127,-128,127,2,-2,-128,127}",
    "zero_point=-5 relu=true axis=-2 | "
    "x=i32[3,4,5]{0,9,-9,20,30,40,50,60,70,80,90,-90,99,1,2,3,4,5,"
    "6,7,0,9,-9,20,30,40,50,60,70,80,90,-90,99,1,2,3,4,5,6,7,0,9,-9,20,30,40,50,60,70,80,90,-90,99,"
    "1,2,3,4,5,6,7} scale=f32[4]{0.5,0.1,1,2.5} bias=i32[4]{1,-2,300,0}",
    "axis=0 zero_point=100 | x=i32[3]{16777217,33554433,2147483647} "
    "scale=f32[3]{0.0000025,0.000001,0.00000001} bias=i32[3]{0,2,7}",
    "axis=-1 | x=i32[0,3] scale=f32[3]{1,2,3}", "zero_point=3 | x=i32[2,5,33,31] scale=f32[5]"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "Requantize",
                               .doc = "Sums to 8 bits by channel.",
                               TN_FIELDS(requant, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"i32, f32, i32? -> i8"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "Requantize",
                                 .device = "cpu",
                                 .name = "elements",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run,
                                 .save = save,
                                 .load = load};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_requant", "1.0", operators, kernels)
