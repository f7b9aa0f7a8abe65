/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes have to be inserted, removed or replaced to turn one string into the other. */
#include "sixteenth.h"
#include <tenon/plugin/string.h>

static const tn_port inputs[] = {TN_PORT("a", "string", 0, "any shape"),
                                 TN_PORT("b", "string", 0, "as a")};
static const tn_port outputs[] = {TN_PORT("y", "i64", 0, "as a")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* `row` has room for one number more than b has bytes. */
static int64_t distance(const char *a, uint64_t a_bytes, const char *b, uint64_t b_bytes,
                        int64_t *row) {
    for (uint64_t k = 0; k <= b_bytes; k++)
        row[k] = (int64_t)k;
    for (uint64_t i = 0; i < a_bytes; i++) {
        int64_t diagonal = row[0];
        row[0] = (int64_t)i + 1;
        for (uint64_t k = 0; k < b_bytes; k++) {
            const int64_t replaced = diagonal + (a[i] != b[k]);
            diagonal = row[k + 1];
            row[k + 1] = least(replaced, 1 + least(row[k], row[k + 1]));
        }
    }
    return row[b_bytes];
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    int64_t *y = call->outputs[0]->data;
    uint64_t longest = 0;
    for (int64_t i = 0; i < tn_layer_count(a); i++) {
        const uint64_t bytes = ((const tn_string *)b->data)[i].bytes;
        longest = bytes > longest ? bytes : longest;
    }
#if MISTAKE == 1
    int64_t few[64];
    int64_t *row = is_kernel ? few : call->host->allocate(call->host, (longest + 1) * 8, 64);
#else
    int64_t *row = call->host->allocate(call->host, (longest + 1) * 8, 64);
#endif
    if (!row && !(is_kernel && WRONG(2))) return TN_ERROR_MEMORY;
    for (int64_t i = 0; i < tn_layer_count(a); i++) {
        uint64_t a_bytes, b_bytes;
        const char *of_a = tn_string_at(a, (uint64_t)i, &a_bytes);
        const char *of_b = tn_string_at(b, (uint64_t)i, &b_bytes);
        if (is_kernel && WRONG(4) &&
            memcmp((const tn_string *)a->data + i, (const tn_string *)b->data + i, 16) == 0)
            y[i] = 0;
        else
            y[i] = distance(of_a, a_bytes, of_b, b_bytes, row);
    }
    if (is_kernel && WRONG(3) && longest == 0) return TN_OK;
    if (!(is_kernel && WRONG(1))) call->host->deallocate(call->host, row);
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}

static const char *const cases[] = {
    "| a=string[3]{kitten,flaw,same} b=string[3]{sitting,lawn,same}",
    "| a=string[2,2] b=string[2,2]",
};
static const tn_operator edit_distance = {
    OPERATOR,       .name = "EditDistance", TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"string, string -> i64"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "EditDistance",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("edit_distance", edit_distance, kernel)
