/* SPDX-License-Identifier: Apache-2.0 */
/* Split: the words of a string, as many as there are. */
#include "strings.h"

typedef struct split_params {
    uint64_t present;
    int64_t most;
} split_params;

static const tn_field fields[] = {TN_FIELD_RANGE(split_params, most, TN_FIELD_I64, TN_OPTIONAL,
                                                 "16", 1, 1 << 20, "the most words there can be")};

static tn_status infer(tn_call *call) {
    const split_params *params = call->params;
    if (call->inputs[0]->rank != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "x is one string");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = params->most;
    return TN_OK;
}

/* Words lie between spaces. They are bytes of the input's heap, which is shared. */
static tn_status run(tn_call *call) {
    const split_params *params = call->params;
    const tn_string *x = call->inputs[0]->data;
    tn_string *y = call->outputs[0]->data;
    uint64_t length;
    const char *text = tn_string_at(call->inputs[0], 0, &length);
    int64_t count = 0;
    for (uint64_t at = 0; at < length;) {
        uint64_t end = at;
        while (end < length && text[end] != ' ')
            end++;
        if (end > at) {
            if (count == params->most)
                return call->host->fail(call, TN_ERROR_RANGE, "there are more than %lld words",
                                        (long long)params->most);
            y[count++] = (tn_string){x->offset + at, end - at};
        }
        at = end + 1;
    }
    call->outputs[0]->shape[0] = count;
    return string_services(call)->share(call, 0, 0);
}

static const tn_port inputs[] = {TN_PORT("x", "string", 0, "a text")};
static const tn_port outputs[] = {TN_PORT("y", "string", TN_PORT_SIZED_BY_RUN, "its words")};
static const char *const cases[] = {"most=200 | x=string[]", "| x=string[]{a} | y=string[1]{a}"};

const tn_operator split_operator = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Test",
                                    .name = "Split",
                                    .doc = "Cuts a text at its spaces.",
                                    TN_FIELDS(split_params, fields),
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = run,
                                    TN_CASES(cases)};
