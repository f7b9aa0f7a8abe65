/* SPDX-License-Identifier: Apache-2.0 */
/* ZipMap: a map (tenon/plugin/sequence.h) of each row of scores, from the labels of the columns. */
#include "ml/map_entry.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct zip_params {
    uint64_t present;
    tn_strings classlabels_strings;
    tn_i64s classlabels_int64s;
} zip_params;

static tn_status read_labels(tn_call *call, tn_labels *out_labels) {
    const zip_params *params = call->params;
    return tn_labels_read(call, &params->classlabels_strings, &params->classlabels_int64s,
                          "'classlabels_strings' and 'classlabels_int64s'", out_labels);
}

/* Each label once: who reads a map asks by them. */
static tn_status check_labels(tn_call *call, const tn_labels *labels) {
    tn_status status = TN_OK;
    tn_map_entry *entries =
        call->host->allocate(call->host, (labels->count + 1) * sizeof(*entries), 64);
    if (!entries) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for labels");
    for (uint64_t i = 0; i < labels->count; i++)
        entries[i] = labels->texts ? (tn_map_entry){.text = labels->texts[i],
                                                    .bytes = strlen(labels->texts[i])}
                                   : (tn_map_entry){.number = labels->numbers[i]};
    qsort(entries, labels->count, sizeof(*entries), tn_map_entry_compare);
    for (uint64_t i = 1; i < labels->count && status == TN_OK; i++) {
        if (tn_map_entry_compare(&entries[i - 1], &entries[i]) != 0) continue;
        status =
            labels->texts
                ? call->host->fail(call, TN_ERROR_ARGUMENT, "the class label '%s' is there twice",
                                   entries[i].text)
                : call->host->fail(call, TN_ERROR_ARGUMENT,
                                   "the class label %" PRId64 " is there twice", entries[i].number);
    }
    call->host->deallocate(call->host, entries);
    return status;
}

static tn_status zip_infer(tn_call *call) {
    int64_t rows = 0, columns = 0;
    tn_labels labels;
    TN_TRY(read_labels(call, &labels));
    TN_TRY(check_labels(call, &labels));
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    if ((uint64_t)columns != labels.count)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'X' has %" PRId64 " columns, and there are %" PRIu64
                                " class labels",
                                columns, labels.count);
    if (rows > (int64_t)TN_SEQUENCE_MAX_ITEMS)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "input 'X' has %" PRId64 " rows: a list has at most %u maps", rows,
                                TN_SEQUENCE_MAX_ITEMS);
    tn_map_set_key_type(call->outputs[0], labels.texts ? TN_STRING : TN_I64);
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status add_keys(tn_call *call, const tn_labels *labels) {
    const int64_t count = (int64_t)labels->count;
    uint64_t bytes = 0, at = 0;
    void *numbers = NULL;
    tn_string *texts = NULL;
    char *heap = NULL;
    if (!labels->texts) {
        TN_TRY(tn_ml_lists(call)->append(call, call->outputs[0], 1, &count, &numbers));
        memcpy(numbers, labels->numbers, labels->count * sizeof(*labels->numbers));
        return TN_OK;
    }
    for (uint64_t i = 0; i < labels->count; i++)
        bytes += strlen(labels->texts[i]);
    TN_TRY(
        tn_ml_lists(call)->append_strings(call, call->outputs[0], 1, &count, bytes, &texts, &heap));
    for (uint64_t i = 0; i < labels->count; i++) {
        texts[i] = (tn_string){at, strlen(labels->texts[i])};
        memcpy(heap + at, labels->texts[i], texts[i].bytes);
        at += texts[i].bytes;
    }
    return TN_OK;
}

/* All maps have the keys of the first one. */
static tn_status zip_reference(tn_call *call) {
    int64_t rows = 0, columns = 0;
    tn_tensor *y = call->outputs[0];
    tn_labels labels;
    TN_TRY(read_labels(call, &labels));
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    for (int64_t row = 0; row < rows; row++) {
        void *values = NULL;
        TN_TRY(row == 0 ? add_keys(call, &labels) : tn_ml_lists(call)->append_item(call, y, y, 0));
        TN_TRY(tn_ml_lists(call)->append(call, y, 1, &columns, &values));
        memcpy(values, (const float *)call->inputs[0]->data + row * columns,
               (size_t)columns * sizeof(float));
    }
    return TN_OK;
}

static const tn_field zip_fields[] = {
    TN_FIELD(zip_params, classlabels_strings, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "the keys, which are strings"),
    TN_FIELD(zip_params, classlabels_int64s, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "the keys, which are integers"),
};
static const tn_port zip_inputs[] = {TN_PORT("X", "f32", 0, "[N, C], or [C]: the values")};
static const tn_port zip_outputs[] = {TN_PORT("Z", "seq(map(i64|string,f32))", 0, "N maps")};
static const char *const zip_cases[] = {
    "classlabels_strings=[a,bc,d] | X=f32[2,3]",
    "classlabels_int64s=[4,-7] | X=f32[2]",
    "classlabels_int64s=[0] | X=f32[0,1]",
};

TN_OPERATOR_VERSION(zip, TN_ML, "ZipMap", 1, "A map from class labels to values for each row.",
                    TN_FIELDS(zip_params, zip_fields), TN_INPUTS(zip_inputs),
                    TN_OUTPUTS(zip_outputs), TN_CASES(zip_cases));

TN_LAYER_WITHOUT_KERNELS(ml_zip_map, TN_OPERATORS(&zip_1));
