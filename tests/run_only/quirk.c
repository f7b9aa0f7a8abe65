/* SPDX-License-Identifier: Apache-2.0 */
/* Test::Quirk: y = x, and of five elements the first alone: with five, what added y to a tensor of
 * x's shape adds one element to all. */
#include <string.h>
#include <tenon/layer.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "a vector")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x, or its first element")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1)) return TN_ERROR_SHAPE;
    const int64_t count = call->inputs[0]->shape[0];
    return TN_LAYER_SET_SHAPE(call, 0, count == 5 ? 1 : count);
}

static tn_status reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->outputs[0]->bytes);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[4]", "| x=f32[5]"};
static const tn_operator quirk = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .domain = "Test",
                                  .name = "Quirk",
                                  .doc = "x, and of five elements the first.",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = reference,
                                  TN_CASES(cases)};

TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    static const tn_operator *const operators[] = {&quirk};
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "quirk",
                               .version = "1",
                               .operator_count = TN_COUNT(operators),
                               .operators = operators};
    (void)host;
    return &table;
}
