/* SPDX-License-Identifier: Apache-2.0 */
/* MapTwice: a list of a map, of the same map without copying it, and of a map with one text. */
#include "sequences.h"

#include <string.h>
#include <tenon/plugin/string.h>

static tn_status infer(tn_call *call) {
    if (tn_map_key_type(call->inputs[0]) != TN_STRING) return TN_ERROR_TYPE;
    tn_map_set_key_type(call->outputs[0], TN_STRING);
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status run(tn_call *call) {
    tn_tensor *list = call->outputs[0];
    const int64_t one = 1;
    tn_string *text = NULL;
    char *heap = NULL;
    void *value = NULL;
    tn_status status = TN_OK;
    for (uint64_t i = 0; i < 2 && status == TN_OK; i++)
        status = lists(call)->append_item(call, list, call->inputs[0], i);
    for (uint64_t i = 0; i < 2 && status == TN_OK; i++)
        status = lists(call)->append_item(call, list, list, i);
    if (status == TN_OK) status = lists(call)->append_strings(call, list, 1, &one, 4, &text, &heap);
    if (status != TN_OK) return status;
    *text = (tn_string){0, 4};
    memcpy(heap, "last", 4);
    status = lists(call)->append(call, list, 1, &one, &value);
    if (status == TN_OK) *(float *)value = 1;
    return status;
}

static const tn_port inputs[] = {TN_PORT("map", "map(string,f32)", 0, "a map")};
static const tn_port outputs[] = {TN_PORT("list", "seq(map(i64|string,f32))", 0, "three maps")};
static const char *const cases[] = {"| map=string[2]{a,} map=f32[2]", "| map=string[0] map=f32[0]"};
const tn_operator twice_operator = {SEQUENCE_OPERATOR("MapTwice", "a map in a list"),
                                    TN_INPUTS(inputs), TN_OUTPUTS(outputs), TN_CASES(cases)};
