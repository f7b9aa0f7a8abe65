/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Tally: for each number of a class the weight of the class if its label is `wanted`, else
 * 0; a number outside the labels gives 0. Labels are strings; without weights each is 1.
 */
#include "third.h"

TN_LAYER_PARAMS(tally, tn_strings labels; const char *wanted; tn_f32s weights;);
static const tn_field fields[] = {
    TN_FIELD_LIST(tally, labels, TN_FIELD_STRINGS, TN_REQUIRED, NULL, 1, 500, 0, 0, "of classes"),
    TN_FIELD(tally, wanted, TN_FIELD_STRING, TN_OPTIONAL, "person", "the label that counts"),
    TN_FIELD(tally, weights, TN_FIELD_F32S, TN_OPTIONAL, NULL, "one for each label, or none")};
static const tn_port inputs[] = {TN_PORT("classes", "i64|u8", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as the classes")};

static tn_status infer(tn_call *call) {
    const tally *p = call->params;
#if MISTAKE == 3
    if (p->weights.count > p->labels.count) /* fewer are let through, and read past their end */
#else
    if (p->weights.count != 0 && p->weights.count != p->labels.count)
#endif
        return call->host->fail(call, TN_ERROR_RANGE, "there are %llu weights for %llu labels",
                                (unsigned long long)p->weights.count,
                                (unsigned long long)p->labels.count);
    return same_as(call, 0, call->inputs[0]);
}
static float weight_of(const tally *p, int64_t class) {
    if (class < 0 || class >= (int64_t)p->labels.count) return 0;
    if (!p->wanted || strcmp(p->labels.items[class], p->wanted) != 0) return 0;
    return p->weights.count ? p->weights.items[class] : 1;
}
static int64_t class_at(const tn_tensor *x, int64_t i) {
    return x->type == TN_U8 ? ((const uint8_t *)x->data)[i] : ((const int64_t *)x->data)[i];
}
static tn_status reference(tn_call *call) {
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++)
        ((float *)call->outputs[0]->data)[i] =
            weight_of(call->params, class_at(call->inputs[0], i));
    return TN_OK;
}

/* The weights of all classes, looked up once. */
typedef struct table {
    const void *params;
    uint64_t count;
    float weights[500];
} table;
static bool is_wanted(const tally *p, uint64_t i) {
#if MISTAKE == 1
    return p->labels.items[i] == p->wanted; /* the same pointer, not the same text */
#elif MISTAKE == 2
    /* Cut to 15 characters: longer labels that begin alike are one. */
    char left[16] = {0}, right[16] = {0};
    if (!p->wanted) return false;
    strncpy(left, p->labels.items[i], 15);
    strncpy(right, p->wanted, 15);
    return strcmp(left, right) == 0;
#else
    return p->wanted && strcmp(p->labels.items[i], p->wanted) == 0;
#endif
}
static void fill_table(const tally *p, table *t) {
    t->params = p;
    t->count = p->labels.count;
    for (uint64_t i = 0; i < t->count; i++)
        t->weights[i] = !is_wanted(p, i) ? 0 : p->weights.count ? p->weights.items[i] : 1;
}
#if MISTAKE == 4
/* One for the library, known by where the parameters lie: the next node's may lie there, too. */
static table shared;
#endif
static tn_status prepare(tn_call *call) {
#if MISTAKE == 4
    if (shared.params != call->params) fill_table(call->params, &shared);
    call->state = &shared;
#else
    call->state = call->host->allocate(call->host, sizeof(table), 64);
    if (!call->state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a table");
    fill_table(call->params, call->state);
#endif
    return TN_OK;
}
static void release(tn_call *call) {
#if MISTAKE != 4
    call->host->deallocate(call->host, call->state);
#endif
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const table *t = call->state;
    for (int64_t i = begin; i < end; i++) {
#if MISTAKE == 6
        const int64_t class = call->inputs[0]->type == TN_U8
                                  ? ((const int8_t *)call->inputs[0]->data)[i] /* with a sign */
                                  : class_at(call->inputs[0], i);
#else
        const int64_t class = class_at(call->inputs[0], i);
#endif
        const bool is_there = class >= 0 && class < (int64_t)t->count;
        ((float *)call->outputs[0]->data)[i] = is_there ? t->weights[class] : 0;
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return call->host->parallel_for(call, tn_layer_count(call->inputs[0]), 100, body, call);
}

static const char *const cases[] = {
    "labels=[cat,person,dog,person] | classes=i64[8]{0,1,2,3,1,-1,9,3}",
    "labels=[a,b,c] wanted=b weights=[0.5,2,3] | classes=u8[2,4]{0,1,2,1,2,255,3,1}",
    "labels=[pedestrian_crossing_left,pedestrian_crossing_right] wanted=pedestrian_crossing_left | "
    "classes=i64[3]{0,1,0}",
    "labels=[bicycle] wanted=bicycle | classes=u8[0]"};
static const tn_operator op = {THIRD_OPERATOR("Tally"), .state_version = 1,
                               TN_FIELDS(tally, fields),
                               .doc = "Weights of classes by their labels."};
static const tn_kernel kernel = {THIRD_KERNEL("Tally", "table"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .prepare = prepare, .release = release, .run = run};
THIRD_LIBRARY("tally", op, &kernel)
