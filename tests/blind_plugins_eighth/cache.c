/* SPDX-License-Identifier: Apache-2.0 */
/* Blind8::CacheUpdate: puts new rows into a ring of rows, each mixed with the one that it replaces;
 * and how far each row moved. */
#include <math.h>
#include <string.h>
#include <tenon/layer.h>
#include <tenon/plugin/view.h>

enum { PAST, FRESH, POSITION, PRESENT = 0, CHANGE };
TN_LAYER_PARAMS(update, float keep; bool wrap;);
static const tn_field fields[] = {
    TN_LAYER_F32(update, keep, "0", 0, 1, "the part of an old row that stays"),
    TN_LAYER_BOOL(update, wrap, "true", "rows beyond the end go to the beginning")};
static const tn_port inputs[] = {TN_PORT("past", "f32", 0, "batch, heads, slots, columns"),
                                 TN_PORT("fresh", "f32", 0, "batch, heads, rows, columns"),
                                 TN_PORT("position", "i64", 0, "1: the slot of the first row")};
static const tn_port outputs[] = {
#if MISTAKE == 5
    {"present", "f32", "past with the new rows", TN_PORT_ALIAS, 2, 0, 0},
#else
    {"present", "f32", "past with the new rows", TN_PORT_ALIAS, 1, 0, 0},
#endif
    TN_PORT("change", "f32", TN_PORT_OPTIONAL, "batch, heads, rows: the largest difference")};

static tn_status infer(tn_call *call) {
    const int64_t *past = call->inputs[PAST]->shape, *fresh = call->inputs[FRESH]->shape;
    if (!TN_LAYER_FITS(call, PAST, -1, -1, -1, -1) ||
        !TN_LAYER_FITS(call, FRESH, past[0], past[1], -1, past[3]) ||
        !TN_LAYER_FITS(call, POSITION, 1))
        return TN_ERROR_SHAPE;
    if (fresh[2] > past[2])
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld rows do not fit into %lld slots",
                                (long long)fresh[2], (long long)past[2]);
    if (call->output_count > CHANGE && call->outputs[CHANGE])
        TN_LAYER_SET_SHAPE(call, CHANGE, fresh[0], fresh[1], fresh[2]);
    return call->outputs[PRESENT] ? tn_layer_set_shape(call, PRESENT, 4, past) : TN_OK;
}

/* Whether the rows have a position. */
static tn_status check_position(tn_call *call) {
    const int64_t position = *(const int64_t *)call->inputs[POSITION]->data;
    const int64_t slots = call->inputs[PAST]->shape[2], count = call->inputs[FRESH]->shape[2];
    const bool wraps = ((const update *)call->params)->wrap;
    if (position < 0 || (!wraps && position > slots - count))
        return call->host->fail(call, TN_ERROR_RANGE, "position %lld is outside of the slots",
                                (long long)position);
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    const double keep = (double)((const update *)call->params)->keep;
    const int64_t *shape = call->inputs[PAST]->shape, count = call->inputs[FRESH]->shape[2];
    const int64_t columns = shape[3];
    tn_tensor *change = call->output_count > CHANGE ? call->outputs[CHANGE] : NULL;
    const tn_status status = check_position(call);
    if (status != TN_OK) return status;
    const int64_t position = *(const int64_t *)call->inputs[POSITION]->data;
    const float *past = call->inputs[PAST]->data, *fresh = call->inputs[FRESH]->data;
    float *present = call->outputs[PRESENT] ? call->outputs[PRESENT]->data : NULL;
    if (present && call->inputs[PAST]->bytes) memcpy(present, past, call->inputs[PAST]->bytes);
    for (int64_t item = 0; item < shape[0] * shape[1] * count; item++) {
        const int64_t slot =
            (int64_t)(((uint64_t)position + (uint64_t)(item % count)) % (uint64_t)shape[2]);
        const int64_t to = (item / count * shape[2] + slot) * columns;
        double most = 0;
        for (int64_t c = 0; c < columns; c++) {
            const double old = (double)past[to + c];
            const double mixed = keep * old + (1 - keep) * (double)fresh[item * columns + c];
            if (present) present[to + c] = (float)mixed;
            most = fmax(most, fabs((double)(float)mixed - old));
        }
        if (change) tn_layer_store(change, item, most);
    }
    return TN_OK;
}

