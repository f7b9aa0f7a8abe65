/* SPDX-License-Identifier: Apache-2.0 */
/* SequenceConstruct: a sequence of the inputs. */
#include "sequences.h"

static tn_status infer(tn_call *call) {
    for (uint32_t i = 0; i < call->input_count; i++)
        join(call->outputs[0], call->inputs[i], i == 0);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < call->input_count && status == TN_OK; i++)
        status = add_copy(call, call->outputs[0], call->inputs[i]);
    return status;
}

static const tn_port inputs[] = {TN_PORT("inputs", "T:any", TN_PORT_VARIADIC, "the items")};
static const tn_port outputs[] = {TN_PORT("sequence", "seq(T)", 0, "all of them")};
static const char *const cases[] = {"| inputs=f32[2,3]",
                                    "| inputs=f32[2] inputs=f32[3,1] inputs=f32[]",
                                    "| inputs=i64[2] inputs=i64[2]"};
const tn_operator construct_operator = {
    SEQUENCE_OPERATOR("SequenceConstruct", "a sequence of the inputs"), TN_INPUTS(inputs),
    TN_OUTPUTS(outputs), TN_CASES(cases)};
const tn_kernel construct_kernel = {SEQUENCE_KERNEL("SequenceConstruct", "copies")};
