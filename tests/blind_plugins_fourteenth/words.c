/* SPDX-License-Identifier: Apache-2.0 */
/* Strings with a suffix, and their lengths in bytes. */
#include <tenon/plugin/string.h>

#include "fourteenth.h"

TN_LAYER_PARAMS(words_params, const char *suffix;);
static const tn_field fields[] = {
    TN_FIELD(words_params, suffix, TN_FIELD_STRING, TN_OPTIONAL, NULL, "behind each string")};
static const tn_port inputs[] = {TN_PORT("x", "string", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "string", 0, "as x"),
                                  TN_PORT("n", "i64", 0, "as x")};

static tn_status infer(tn_call *call) {
    same_shape(call->inputs[0], call->outputs[1]);
    return infer_same(call);
}
static tn_status words(tn_call *call, bool is_kernel) {
    const tn_string_services *services = call->host->extension(call->host, TN_STRINGS);
    const char *suffix = ((const words_params *)call->params)->suffix;
    const uint64_t more = is_kernel && WRONG(4) ? strlen(suffix) : suffix ? strlen(suffix) : 0;
    uint64_t behind = 0;
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++) {
        uint64_t bytes, offset = 0, unused;
        const char *text = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        if (is_kernel && WRONG(1)) bytes = strnlen(text, bytes);
        if (is_kernel && WRONG(2)) /* one behind the other */
            text = call->inputs[0]->heap->data + behind, behind += bytes;
        if (call->outputs[0]) {
            tn_status status = services->append(call, 0, text, bytes, &offset);
            if (status == TN_OK) status = services->append(call, 0, suffix, more, &unused);
            if (status != TN_OK) return status;
            ((tn_string *)call->outputs[0]->data)[i] = (tn_string){offset, bytes + more};
        }
        if (call->outputs[1])
            ((int64_t *)call->outputs[1]->data)[i] =
                (int64_t)(bytes + (is_kernel && WRONG(3) ? 0 : more));
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return words(call, false);
}
static tn_status run(tn_call *call) {
    return words(call, true);
}
static const char *const cases[] = {"suffix=ab | x=string[3]{\"one\",\"two\",\"three\"}",
                                    "suffix=x | x=string[2,2]{\"a\",\"b\",\"c\",\"d\"}"};
static const tn_operator words_op = {OPERATOR,
                                     .name = "Words",
                                     .doc = "Strings with a suffix.",
                                     TN_FIELDS(words_params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"string -> string, i64"};
static const tn_kernel words_cpu = {KERNEL, .op = "Words", TN_COMBINATIONS(combinations),
                                    .run = run};
LIBRARY("words", words_op, words_cpu)