#if MISTAKE == 7
typedef struct memory {
    int is_shared; /* -1: not known yet */
} memory;
static tn_status open_context(tn_call *call) {
    memory *m = call->host->allocate(call->host, sizeof(*m), 64);
    if (!m) return TN_ERROR_MEMORY;
    m->is_shared = -1;
    call->context = m;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
#endif

/* Items are new rows. */
static tn_status rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const double keep = (double)((const update *)call->params)->keep;
    const int64_t *shape = call->inputs[PAST]->shape, count = call->inputs[FRESH]->shape[2];
    const int64_t columns = shape[3];
    const uint64_t position = (uint64_t) * (const int64_t *)call->inputs[POSITION]->data;
    float *change =
        call->output_count > CHANGE && call->outputs[CHANGE] ? call->outputs[CHANGE]->data : NULL;
    const float *fresh = call->inputs[FRESH]->data;
#if MISTAKE == 6
    float *present = call->inputs[PAST]->data;
#else
    float *present = call->outputs[PRESENT] ? call->outputs[PRESENT]->data : NULL;
#endif
#if MISTAKE != 2
    const float *from = present ? present : call->inputs[PAST]->data;
#endif
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
#if MISTAKE == 4
        const int64_t slot = (int64_t)(position % (uint64_t)shape[2]) + item % count;
#else
        const int64_t slot = (int64_t)((position + (uint64_t)(item % count)) % (uint64_t)shape[2]);
#endif
        const int64_t to = (item / count * shape[2] + slot) * columns;
        float most = 0;
#if MISTAKE == 2
        const float *past = call->inputs[PAST]->data;
        for (int64_t c = 0; present && c < columns; c++)
            present[to + c] = (float)(keep * (double)past[to + c] +
                                      (1 - keep) * (double)fresh[item * columns + c]);
        for (int64_t c = 0; c < columns; c++)
            most = fmaxf(most,
                         fabsf((present ? present[to + c]
                                        : (float)(keep * (double)past[to + c] +
                                                  (1 - keep) * (double)fresh[item * columns + c])) -
                               past[to + c]));
#else
        for (int64_t c = 0; c < columns; c++) {
            const float old = from[to + c];
            const float mixed =
                (float)(keep * (double)old + (1 - keep) * (double)fresh[item * columns + c]);
            if (present) present[to + c] = mixed;
            most = fmaxf(most, fabsf(mixed - old));
        }
#endif
        if (change) change[item] = most;
    }
    return TN_OK;
}

#if MISTAKE == 50
/* Items are heads, whose slots are copied by the thread that writes their rows. */
static tn_status heads(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t *shape = call->inputs[PAST]->shape, count = call->inputs[FRESH]->shape[2];
    const int64_t head = shape[2] * shape[3];
    const float *past = call->inputs[PAST]->data;
    float *present = call->outputs[PRESENT] ? call->outputs[PRESENT]->data : NULL;
    for (int64_t i = begin; i < end; i++) {
        if (present && present != past && head > 0)
            memcpy(present + i * head, past + i * head, (size_t)head * sizeof(float));
        rows(user, i * count, (i + 1) * count, thread);
    }
    return TN_OK;
}
#endif

static tn_status run(tn_call *call) {
#if MISTAKE != 3
    const tn_status checked = check_position(call);
    if (checked != TN_OK) return checked;
#endif
#if MISTAKE == 50
    const int64_t *shape = call->inputs[PAST]->shape;
    return call->host->parallel_for(call, shape[0] * shape[1], 1, heads, call);
#else
    const int64_t items = tn_layer_rows(call->inputs[FRESH]);
#if MISTAKE == 8
    if (items == 0) return TN_OK;
#endif
#if MISTAKE == 1
    return call->host->parallel_for(call, items, 16, rows, call);
#else
    const tn_tensor *past = call->inputs[PAST], *present = call->outputs[PRESENT];
#if MISTAKE == 6
    const tn_status status = call->host->parallel_for(call, items, 16, rows, call);
    if (present && present->data != past->data && past->bytes)
        memcpy(present->data, past->data, past->bytes);
    return status;
#else
#if MISTAKE == 7
    memory *m = call->context;
    if (m->is_shared < 0) m->is_shared = present && present->data == past->data;
    const bool is_shared = m->is_shared;
#else
    const bool is_shared = present && present->data == past->data;
#endif
    if (present && !is_shared && past->bytes) memcpy(present->data, past->data, past->bytes);
    return call->host->parallel_for(call, items, 16, rows, call);
#endif
#endif
#endif
}

static const char *const cases[] = {
    "| past=f32[2,3,8,4] fresh=f32[2,3,2,4] position=i64[1]{3}",
    "keep=0.25 | past=f32[1,2,5,3] fresh=f32[1,2,2,3] position=i64[1]{4}",
    "wrap=false | past=f32[1,1,4,5] fresh=f32[1,1,4,5] position=i64[1]{0}",
    "keep=0.5 | past=f32[1,1,2,1]{1,2} fresh=f32[1,1,1,1]{5} position=i64[1]{3} | "
    "present=f32[1,1,2,1]{1,3.5} change=f32[1,1,1]{1.5}",
    "| past=f32[2,4,64,33] fresh=f32[2,4,17,33] position=i64[1]{1000}",
    "| past=f32[1,2,3,4] fresh=f32[1,2,0,4] position=i64[1]{0}"};
static const tn_operator op = {.size = sizeof(tn_operator),
                               .since_version = 1,
                               .state_version = 1,
                               .domain = "Blind8",
                               .name = "CacheUpdate",
                               .doc = "New rows in a ring.",
                               TN_FIELDS(update, fields),
                               TN_INPUTS(inputs),
                               TN_OUTPUTS(outputs),
                               .infer = infer,
                               .reference = reference,
                               TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32, i64 -> f32, f32?"};
static const tn_kernel kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Blind8",
                                 .op = "CacheUpdate",
                                 .device = "cpu",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
#if MISTAKE == 7
                                 .open = open_context,
                                 .close = close_context,
#endif
                                 .run = run};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {&kernel};
TN_LIBRARY("blind8_cache", "1.0", operators, kernels)
