/* SPDX-License-Identifier: Apache-2.0 */
/* Bicubic resizing to a size that the run gives. Pixels' centers are at halves; beyond the border
 * its pixels are repeated. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, float a;);
static const tn_field fields[] = {
    TN_LAYER_F32(params, a, "-0.75", -1, 0, "of the cubic"),
};
static const tn_port inputs[] = {
    TN_PORT("x", "f32", 0, "images, channels, height, width"),
    TN_PORT("size", "i64|i32", TN_PORT_VALUE_NEEDED, "height and width of the result")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "images, channels, size")};
enum { TAPS = 4, LARGEST = 1 << 14 };

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY, TN_LAYER_SOME, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, 2))
        return TN_ERROR_SHAPE;
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        const void *data = call->inputs[1]->data;
        size[i] = call->inputs[1]->type == TN_I64 || WRONG(3) ? ((const int64_t *)data)[i]
                                                              : ((const int32_t *)data)[i];
        if (size[i] < 0 || size[i] > LARGEST)
            return call->host->fail(call, TN_ERROR_RANGE, "size[%d] is %lld, expected 0..%d", i,
                                    (long long)size[i], LARGEST);
    }
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[0]->shape[1],
                              size[0], size[1]);
}

typedef struct taps {
    int64_t index[TAPS];
    double weight[TAPS];
} taps;

static double cubic(double a, double x) {
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static taps taps_of(const params *p, int64_t i, int64_t from, int64_t to, bool is_kernel) {
    const double center = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    const int64_t first = (int64_t)floor(center) - 1;
    const int64_t last = is_kernel && WRONG(4) ? from : from - 1;
    taps made;
    for (int64_t k = 0; k < TAPS; k++) {
        const int64_t at = first + k;
        made.weight[k] = cubic((double)p->a, center - (double)at);
        made.index[k] = at < 0 ? 0 : at > last ? last : at;
    }
    return made;
}

static double pixel(const float *plane, int64_t width, const taps *down, const taps *across) {
    double sum = 0;
    for (int i = 0; i < TAPS; i++)
        for (int k = 0; k < TAPS; k++)
            sum += down->weight[i] * across->weight[k] *
                   (double)plane[down->index[i] * width + across->index[k]];
    return sum;
}

static double element(const tn_call *call, int64_t i) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t area = extent(y, 2, 4);
    const taps down =
        taps_of(call->params, i % area / y->shape[3], x->shape[2], y->shape[2], false);
    const taps across = taps_of(call->params, i % y->shape[3], x->shape[3], y->shape[3], false);
    return pixel((const float *)x->data + i / area * extent(x, 2, 4), x->shape[3], &down, &across);
}
TN_LAYER_REFERENCE(element)

/* What prepare keeps: the input's height, and nothing of it in the sound kernel. */
static tn_status prepare(tn_call *call) {
    int64_t *height = call->host->allocate(call->host, sizeof(*height), 16);
    if (!height) return TN_ERROR_MEMORY;
    *height = call->inputs[0]->shape[2];
    call->state = height;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static uint64_t rows_and_columns(const tn_call *call) {
    const int64_t *shape = WRONG(1) ? call->inputs[0]->shape : call->outputs[0]->shape;
    return (uint64_t)(shape[2] + shape[3]);
}
TN_LAYER_WORKSPACE(rows_and_columns(call) * sizeof(taps))

static tn_status planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const taps *down = call->workspace, *across = down + y->shape[2];
    (void)thread;
    for (int64_t n = begin; n < end; n++)
        for (int64_t i = 0; i < extent(y, 2, 4); i++)
            tn_layer_store(y, n * extent(y, 2, 4) + i,
                           pixel((const float *)x->data + n * extent(x, 2, 4), x->shape[3],
                                 down + i / y->shape[3], across + i % y->shape[3]));
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t height = WRONG(2) ? *(const int64_t *)call->state : x->shape[2];
    taps *down = call->workspace, *across = down + y->shape[2];
    for (int64_t i = 0; i < y->shape[2]; i++)
        down[i] = taps_of(call->params, i, height, y->shape[2], true);
    for (int64_t i = 0; i < y->shape[3]; i++)
        across[i] = taps_of(call->params, i, x->shape[3], y->shape[3], true);
    return call->host->parallel_for(call, extent(y, 0, 2), 1, planes, call);
}

static const char *const cases[] = {
    "| x=f32[1,2,4,5] size=i64[2]{7,3}",
    "a=-0.5 | x=f32[2,1,3,3] size=i64[2]{6,6}",
    "| x=f32[1,1,8,6] size=i32[2]{4,9}",
};
static const tn_operator bicubic = {OPERATOR,
                                    .name = "Bicubic",
                                    TN_FIELDS(params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32, i64 -> f32", "f32, i32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Bicubic",
                                 .device = "cpu",
                                 .name = "taps",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("bicubic", bicubic, kernel)
