/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Version 2 of the library of layers_1.c. Scale has state version 2: `factor` became `numerator`
 * and `denominator`, `steps` became the text `repeats`, the choices of `mode` have other numbers,
 * `label` went. Codebook has state version 2: `seed` became `start`, new nodes get other values,
 * and the saved bytes have another form. Sealed changed its bytes alone, Shift got a field and lost
 * its kernel to one of another name. Round has a second meaning from version 2 on, Gone went. With
 * WITHOUT_UPGRADE, the author forgot `upgrade`.
 */
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>

#ifdef WITHOUT_UPGRADE
#define UPGRADE(function) (0 ? function : NULL)
#else
#define UPGRADE(function) function
#endif

static tn_status infer_same(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};
#define COMMON_SINCE(operator_name, since, state)                                                  \
    .size = sizeof(tn_operator), .since_version = (since), .state_version = (state),               \
    .domain = "migration", .name = (operator_name), .doc = "For tests of migration.",              \
    TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer_same
#define COMMON(operator_name, state) COMMON_SINCE(operator_name, 1, state)

static const tn_attribute *find_saved(const tn_call *call, const char *name) {
    for (uint64_t i = 0; i < call->saved_count; i++)
        if (strcmp(call->saved[i]->name, name) == 0) return call->saved[i];
    return NULL;
}

/* --- Scale: y = repeats * mode(x * numerator / denominator) + sum of offsets + table --- */

typedef struct scale_params {
    uint64_t present;
    const tn_tensor *table;
    tn_f32s offsets;
    double numerator, denominator;
    const char *repeats;
    uint32_t mode;
} scale_params;
static const tn_field scale_fields[] = {
    TN_FIELD(scale_params, table, TN_FIELD_TENSOR, TN_OPTIONAL, NULL, "is added, item by item"),
    TN_FIELD(scale_params, offsets, TN_FIELD_F32S, TN_OPTIONAL, NULL, "are added"),
    TN_FIELD_RANGE(scale_params, numerator, TN_FIELD_F64, TN_REQUIRED, NULL, 0.0, 1e9,
                   "over the denominator, multiplies x"),
    TN_FIELD(scale_params, denominator, TN_FIELD_F64, TN_OPTIONAL, "1", "under the numerator"),
    TN_FIELD(scale_params, repeats, TN_FIELD_STRING, TN_OPTIONAL, "1", "how often it counts"),
    TN_FIELD_CHOICE(scale_params, mode, TN_FIELD_ENUM, TN_OPTIONAL, "plain", "squared|cubed|plain",
                    "what is done to the product"),
};

static float scale_mode(uint32_t mode, float value) {
    return mode == 0 ? value * value : mode == 1 ? value * value * value : value;
}
static tn_status scale_run(tn_call *call) {
    const scale_params *p = call->params;
    const float *x = call->inputs[0]->data, factor = (float)(p->numerator / p->denominator);
    float *y = call->outputs[0]->data, offset = 0;
    for (uint64_t i = 0; i < p->offsets.count; i++)
        offset += p->offsets.items[i];
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++) {
        y[i] = strtof(p->repeats, NULL) * scale_mode(p->mode, factor * x[i]) + offset;
        if (p->table) y[i] += ((const float *)p->table->data)[i % (p->table->bytes / 4)];
    }
    return TN_OK;
}
static tn_status scale_upgrade(tn_call *call, uint32_t from) {
    static const char *const numerals[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    scale_params *p = call->new_params;
    const tn_attribute *factor = find_saved(call, "factor"), *steps = find_saved(call, "steps");
    if (from != 1 || !factor)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "only fields of version 1, with a factor, can be upgraded");
    if (factor->f < 0)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "the factor is %g: version 2 has no negative ones", factor->f);
    if (steps && (steps->i < 0 || steps->i > 9))
        return call->host->fail(call, TN_ERROR_RANGE, "more than 9 steps have no numeral");
    p->numerator = factor->f * 100;
    p->denominator = 100;
    if (steps) p->repeats = numerals[steps->i];
    return TN_OK;
}
static const tn_operator scale = {COMMON("Scale", 2), TN_FIELDS(scale_params, scale_fields),
                                  .reference = scale_run, .upgrade = UPGRADE(scale_upgrade)};

/* --- Codebook and Sealed: y = x * gain + values[i % 3]; version 1 had no gain --- */

typedef struct book_params {
    uint64_t present;
    int64_t start;
    uint64_t is_loaded;
    float gain, values[3];
} book_params;
static const tn_field codebook_fields[] = {
    TN_FIELD(book_params, start, TN_FIELD_I64, TN_REQUIRED, NULL, "what the values are made from")};
