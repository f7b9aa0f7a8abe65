/* SPDX-License-Identifier: Apache-2.0 */
/* OptionalGetElement: the element, which must be there. By its reference alone. */
#include "sequences.h"

#include <string.h>

static tn_status infer(tn_call *call) {
    const tn_tensor *element = call->inputs[0];
    const tn_status status =
        element->data ? lists(call)->item(call, call->inputs[0], 0, &element) : TN_OK;
    if (status == TN_OK) join(call->outputs[0], element, true);
    return status;
}

static tn_status run(tn_call *call) {
    const tn_tensor *element = NULL;
    const tn_status status = lists(call)->item(call, call->inputs[0], 0, &element);
    if (status == TN_OK) memcpy(call->outputs[0]->data, element->data, element->bytes);
    return status;
}

static const tn_port inputs[] = {TN_PORT("input", "opt(T:any)", 0, "with an element")};
static const tn_port outputs[] = {TN_PORT("output", "T", 0, "the element")};
static const char *const cases[] = {"| input=f32[2]", "| input=i32[]"};
const tn_operator get_operator = {SEQUENCE_OPERATOR("OptionalGetElement", "the element"),
                                  TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};
