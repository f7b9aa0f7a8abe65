/* SPDX-License-Identifier: Apache-2.0 */
/* In each row the k first elements in order stay, all others become `fill`. Of equal elements the
 * first one comes first, -0 equals 0, and NaN comes before all. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, int64_t k; float fill; bool largest;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, k, "1", 0, 1 << 20, "how many stay"),
    TN_FIELD(params, fill, TN_FIELD_F32, TN_OPTIONAL, "0", "what the others become"),
    TN_LAYER_BOOL(params, largest, "true", "the largest ones, else the smallest ones"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    if (n > 16384)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'x' has rows of %lld, expected <= 16384", (long long)n);
    return infer_same(call);
}

static bool comes_before(float a, float b, bool largest) {
    if (isnan(a) || isnan(b)) return isnan(a) && !isnan(b);
    return largest ? a > b : a < b;
}

static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    const float *row = (const float *)x->data + i / n * n;
    int64_t before = 0;
    for (int64_t k = 0; k < n; k++)
        before += comes_before(row[k], row[i % n], p->largest) ||
                  (k < i % n && !comes_before(row[i % n], row[k], p->largest));
    return (double)(before < p->k ? row[i % n] : p->fill);
}
TN_LAYER_REFERENCE(element)

/* A number that is larger the earlier the element comes. */
static uint32_t key_of(float v, bool largest) {
    if (isnan(v)) return UINT32_MAX;
    if (v == 0 && !WRONG(3)) v = 0;
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    if (WRONG(2))
        bits ^= 0x80000000u;
    else
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
    return largest ? bits : ~bits;
}

static int compare(const void *left, const void *right) {
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a < b) - (a > b);
}

TN_LAYER_WORKSPACE((uint64_t)call->inputs[0]->shape[call->inputs[0]->rank - 1] * 4 * call->threads)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    uint32_t *keys = (uint32_t *)call->workspace + (int64_t)thread * n;
    for (int64_t r = begin; r < end && n > 0; r++) {
        const float *from = (const float *)x->data + r * n;
        float *to = (float *)call->outputs[0]->data + r * n;
        const int64_t k = p->k < n ? p->k : n;
        for (int64_t i = 0; i < n; i++)
            keys[i] = key_of(from[i], p->largest);
        qsort(keys, (size_t)n, sizeof(*keys), compare);
        const uint32_t least = k > 0 ? keys[k - 1] : UINT32_MAX;
        int64_t more = 0;
        while (more < k && keys[more] > least)
            more++;
        int64_t equal = k - more;
        for (int64_t i = 0; i < n; i++) {
            const uint32_t key = key_of(from[i], p->largest);
            const bool stays = k > 0 && (key > least || (key == least && (equal > 0 || WRONG(1))));
            equal -= key == least;
            to[i] = stays ? from[i] : p->fill;
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->inputs[0]), 1)

static const char *const cases[] = {
    "k=3 fill=-1 | x=f32[4,9]",
    "k=2 largest=false fill=5 | x=f32[6]{1,-0.0,0,2,1,-3}",
    "k=7 | x=f32[2,1,5]",
};
TN_LAYER_LIBRARY("keep_top", "Sixteenth", "KeepTop", "Keeps the k first ones.", params,
                 "f32 -> f32", .reshape = reshape, .run = run)
