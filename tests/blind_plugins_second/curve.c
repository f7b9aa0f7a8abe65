/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Curve: y = a polynomial of x. The fields are saved by the operator's own functions. */
#include "second.h"

typedef struct curve_params {
    uint64_t present;
    float a, b;
    int64_t degree;
    bool is_odd;
} curve_params;
static const tn_field fields[] = {
    OPTION(curve_params, a, TN_FIELD_F32, "1", -1000, 1000, "factor of the highest power"),
    OPTION(curve_params, b, TN_FIELD_F32, "0", -1000, 1000, "added"),
    OPTION(curve_params, degree, TN_FIELD_I64, "2", 0, 7, "the highest power"),
    TN_FIELD(curve_params, is_odd, TN_FIELD_BOOL, TN_OPTIONAL, "false", "|power| with x's sign")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static tn_status infer(tn_call *call) {
    same_shape(call, 0, 0);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const curve_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    for (int64_t i = 0, count = elements(x); i < count; i++) {
        const double v = get(x, i);
        double power = 1;
        for (int64_t k = 0; k < p->degree; k++)
            power *= v;
        if (p->is_odd) power = copysign(power, v);
        set(y, i, (double)p->a * power + (double)p->b);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    return reference(call);
}

/* The state as bytes: present, a, b, degree, is_odd. */
enum { LENGTH = 8 + 4 + 4 + 8 + 1 };
static tn_status save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const curve_params *p = call->params;
    uint8_t *to = data;
    if (!data) {
        *inout_bytes = LENGTH;
        return TN_OK;
    }
    if (*inout_bytes < LENGTH)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "%d bytes are needed", LENGTH);
    *inout_bytes = LENGTH;
    memcpy(to, &p->present, 8);
    memcpy(to + 8, &p->a, 4);
    memcpy(to + 12, &p->b, 4);
    memcpy(to + 16, &p->degree, 8);
    to[24] = p->is_odd;
#if MISTAKE == 1
    to[24] = 0; /* is_odd came later, and was forgotten here */
#elif MISTAKE == 2
    to[LENGTH] = 0; /* ends as a string does */
#elif MISTAKE == 5
    static uint8_t times;
    to[24] |= (uint8_t)(++times << 1); /* the bits above the lowest are free: nobody reads them */
#endif
    return TN_OK;
}
static tn_status load(tn_call *call, const void *data, uint64_t bytes) {
    curve_params *p = call->new_params;
    const uint8_t *from = data;
    if (bytes != LENGTH && !IS(3))
        return call->host->fail(call, TN_ERROR_FORMAT, "%llu bytes in place of %d",
                                (unsigned long long)bytes, LENGTH);
    memcpy(&p->present, from, 8);
    memcpy(&p->a, from + 8, 4);
    memcpy(&p->b, from + 12, 4);
    memcpy(&p->degree, from + 16, 8);
    p->is_odd = from[24] & 1;
    if (IS(4)) memcpy(&p->b, from + 8, 4);
    if (p->degree < 0 || p->degree > 7)
        return call->host->fail(call, TN_ERROR_FORMAT, "a degree of %lld", (long long)p->degree);
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[3,5]", "a=2 b=-1 degree=3 | x=f64[7]",
                                    "is_odd=true degree=2 b=0.5 | x=f32[9]", "| x=f32[0]"};
static const char *const combinations[] = {"f32 -> f32", "f64 -> f64"};
OPERATOR("Curve", "A power with a factor.", TN_FIELDS(curve_params, fields), .save = save,
         .load = load)
KERNEL("Curve", .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE)
LIBRARY("second_curve")
