/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Quantum: clamp(round_half_even(x / scale) + zero) to 8 bits; NaN gives the zero. */
#include "second.h"
#include <fenv.h>

typedef struct quantum_params {
    uint64_t present;
    float scale;
    int32_t zero;
    bool is_signed;
} quantum_params;
static const tn_field fields[] = {
    OPTION(quantum_params, scale, TN_FIELD_F32, "1", 1e-6, 1e6, "of a step"),
    OPTION(quantum_params, zero, TN_FIELD_I32, "0", 0, 127, "what 0 becomes"),
    TN_FIELD(quantum_params, is_signed, TN_FIELD_BOOL, TN_OPTIONAL, "false", "i8 in place of u8")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "u8|i8", 0, "as x")};

static tn_status infer(tn_call *call) {
    const quantum_params *p = call->params;
    same_shape(call, 0, 0);
    call->outputs[0]->type = p->is_signed ? TN_I8 : TN_U8;
    return TN_OK;
}
static int64_t quantum(const quantum_params *p, double x, bool is_kernel) {
    const double low = p->is_signed ? -128 : 0, high = p->is_signed ? 127 : 255;
    double v = x / (double)p->scale;
    if (is_kernel && IS(4)) {
        v = fmin(fmax(nearbyint(v) + p->zero, low), high);
        return (int64_t)v;
    }
    if (isnan(x)) return p->zero;
    if (is_kernel && IS(1)) {
        v = round(v) + p->zero;
    } else if (is_kernel && IS(2)) {
        v = nearbyint(v + p->zero);
    } else if (is_kernel && IS(3)) {
        v = (double)(int32_t)(uint32_t)(int64_t)nearbyint(fmin(fmax(v, -9e18), 9e18)) + p->zero;
    } else {
        v = nearbyint(v) + p->zero;
    }
    return (int64_t)fmin(fmax(v, low), high);
}
static tn_status compute(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0, count = elements(x); i < count; i++)
        set_integer(y, i, quantum(call->params, get(x, i), is_kernel));
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
#if MISTAKE == 5
    const tn_status status = compute(call, true);
    fesetround(FE_TOWARDZERO); /* meant to go back to what it was */
    return status;
#else
    return compute(call, true);
#endif
}
static const char *const cases[] = {"| x=f32[3,5]", "scale=0.5 zero=3 | x=f32[4]{-1,0.3,2.1,300}",
                                    "is_signed=true scale=0.01 zero=7 | x=f32[17]", "| x=f32[]",
                                    "| x=f32[0,3]"};
static const char *const combinations[] = {"f32 -> u8", "f32 -> i8"};
OPERATOR("Quantum", "Floats to 8 bits.", TN_FIELDS(quantum_params, fields))
KERNEL("Quantum", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_quantum")
