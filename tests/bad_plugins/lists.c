/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Doubled, each item of a sequence times two (tenon/plugin/sequence.h), and the mistakes that
 * are made there. */
#include "mistake.h"

#include <tenon/plugin/sequence.h>

static const tn_port inputs[] = {
    TN_PORT("list", "seq(f32)", WITH(needs_the_list) ? TN_PORT_VALUE_NEEDED : 0, "numbers")};
static const tn_port outputs[] = {TN_PORT("doubled", "seq(f32)", 0, "twice the numbers")};

static const tn_sequence_service *lists(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

static tn_status infer(tn_call *call) {
    const tn_tensor *list = call->inputs[0];
    call->outputs[0]->rank = list->rank;
    for (uint32_t i = 0; list->rank != TN_RANK_UNKNOWN && i < list->rank; i++)
        call->outputs[0]->shape[i] = list->shape[i];
    return TN_OK;
}

static tn_status double_item(tn_call *call, uint64_t index) {
    const tn_tensor *item = NULL;
    void *data = NULL;
    tn_status status = lists(call)->item(call, call->inputs[0], index, &item);
    if (status == TN_OK)
        status = lists(call)->append(call, call->outputs[0], item->rank, item->shape, &data);
    for (int64_t i = 0; status == TN_OK && i < count_of(item); i++)
        ((float *)data)[i] = 2 * ((const float *)item->data)[i];
    return status;
}

static tn_status reference(tn_call *call) {
    uint64_t length = 0;
    tn_status status = lists(call)->length(call, call->inputs[0], &length);
    for (uint64_t i = 0; i < length && status == TN_OK; i++)
        status = double_item(call, i);
    return status;
}

/* In the memory of the input's item, which the output then shares. */
static tn_status double_in_place(tn_call *call, uint64_t index) {
    const tn_tensor *item = NULL;
    const tn_status status = lists(call)->item(call, call->inputs[0], index, &item);
    for (int64_t i = 0; status == TN_OK && i < count_of(item); i++)
        ((float *)item->data)[i] *= 2;
    return status == TN_OK
               ? lists(call)->append_item(call, call->outputs[0], call->inputs[0], index)
               : status;
}

static tn_status double_by_kernel(tn_call *call, uint64_t index) {
    const tn_tensor *first = NULL, *item = NULL;
    void *data = NULL;
    if (WITH(doubles_their_items)) return double_in_place(call, index);
    tn_status status = lists(call)->item(call, call->inputs[0], 0, &first);
    if (status == TN_OK) status = lists(call)->item(call, call->inputs[0], index, &item);
    const tn_tensor *like = WITH(all_like_the_first) ? first : item;
    if (status == TN_OK)
        status = lists(call)->append(call, call->outputs[0], like->rank, like->shape, &data);
    if (status != TN_OK) return status;
    const int64_t count = count_of(like) - (WITH(last_element_unwritten) && count_of(like) > 1) +
                          WITH(one_element_more);
    for (int64_t i = 0; i < count; i++)
        ((float *)data)[i] = 2 * ((const float *)item->data)[i];
    return TN_OK;
}

static tn_status run(tn_call *call) {
    uint64_t length = 0;
    tn_status status = lists(call)->length(call, call->inputs[0], &length);
    if (WITH(two_items_at_most) && length > 2) length = 2;
    if (WITH(refuses_no_item) && length == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no item");
    for (uint64_t i = 0; i < length && status == TN_OK; i++)
        status = double_by_kernel(call, WITH(from_the_end) ? length - 1 - i : i);
    return status;
}

static const char *const cases[] = {"| list=f32[3] list=f32[2,2]", "| list=f32[4] list=f32[4]",
                                    "| list=f32"};
static const tn_operator doubled = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Bad",
                                    .name = "Doubled",
                                    TN_NO_FIELDS,
                                    TN_INPUTS(inputs),
                                    TN_OUTPUTS(outputs),
                                    .infer = infer,
                                    .reference = reference,
                                    TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32"};
static const tn_kernel doubled_cpu = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Bad",
                                      .op = "Doubled",
                                      .device = "cpu",
                                      .name = "doubles",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      TN_COMBINATIONS(combinations),
                                      .run = run};
static const tn_operator *const operators[] = {&doubled};
static const tn_kernel *const kernels[] = {&doubled_cpu};
TN_LIBRARY("bad_lists", "1", operators, kernels)
