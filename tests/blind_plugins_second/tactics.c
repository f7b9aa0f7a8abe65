/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Tactics: y = x * x - x by three tactics. */
#include "second.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    same_shape(call, 0, 0);
    return TN_OK;
}
static void one(tn_call *call, int64_t i) {
    const double v = get(call->inputs[0], i);
    set(call->outputs[0], i, v * v - v);
}
static tn_status reference(tn_call *call) {
    for (int64_t i = 0, count = elements(call->inputs[0]); i < count; i++)
        one(call, i);
    return TN_OK;
}
static tn_status tactics(tn_call *call) {
    call->tactic_count = IS(2) ? 4 : 3;
    return TN_OK;
}
static tn_status part(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        one(user, i);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t count = elements(call->inputs[0]);
    if (call->tactic == 0) return reference(call);
    if (call->tactic == 1) return call->host->parallel_for(call, count, 64, part, call);
    if (call->tactic == 2) { /* by fours, from the end */
        int64_t i = count;
        for (; i >= 4; i -= 4)
            for (int64_t k = 1; k <= 4; k++)
                one(call, i - k);
        if (IS(1) && i == 3) i = 2;
        while (i > 0)
            one(call, --i);
    }
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[4,8]", "| x=f64[5]", "| x=f32[64,33]",
#if MISTAKE == 0
                                    "| x=f32[7]",   "| x=f64[]",
#endif
                                    "| x=f32[0]"};
static const char *const combinations[] = {"f32 -> f32", "f64 -> f64"};
OPERATOR("Tactics", "x * x - x.", TN_NO_FIELDS)
KERNEL("Tactics", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, .tactics = tactics)
LIBRARY("second_tactics")
