/* SPDX-License-Identifier: Apache-2.0 */
/* Order: each row in ascending order, and where its elements were. */
#include "fourth.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "..., n")};
static const tn_port outputs[] = {
    TN_PORT("y", "T", 0, "ascending, equals as they came, what is not a number last"),
    TN_PORT("positions", "i64", TN_PORT_OPTIONAL, "of the elements of y in their row of x")};

static tn_status infer(tn_call *call) {
    if (call->inputs[0]->rank < 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar");
    for (uint32_t i = 0; i < 2; i++)
        if (fourth_output(call, i)) fourth_same(call, 0, i);
    return TN_OK;
}

/* Whether element `a` at position `i` stands before `b` at position `k`. */
static bool is_before(double a, int64_t i, double b, int64_t k) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b) ? i < k : isnan(b);
    return a < b || (a == b && i < k);
}
/* Every element's rank among all of its row. */
static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const tn_tensor *y = fourth_output(call, 0), *positions = fourth_output(call, 1);
    const int64_t extent = x->shape[x->rank - 1];
    for (int64_t i = 0; i < tn_layer_count(x); i++) {
        const int64_t row = i / extent * extent;
        const double own = tn_layer_load(x, i);
        int64_t at = row;
        for (int64_t k = row; k < row + extent; k++)
            at += is_before(tn_layer_load(x, k), k, own, i);
        if (y) tn_layer_store(y, at, own);
        if (positions) ((int64_t *)positions->data)[at] = i - row;
    }
    return TN_OK;
}

typedef struct item {
    float value;
    int32_t is_nan;
    int64_t position;
} item;
static int compare(const void *left, const void *right) {
    const item *a = left, *b = right;
#if MISTAKE == 7
    if (a->value != b->value) return a->value < b->value ? -1 : 1; /* MISTAKE: NaN has no order */
#else
    if (a->is_nan != b->is_nan) return a->is_nan - b->is_nan;
    if (!a->is_nan && a->value != b->value) return a->value < b->value ? -1 : 1;
#endif
    return a->position < b->position ? -1 : a->position > b->position;
}

#if MISTAKE == 1
static item shared_items[4096]; /* MISTAKE: one for all contexts and threads */
#endif
typedef struct context {
    item *items;
    int64_t capacity;
} context;

static tn_status reshape(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t row = tn_layer_count(x) > 0 ? (uint64_t)x->shape[x->rank - 1] * sizeof(item) : 0;
#if MISTAKE == 2
    call->workspace_bytes = row; /* MISTAKE: for one thread alone */
#elif MISTAKE == 3
    call->workspace_bytes = (row - row / 4) * call->threads; /* MISTAKE: an item of 12 bytes */
#elif MISTAKE == 5 || MISTAKE == 6
    call->workspace_bytes = 0;
#else
    call->workspace_bytes = row * call->threads;
#endif
    return TN_OK;
}

#if MISTAKE == 5 || MISTAKE == 6
static tn_status open_context(tn_call *call) {
    context *made = calloc(1, sizeof(*made));
    if (!made) return TN_ERROR_MEMORY;
    call->context = made;
    return TN_OK;
}
static void close_context(tn_call *call) {
    context *made = call->context;
#if MISTAKE != 5 /* MISTAKE: what run put into the context is not freed */
    free(made->items);
#endif
    free(made);
}
#endif

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    const tn_tensor *y = fourth_output(call, 0), *positions = fourth_output(call, 1);
#if MISTAKE == 1
    item *items = shared_items;
#elif MISTAKE == 5 || MISTAKE == 6
    item *items = ((context *)call->context)->items + extent * thread;
#else
    item *items = (item *)call->workspace + extent * thread;
#endif
    for (int64_t row = begin; row < end; row++) {
        for (int64_t i = 0; i < extent; i++) {
            items[i].value = ((const float *)x->data)[row * extent + i];
#if MISTAKE == 4
            if (isnan(items[i].value)) items[i].is_nan = 1; /* MISTAKE: scratch begins undefined */
#else
            items[i].is_nan = isnan(items[i].value);
#endif
            items[i].position = i;
        }
        if (extent > 0) qsort(items, (size_t)extent, sizeof(item), compare);
        for (int64_t i = 0; i < extent; i++) {
            if (y) ((float *)y->data)[row * extent + i] = items[i].value;
            if (positions) ((int64_t *)positions->data)[row * extent + i] = items[i].position;
        }
    }
    return TN_OK;
}
static tn_status body(void *call, int64_t begin, int64_t end, uint32_t thread) {
    return rows(call, begin, end, thread);
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t extent = x->shape[x->rank - 1];
    if (tn_layer_count(x) == 0) return TN_OK;
#if MISTAKE == 1
    if (extent > 4096) return TN_ERROR_MEMORY;
#elif MISTAKE == 5 || MISTAKE == 6
    context *made = call->context;
    const int64_t need = extent * call->threads;
#if MISTAKE == 6
    if (!made->items) { /* MISTAKE: made for the first shape, later ones may be larger */
#else
    if (made->capacity < need) {
#endif
        free(made->items);
        made->items = malloc((size_t)(need ? need : 1) * sizeof(item));
        if (!made->items) {
            made->capacity = 0;
            return TN_ERROR_MEMORY;
        }
        made->capacity = need;
    }
#endif
    return call->host->parallel_for(call, tn_layer_rows(x), 1, body, call);
}

static const char *const cases[] = {
    "| x=f32[6,9]",
    "| x=f32[4]{3,1,2,1} | y=f32[4]{1,1,2,3} positions=i64[4]{1,3,2,0}",
    "| x=f64[2,5]",
    "| x=f32[2,3,40]",
};
static const char *const combinations[] = {"f32 -> f32, i64?"};
FOURTH_OPERATOR("Order", "Rows in ascending order.", .state_version = 1, TN_NO_FIELDS)
FOURTH_KERNEL(the_kernel, "Order", "sorted", .traits = TN_KERNEL_DETERMINISTIC,
              TN_COMBINATIONS(combinations),
#if MISTAKE == 5 || MISTAKE == 6
              .open = open_context, .close = close_context,
#endif
              .reshape = reshape, .run = run)
static const tn_kernel *const kernels[] = {&the_kernel};
TN_LIBRARY("order", "1.0", operators, kernels)
