/* SPDX-License-Identifier: Apache-2.0 */
/* Points through a lens: p = c + (q - c) * (1 + k1 r^2 + k2 r^4). State version 1 had one
 * coefficient as a percentage, `k`, 10 unless given; version 2 had the center as a list. Plans keep
 * the kernel's coefficients. */
#include "sixteenth.h"

TN_LAYER_PARAMS(params, double k1, k2, cx, cy;);
#define NUMBER(name, fallback, text)                                                               \
    TN_FIELD_RANGE(params, name, TN_FIELD_F64, TN_OPTIONAL, fallback, -4, 4, text)
static const tn_field fields[] = {
    NUMBER(k1, "0", "of the square"),
    NUMBER(k2, "0", "of the fourth power"),
    NUMBER(cx, "0", "the center"),
    NUMBER(cy, "0", "the center"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "points, 2")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "points, 2")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, 2)) return TN_ERROR_SHAPE;
    return infer_same(call);
}

static tn_status upgrade(tn_call *call, uint32_t from) {
    params *p = call->new_params;
    double k = WRONG(1) ? 0 : 10;
    for (uint64_t i = 0; i < call->saved_count; i++) {
        const tn_attribute *a = call->saved[i];
        if (strcmp(a->name, "k") == 0 && from == 1)
            k = a->type == TN_FIELD_I64 ? (double)a->i : a->f;
        if (strcmp(a->name, "center") == 0 && from == 2 && a->type == TN_FIELD_F64S &&
            a->count == 2) {
            p->cx = ((const double *)a->items)[0];
            p->cy = ((const double *)a->items)[1];
        }
    }
    if (from == 1 || WRONG(2)) p->k1 = k / 100;
    return TN_OK;
}

static void bend(const double *k, const float *from, float *to) {
    const double x = (double)from[0] - k[2], y = (double)from[1] - k[3], square = x * x + y * y;
    const double factor = 1 + (k[0] + k[1] * square) * square;
    to[0] = (float)(k[2] + x * factor);
    to[1] = (float)(k[3] + y * factor);
}

static tn_status reference(tn_call *call) {
    const params *p = call->params;
    const double k[4] = {p->k1, p->k2, p->cx, p->cy};
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++)
        bend(k, (const float *)call->inputs[0]->data + 2 * i,
             (float *)call->outputs[0]->data + 2 * i);
    return TN_OK;
}

/* The coefficients and a check of their bytes. */
typedef struct state {
    double k[4];
    uint64_t check;
} state;

static uint64_t check_of(const state *s) {
    uint64_t check = 14695981039346656037u;
    const unsigned char *bytes = (const unsigned char *)s->k;
    for (size_t i = 0; i < sizeof(s->k); i++)
        check = (check ^ bytes[i]) * 1099511628211u;
    return check;
}

static tn_status prepare(tn_call *call) {
    const params *p = call->params;
    state *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
    *made = (state){{p->k1, p->k2, p->cx, p->cy}, 0};
    made->check = check_of(made);
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    if (data) {
        state saved = *(const state *)call->state;
        for (int i = 0; i < 4 && WRONG(4); i++)
            saved.k[i] = (double)(float)saved.k[i];
        saved.check = check_of(&saved);
        if (*inout_bytes < sizeof(saved))
            return call->host->fail(call, TN_ERROR_ARGUMENT, "no room");
        memcpy(data, &saved, sizeof(saved));
    }
    *inout_bytes = sizeof(state);
    return TN_OK;
}

static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    state found;
    if (bytes != sizeof(found) && !WRONG(3))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes, expected %zu",
                                (unsigned long long)bytes, sizeof(found));
    memcpy(&found, data, sizeof(found));
    if (found.check != check_of(&found))
        return call->host->fail(call, TN_ERROR_FORMAT, "the coefficients are damaged");
    state *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
    *made = found;
    call->state = made;
    return TN_OK;
}

static tn_status timing_key(tn_call *call, char *text, uint32_t bytes) {
    (void)call;
    snprintf(text, bytes, "any");
    return TN_OK;
}

static tn_status points(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        bend(((const state *)call->state)->k, (const float *)call->inputs[0]->data + 2 * i,
             (float *)call->outputs[0]->data + 2 * i);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, call->inputs[0]->shape[0], 256, points, call);
}

static const char *const cases[] = {"k1=0.1 k2=-0.02 | x=f32[7,2]",
                                    "k1=-0.3 cx=0.5 cy=-0.25 | x=f32[300,2]", "| x=f32[1,2]"};
static const tn_operator lens = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 3,
                                 .domain = "Sixteenth",
                                 .name = "Lens",
                                 TN_FIELDS(params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 .upgrade = upgrade,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Lens",
                                 .name = "points",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .prepare = prepare,
                                 .release = release,
                                 .run = run,
                                 .save = save,
                                 .load = load,
                                 .timing_key = timing_key};
LIBRARY("lens", lens, kernel)
