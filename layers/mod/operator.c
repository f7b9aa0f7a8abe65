/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mod: what is left of A after division by B, with broadcasting: with B's sign, or with A's where
 * `fmod` says so. Of division by the integer zero: zero.
 */
#include "kit/operator/broadcast.h"
#include "kit/operator/layer.h"

#include <math.h>

typedef struct mod_params {
    uint64_t present;
    bool fmod;
} mod_params;

static const tn_field mod_fields[] = {
    TN_FIELD(mod_params, fmod, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the result has the sign of A instead of B's"),
};

static double mod_real(const void *params, double a, double b) {
    const mod_params *fields = params;
    const double rest = fmod(a, b);
    if (!fields->fmod && rest != 0 && (rest < 0) != (b < 0)) return rest + b;
    return rest;
}

static int64_t mod_whole(const void *params, int64_t a, int64_t b) {
    const mod_params *fields = params;
    if (b == 0 || b == -1) return 0; /* the lowest number divided by -1 does not fit */
    const int64_t rest = a % b;
    if (!fields->fmod && rest != 0 && (rest < 0) != (b < 0)) return rest + b;
    return rest;
}

static uint64_t mod_natural(const void *params, uint64_t a, uint64_t b) {
    (void)params;
    return b == 0 ? 0 : a % b;
}

static tn_status mod_reference(tn_call *call) {
    static const tn_broadcast_binary function = {
        .real = mod_real, .whole = mod_whole, .natural = mod_natural};
    return tn_broadcast_compute(call, &function);
}

static const tn_port mod_inputs[] = {
    TN_PORT("A", "T:number", 0, "what is divided"),
    TN_PORT("B", "T", 0, "what it is divided by"),
};
static const tn_port mod_outputs[] = {
    TN_PORT("C", "T", 0, "what is left"),
};
static const char *const mod_cases[] = {
    "| A=i32[6]{-4,7,5,4,-7,8} B=i32[6]{2,-3,8,-2,3,5}",
    "fmod=1 | A=i32[6]{-4,7,5,4,-7,8} B=i32[6]{2,-3,8,-2,3,5}",
    "fmod=1 | A=f32[3]{-4.3,7.2,5} B=f32[3]{2.1,-3.4,8}",
    "| A=f64[3]{-4.3,7.2,5} B=f64[1]{2.5}",
    "| A=u64[2]{18446744073709551615,7} B=u64[]{10}",
    "| A=i64[3]{-9223372036854775808,5,6} B=i64[3]{-1,0,4}",
    "| A=u8[2,1]{200,7} B=u8[3]{7,255,1}",
    "fmod=1 | A=f16[2]{5,-5} B=f16[2]{3,3}",
    "| A=i8[0,3] B=i8[3]",
};

static const tn_operator mod_10 = {
    .size = sizeof(tn_operator),
    .since_version = 10,
    .state_version = 1,
    .traits = TN_OPERATOR_ELEMENTWISE,
    .domain = "",
    .name = "Mod",
    .doc = "Remainders of division.",
    TN_FIELDS(mod_params, mod_fields),
    TN_INPUTS(mod_inputs),
    TN_OUTPUTS(mod_outputs),
    .infer = tn_broadcast_infer_binary,
    .reference = mod_reference,
    TN_CASES(mod_cases),
};

static const tn_operator *const mod_operators[] = {&mod_10};
TN_LAYER_WITHOUT_KERNELS(mod, mod_operators);
