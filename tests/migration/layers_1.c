/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 1 of a library whose operators change from one version to the next: Scale (fields that
 * are renamed, split, retyped, dropped), Codebook (fields and state of its own), Sealed (state
 * alone), Shift (a field is added), Round (a new meaning beside the old one), Gone
 * (nothing is left). Version 2 is layers_2.c; plans of both lie in
 * ../fixtures/migration. It stands for a binary that is out in the world: it is not changed.
 */
#include <string.h>
#include <tenon/plugin.h>

static tn_status infer_same(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
#define COMMON(operator_name, state)                                                               \
    .size = sizeof(tn_operator), .since_version = 1, .state_version = (state),                     \
    .domain = "migration", .name = (operator_name), .doc = "For tests of migration.",              \
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer_same

/* --- Scale: y = steps * mode(factor * x) + sum of offsets + table[i % its length] --- */

typedef struct scale_params {
    uint64_t present;
    float factor;
    uint32_t mode;
    int64_t steps;
    tn_f32s offsets;
    const tn_tensor *table;
    const char *label;
} scale_params;
static const tn_field scale_fields[] = {
    TN_FIELD(scale_params, factor, TN_FIELD_F32, TN_REQUIRED, NULL, "multiplies x"),
    TN_FIELD_CHOICE(scale_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "plain", "plain|squared",
                    "what is done to the product"),
    TN_FIELD(scale_params, steps, TN_FIELD_I64, TN_OPTIONAL, "1", "how often it counts"),
    TN_FIELD(scale_params, offsets, TN_FIELD_F32S, TN_OPTIONAL, NULL, "are added"),
    TN_FIELD(scale_params, table, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "is added, item by item"),
    TN_FIELD(scale_params, label, TN_FIELD_STRING, TN_OPTIONAL, NULL, "for people"),
};

static tn_status scale_run(tn_call *call) {
    const scale_params *p = call->params;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data, offset = 0;
    for (uint64_t i = 0; i < p->offsets.count; i++)
        offset += p->offsets.items[i];
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++) {
        const float product = p->factor * x[i];
        y[i] = (float)p->steps * (p->mode == 1 ? product * product : product) + offset;
        if (p->table) y[i] += ((const float *)p->table->data)[i % (p->table->bytes / 4)];
    }
    return TN_OK;
}
static const tn_operator scale = {COMMON("Scale", 1), TN_FIELDS(scale_params, scale_fields),
                                  .reference = scale_run};

/* --- Codebook and Sealed: y = x + values[i % 3]; the values are made from the field or loaded ---
 */

typedef struct book_params {
    uint64_t present;
    int64_t seed;
    uint64_t is_loaded;
    float values[3];
} book_params;
static const tn_field book_fields[] = {
    TN_FIELD(book_params, seed, TN_FIELD_I64, TN_REQUIRED, NULL, "what the values are made from")};

static void book_values(const book_params *p, float *values) {
    for (int i = 0; i < 3; i++)
        values[i] = p->is_loaded ? p->values[i] : (float)p->seed + 0.5f * (float)i;
}
static tn_status book_run(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data, values[3];
    book_values(call->params, values);
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        y[i] = x[i] + values[i % 3];
    return TN_OK;
}
static tn_status book_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    float values[3];
    book_values(call->params, values);
    *inout_bytes = 4 + sizeof(values);
    if (!data) return TN_OK;
    memcpy(data, "BK1\n", 4);
    memcpy((char *)data + 4, values, sizeof(values));
    return TN_OK;
}
static tn_status book_load(tn_call *call, const void *data, uint64_t bytes) {
    book_params *p = call->new_params;
    if (bytes != 4 + sizeof(p->values) || memcmp(data, "BK1\n", 4) != 0)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "the values are in a form that library version 1.0 does not know: "
                                "%.3s, expected BK1",
                                bytes >= 4 ? (const char *)data : "");
    memcpy(p->values, (const char *)data + 4, sizeof(p->values));
    p->is_loaded = 1;
    return TN_OK;
}
#define BOOK                                                                                       \
    TN_FIELDS(book_params, book_fields), .reference = book_run, .save = book_save, .load = book_load
static const tn_operator codebook = {COMMON("Codebook", 1), BOOK};
static const tn_operator sealed = {COMMON("Sealed", 1), BOOK};

/* --- Shift: y = x + amount --- */

typedef struct shift_params {
    uint64_t present;
    float amount;
} shift_params;
static const tn_field shift_fields[] = {
    TN_FIELD(shift_params, amount, TN_FIELD_F32, TN_REQUIRED, NULL, "is added")};

static tn_status shift_run(tn_call *call) {
    const shift_params *p = call->params;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]->data)[i] + p->amount;
    return TN_OK;
}
static const tn_operator shift = {COMMON("Shift", 1), TN_FIELDS(shift_params, shift_fields),
                                  .reference = shift_run};
static const char *const shift_combinations[] = {"f32 -> f32"};
static const tn_kernel shift_kernel = {.size = sizeof(tn_kernel),
                                       .revision = 1,
                                       .domain = "migration",
                                       .op = "Shift",
                                       .device = "cpu",
                                       .name = "first",
                                       TN_COMBINATIONS(shift_combinations),
                                       .run = shift_run};

/* --- Round: y = x without its fraction. Gone: the same --- */

static tn_status round_run(tn_call *call) {
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)(int)((const float *)call->inputs[0]->data)[i];
    return TN_OK;
}
static const tn_operator round_1 = {COMMON("Round", 1), TN_NO_FIELDS, .reference = round_run};
static const tn_operator gone = {COMMON("Gone", 1), TN_NO_FIELDS, .reference = round_run};

static const tn_operator *const operators[] = {&scale, &codebook, &sealed, &shift, &round_1, &gone};
static const tn_kernel *const kernels[] = {&shift_kernel};
TN_LIBRARY("migration", "1.0", operators, kernels)