/* Sealed keeps the name that the field had. */
static const tn_field sealed_fields[] = {{"seed", "what the values are made from", NULL, NULL,
                                          TN_FIELD_I64, TN_REQUIRED, offsetof(book_params, start),
                                          sizeof(int64_t), 0, 0, 0, 0}};

static book_params book_state(const book_params *p) {
    book_params state = *p;
    if (p->is_loaded) return state;
    state.gain = 2;
    for (int i = 0; i < 3; i++)
        state.values[i] = (float)p->start - 0.25f * (float)i;
    return state;
}
static tn_status book_run(tn_call *call) {
    const book_params state = book_state(call->params);
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        y[i] = x[i] * state.gain + state.values[i % 3];
    return TN_OK;
}
static tn_status book_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const book_params state = book_state(call->params);
    *inout_bytes = 4 + sizeof(float) + sizeof(state.values);
    if (!data) return TN_OK;
    memcpy(data, "BK2\n", 4);
    memcpy((char *)data + 4, &state.gain, sizeof(float));
    memcpy((char *)data + 8, state.values, sizeof(state.values));
    return TN_OK;
}
static tn_status book_load(tn_call *call, const void *data, uint64_t bytes) {
    book_params *p = call->new_params;
    const char *at = data;
    p->start = ((const book_params *)call->params)->start;
    p->is_loaded = 1;
    p->gain = 1;
    if (bytes == 16 && memcmp(at, "BK1\n", 4) == 0) {
        memcpy(p->values, at + 4, sizeof(p->values));
    } else if (bytes == 20 && memcmp(at, "BK2\n", 4) == 0) {
        memcpy(&p->gain, at + 4, sizeof(float));
        memcpy(p->values, at + 8, sizeof(p->values));
    } else {
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes that are neither BK1 nor BK2",
                                (unsigned long long)bytes);
    }
    return TN_OK;
}
static tn_status book_upgrade(tn_call *call, uint32_t from) {
    const tn_attribute *seed = find_saved(call, "seed");
    if (from != 1 || !seed) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "no seed");
    ((book_params *)call->new_params)->start = seed->i;
    return TN_OK;
}
#define BOOK .reference = book_run, .save = book_save, .load = book_load
static const tn_operator codebook = {COMMON("Codebook", 2), TN_FIELDS(book_params, codebook_fields),
                                     BOOK, .upgrade = UPGRADE(book_upgrade)};
static const tn_operator sealed = {COMMON("Sealed", 1), TN_FIELDS(book_params, sealed_fields),
                                   BOOK};

/* --- Shift: y = min(x + amount, limit); no limit, as in version 1, where it is not given --- */

typedef struct shift_params {
    uint64_t present;
    float limit, amount;
} shift_params;
static const tn_field shift_fields[] = {
    TN_FIELD(shift_params, limit, TN_FIELD_F32, TN_OPTIONAL, NULL, "of y; absent: none"),
    TN_FIELD(shift_params, amount, TN_FIELD_F32, TN_REQUIRED, NULL, "is added")};

static tn_status shift_run(tn_call *call) {
    const shift_params *p = call->params;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++) {
        const float sum = ((const float *)call->inputs[0]->data)[i] + p->amount;
        ((float *)call->outputs[0]->data)[i] = (p->present & 1) && sum > p->limit ? p->limit : sum;
    }
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
                                       .name = "second",
                                       TN_COMBINATIONS(shift_combinations),
                                       .run = shift_run};

/* --- Round: version 1 drops the fraction, version 2 rounds to the nearest --- */

static tn_status round_run(tn_call *call, float half) {
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)(int)(((const float *)call->inputs[0]->data)[i] + half);
    return TN_OK;
}
static tn_status round_1_run(tn_call *call) {
    return round_run(call, 0);
}
static tn_status round_2_run(tn_call *call) {
    return round_run(call, 0.5f);
}
static const tn_operator round_1 = {COMMON("Round", 1), TN_NO_FIELDS, .reference = round_1_run};
static const tn_operator round_2 = {COMMON_SINCE("Round", 2, 1), TN_NO_FIELDS,
                                    .reference = round_2_run};

static const tn_operator *const operators[] = {&scale, &codebook, &sealed,
                                               &shift, &round_1,  &round_2};
static const tn_kernel *const kernels[] = {&shift_kernel};
TN_LIBRARY("migration", "2.0", operators, kernels)
