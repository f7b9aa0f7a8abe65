/* SPDX-License-Identifier: Apache-2.0 */
/* Unusual ports, and right: 50: no inputs; 51: shapes alone are read; 52: a view; 53: tensors of
 * different types; 54: even extents alone. */
#include "fifteenth.h"

#if MISTAKE == 50
TN_LAYER_PARAMS(params, int64_t count; double first, ratio;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, count, "8", 0, 100000, "numbers"),
    TN_FIELD(params, first, TN_FIELD_F64, TN_OPTIONAL, "1", "the first"),
    TN_FIELD_RANGE(params, ratio, TN_FIELD_F64, TN_OPTIONAL, "0.5", 0, 1, "of two")};
#define PORTS  TN_FIELDS(params, fields), TN_NO_INPUTS
#define TRAITS TN_OPERATOR_CONSTANT
#define TEXT   "-> f32"
static const char *const cases[] = {"|", "count=3 first=-2 ratio=0.9 |", "count=0 |"};
static tn_status infer(tn_call *call) {
    return TN_LAYER_SET_SHAPE(call, 0, ((const params *)call->params)->count);
}
static double element(const tn_call *call, int64_t i) {
    const params *p = call->params;
    return p->first * pow(p->ratio, (double)i);
}
#elif MISTAKE == 51
static const tn_port inputs[] = {TN_PORT("like", "any", TN_PORT_SHAPE_ONLY, "any shape"),
                                 TN_PORT("x", "f32", 0, "a scalar")};
#define PORTS  TN_NO_FIELDS, TN_INPUTS(inputs)
#define TRAITS 0
#define TEXT   "*, f32 -> f32"
static const char *const cases[] = {"| like=i64[2,3] x=f32[]", "| like=f32[0,4] x=f32[]",
                                    "| like=u8[] x=f32[]"};
static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, 0, NULL)) return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    return tn_layer_load(call->inputs[1], 0) + (double)(i % (call->inputs[0]->rank + 1));
}
#elif MISTAKE == 53
static const tn_port inputs[] = {
    {"x", "f32|f64|i64|i32|u8", "of one shape", TN_PORT_VARIADIC | TN_PORT_HETEROGENEOUS, 0, 2, 0}};
#define PORTS  TN_NO_FIELDS, TN_INPUTS(inputs)
#define TRAITS 0
#define TEXT   NULL
static const char *const cases[] = {"| x=f32[2,3] x=u8[2,3]",
                                    "| x=i32[4] x=f64[4] x=f32[4] x=u8[4]"};
static tn_status infer(tn_call *call) {
    for (uint32_t i = 1; i < call->input_count; i++)
        if (!tn_layer_fits(call, i, call->inputs[0]->rank, call->inputs[0]->shape))
            return TN_ERROR_SHAPE;
    return infer_same(call);
}
static double element(const tn_call *call, int64_t i) {
    double largest = tn_layer_load(call->inputs[0], i);
    for (uint32_t k = 1; k < call->input_count; k++) {
        const double v = tn_layer_load(call->inputs[k], i);
        if (v > largest || isnan(v)) largest = v;
    }
    return largest;
}
#else
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any axes, an even extent")};
#define PORTS  TN_NO_FIELDS, TN_INPUTS(inputs)
#define TRAITS 0
#define TEXT   "f32 -> f32"
static const char *const cases[] = {"| x=f32[3,4]", "| x=f32[128]"};
static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    int64_t shape[TN_MAX_RANK];
    if (x->rank == 0 || x->shape[x->rank - 1] % 2 != 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "the last extent of x is not even");
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i] / (i + 1 == x->rank ? 2 : 1);
    return tn_layer_set_shape(call, 0, x->rank, shape);
}
static double element(const tn_call *call, int64_t i) {
    return tn_layer_load(call->inputs[0], 2 * i) - tn_layer_load(call->inputs[0], 2 * i + 1);
}
#endif
#if MISTAKE == 52
static const tn_port in[] = {TN_PORT("x", "any", 0, "any shape")};
static const tn_port out[] = {TN_PORT_VIEW_OF("y", "any", 0, "x as a vector")};
static tn_status flatten(tn_call *call) {
    call->outputs[0]->type = call->inputs[0]->type;
    return TN_LAYER_SET_SHAPE(call, 0, tn_layer_count(call->inputs[0]));
}
static const char *const views[] = {"| x=f32[2,3]", "| x=i64[]", "| x=bool[4,0]"};
static const tn_operator sources = {OPERATOR,       .name = "Sources", TN_NO_FIELDS,
                                    TN_INPUTS(in),  TN_OUTPUTS(out),   .infer = flatten,
                                    TN_CASES(views)};
static const tn_operator *const operators[] = {&sources};
static tn_library library = {.size = sizeof(tn_library),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .name = "sources",
                             .version = "1.0",
                             .operator_count = 1,
                             .operators = operators};
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    return &library;
}
#else
TN_LAYER_REFERENCE(element)
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "")};
static tn_status run(tn_call *call) {
    return reference(call);
}
static const tn_operator sources = {
    OPERATOR,       .name = "Sources",      .traits = TRAITS, PORTS, TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {TEXT};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Sources",
                                 .name = "plain",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 .combination_count = MISTAKE == 53 ? 0 : 1,
                                 .combinations = combinations,
                                 .run = run};
LIBRARY("sources", sources, kernel)
#endif
