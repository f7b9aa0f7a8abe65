/* SPDX-License-Identifier: Apache-2.0 */
/* Strings along the last axis become one, with a separator between them. */
#include "fifteenth.h"
#include <tenon/plugin/string.h>

TN_LAYER_PARAMS(params, const char *separator;);
static const tn_field fields[] = {
    TN_FIELD(params, separator, TN_FIELD_STRING, TN_OPTIONAL, "-", "between two")};
static const tn_port inputs[] = {TN_PORT("x", "string", 0, "any axes, parts")};
static const tn_port outputs[] = {TN_PORT("y", "string", 0, "any axes")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x is a scalar");
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}

static tn_status join(tn_call *call, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    const int64_t parts = x->shape[x->rank - 1], rows = extent(x, 0, x->rank - 1);
    const char *separator = p->separator ? p->separator : "";
    tn_string *y = call->outputs[0]->data;
    if (!strings) return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host has no strings");
    for (int64_t r = 0; r < rows; r++) {
        uint64_t begin = call->outputs[0]->heap->bytes, total = 0;
        for (int64_t k = 0; k < parts; k++) {
            uint64_t bytes, at;
            const char *part = tn_string_at(x, (uint64_t)(r * parts + k), &bytes);
            if (is_kernel && WRONG(1) && bytes > 0) bytes = strnlen(part, bytes);
            if (k > 0 && strlen(separator) > 0 && !(is_kernel && WRONG(2) && bytes == 0)) {
                TN_TRY(strings->append(call, 0, separator, strlen(separator), &at));
                total += strlen(separator);
            }
            TN_TRY(strings->append(call, 0, part, bytes, &at));
            total += bytes;
        }
        if (is_kernel && WRONG(3) && total == 0) continue;
        y[r] = (tn_string){is_kernel && WRONG(4) && r > 0 ? y[r - 1].offset + y[0].bytes : begin,
                           total};
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return join(call, false);
}
static tn_status run(tn_call *call) {
    return join(call, true);
}

static const char *const cases[] = {"| x=string[2,3]{\"a\",\"bc\",\"\",\"d\",\"e\",\"f\"}",
                                    "separator=, | x=string[2]{\"one\",\"two\"}"};
static const tn_operator join_text = {OPERATOR,
                                      .name = "JoinText",
                                      TN_FIELDS(params, fields),
                                      TN_INPUTS(inputs),
                                      TN_OUTPUTS(outputs),
                                      .infer = infer,
                                      .reference = reference,
                                      TN_CASES(cases)};
static const char *const combinations[] = {"string -> string"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "JoinText",
                                 .name = "pieces",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("join_text", join_text, kernel)
