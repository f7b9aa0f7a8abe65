/* SPDX-License-Identifier: Apache-2.0 */
/* Join: each string of x with that of y behind it. */
#include "strings.h"

static tn_status infer(tn_call *call) {
    if (!has_shape_of(call->inputs[0], call->inputs[1]))
        return call->host->fail(call, TN_ERROR_SHAPE, "x and y have different shapes");
    copy_shape(call->outputs[0], call->inputs[0]);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_string_services *strings = string_services(call);
    tn_string *out = call->outputs[0]->data;
    const int64_t count = count_of(call->outputs[0]);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bytes, more, at;
        const char *x = tn_string_at(call->inputs[0], (uint64_t)i, &bytes);
        const char *y = tn_string_at(call->inputs[1], (uint64_t)i, &more);
        tn_status status = strings->append(call, 0, x, bytes, &out[i].offset);
        if (status == TN_OK) status = strings->append(call, 0, y, more, &at);
        if (status != TN_OK) return status;
        out[i].bytes = bytes + more;
    }
    return TN_OK;
}

static const tn_port inputs[] = {TN_PORT("x", "string", 0, "first parts"),
                                 TN_PORT("y", "string", 0, "second parts")};
static const tn_port outputs[] = {TN_PORT("z", "string", 0, "both")};
static const char *const cases[] = {
    "| x=string[3] y=string[3]",
    "| x=string[] y=string[]",
    "| x=string[2,3] y=string[2,3] | z=string[2,3]",
    "| x=string[0] y=string[0]",
    "| x=string[2]{ab,c} y=string[2]{d,ef} | z=string[2]{abd,cef}",
};

const tn_operator concat_operator = {.size = sizeof(tn_operator),
                                     .since_version = 1,
                                     .state_version = 1,
                                     .domain = "Test",
                                     .name = "Join",
                                     .doc = "Joins strings, element by element.",
                                     TN_NO_FIELDS,
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = run,
                                     TN_CASES(cases)};

static const char *const combinations[] = {"string, string -> string"};
const tn_kernel concat_kernel = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "Test",
                                 .op = "Join",
                                 .device = "cpu",
                                 .name = "concat",
                                 .doc = "Appends both parts.",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
