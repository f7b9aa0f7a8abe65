/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the source of a fused kernel; see fused_source.h. */
#include "kit/cuda/fused/fused_source.h"
#include "kit/cuda/fused/fused_fixed.h"
#include "kit/cuda/fused/fused_text.h"
#include "kit/math/byte_table.h"
#include <tenon/kit/epilogue.h>

#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the chain */

static const char *const activations[] = {
    [TN_ACTIVATION_RELU] = "x < 0 ? 0 : x",
    [TN_ACTIVATION_LEAKY_RELU] = "x < 0 ? alpha * x : x",
    [TN_ACTIVATION_CLIP] = "(x < alpha ? alpha : x) > beta ? beta : x < alpha ? alpha : x",
    [TN_ACTIVATION_SIGMOID] = "1 / (1 + exp(-x))",
    [TN_ACTIVATION_TANH] = "tanh(x)",
    [TN_ACTIVATION_HARD_SIGMOID] =
        "alpha * x + beta < 0 ? 0 : alpha * x + beta > 1 ? 1 : alpha * x + beta",
    [TN_ACTIVATION_HARD_SWISH] = "x * (x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5)",
    [TN_ACTIVATION_GELU_ERF] = "0.5 * x * erfc(-0.7071067811865476 * x)",
    [TN_ACTIVATION_GELU_TANH] = "x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))",
    [TN_ACTIVATION_SWISH] = "x / (1 + exp(-alpha * x))",
    [TN_ACTIVATION_ELU] = "x < 0 ? alpha * expm1(x) : x"};
enum { ACTIVATION_COUNT = sizeof(activations) / sizeof(activations[0]) };

static bool add_known(tn_fused_text *source, uint32_t link, const tn_known_step *step,
                      const char *text, const tn_fused_value *operand) {
    tn_fused_value values[4] = {{""}, {""}, {""}, *operand};
    const tn_fused_names names = {.inputs = values, .input_count = 4};
    snprintf(values[0].text, sizeof(values[0].text), "r%u", link - 1);
    tn_fused_value_number((double)step->alpha, &values[1]);
    tn_fused_value_number((double)step->beta, &values[2]);
    return tn_fused_text_add_expression(source, link, text, &names);
}

/* An operator of its own: the value so far comes in at one of its ports, the operand at another. */
static bool add_declared(tn_fused_text *source, uint32_t link, const tn_known_step *step,
                         const tn_fused_value *operand) {
    tn_fused_value values[TN_CUDA_FUSED_INPUTS] = {{""}};
    const tn_operator *op = step->op;
    if (!op || op->input_count > TN_CUDA_FUSED_INPUTS || step->input >= op->input_count ||
        (step->operand != UINT32_MAX && step->operand_input >= op->input_count))
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "a step says not whose it is");
    snprintf(values[step->input].text, sizeof(values[0].text), "r%u", link - 1);
    if (step->operand != UINT32_MAX) values[step->operand_input] = *operand;
    const tn_fused_names names = {
        .op = op, .params = step->params, .inputs = values, .input_count = op->input_count};
    return tn_fused_text_add_expression(source, link, step->expression, &names);
}

static bool add_link(tn_fused_text *source, uint32_t link, const tn_known_step *step,
                     uint32_t first_operand) {
    tn_fused_value operand = {""};
    if (step->operand != UINT32_MAX)
        snprintf(operand.text, sizeof(operand.text), "a[%u][i]", first_operand + step->operand);
    switch (step->kind) {
    case TN_KNOWN_BIAS:
    case TN_KNOWN_RESIDUAL:
        return add_known(source, link, step, "x + b", &operand);
    case TN_KNOWN_SCALE:
        return add_known(source, link, step, "x * b", &operand);
    case TN_KNOWN_ACTIVATION:
        return add_known(source, link, step,
                         step->activation < ACTIVATION_COUNT ? activations[step->activation] : NULL,
                         &operand);
    case TN_KNOWN_ROW:
    case TN_KNOWN_EXPRESSION:
        return add_declared(source, link, step, &operand);
    default:
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "a step of kind %u", step->kind);
    }
}

static bool add_value(tn_fused_text *source, const tn_call *call) {
    tn_fused_value values[TN_CUDA_FUSED_INPUTS] = {{""}};
    const tn_fused_names names = {.op = call->op,
                                  .params = call->params,
                                  .inputs = values,
                                  .input_count = call->op->input_count};
    uint32_t first_operand = 0;
    if (call->input_count > call->op->input_count || call->op->input_count > TN_CUDA_FUSED_INPUTS)
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "it has too many inputs");
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i])
            snprintf(values[i].text, sizeof(values[i].text), "a[%u][i]", first_operand++);
    tn_fused_text_append(
        source, "template <int N> HERE float value(const float (&a)[COUNT][N], int i) {\n");
    if (!tn_fused_text_add_expression(source, 0, call->op->expression, &names)) return false;
    tn_known_steps steps;
    if (!tn_known_steps_read(call, &steps))
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "a step that is not known");
    for (uint32_t i = 0; i < steps.count; i++)
        if (!add_link(source, i + 1, &steps.items[i], first_operand)) return false;
    return tn_fused_text_add(source, "    return r%u;\n}\n", call->step_count);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

bool tn_cuda_fused_tensors(const tn_call *call, const tn_tensor **out_tensors,
                           uint32_t *out_count) {
    return tn_epilogue_tensors(call, TN_CUDA_FUSED_INPUTS, out_tensors, out_count) &&
           *out_count > 0;
}

static const char *type_of(const tn_tensor *tensor, uint32_t *out_bytes) {
    switch (tensor->type) {
    case TN_F32:
        *out_bytes = 4;
        return "float";
    case TN_F16:
        *out_bytes = 2;
        return "half";
    case TN_BF16:
        *out_bytes = 2;
        return "bfloat";
    case TN_I8:
        *out_bytes = 1;
        return tn_byte_scale(tensor) != 0 ? "byte" : NULL;
    case TN_BOOL:
        *out_bytes = 1;
        return "truth";
    default:
        return NULL;
    }
}

/* 16 bytes of the output, or of the first tensor where its elements are larger. */
uint32_t tn_cuda_fused_each(const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0, bytes = 0, first = 0;
    if (!tn_cuda_fused_tensors(call, tensors, &count) || !type_of(call->outputs[0], &bytes) ||
        !type_of(tensors[0], &first))
        return 0;
    return 16 / (first > bytes ? first : bytes);
}

static bool add_loads(tn_fused_text *source, uint32_t count) {
    tn_fused_text_append(source,
                         "HERE void load_one(const job &j, const u32 (&places)[COUNT], float "
                         "(&a)[COUNT][1]) {\n");
    for (uint32_t i = 0; i < count; i++)
        tn_fused_text_add(
            source,
            "    a[%u][0] = load(((const type_%u *)j.from[%u])[places[%u]], j.scales[%u]);\n", i, i,
            i, i, i);
    tn_fused_text_append(source,
                         "}\nHERE void load_rows(const job &j, const u32 (&places)[COUNT], float "
                         "(&a)[COUNT][EACH]) {\n");
    for (uint32_t i = 0; i < count; i++)
        tn_fused_text_add(
            source,
            "    load_row((const type_%u *)j.from[%u] + places[%u], j.strides[%u][j.rank - 1], "
            "j.scales[%u], a[%u]);\n",
            i, i, i, i, i, i);
    return tn_fused_text_append(source, "}\n");
}

static bool add_all(tn_fused_text *source, const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0, bytes = 0;
    if (!tn_cuda_fused_tensors(call, tensors, &count) || tn_cuda_fused_each(call) == 0)
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED,
                                  "its types or the number of its tensors");
    tn_fused_text_add(source, "#define COUNT %u\n#define EACH %u\n", count,
                      tn_cuda_fused_each(call));
    tn_fused_text_append(source, beginning);
    for (uint32_t i = 0; i < count; i++) {
        const char *type = type_of(tensors[i], &bytes);
        if (!type) return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "an input's type");
        tn_fused_text_add(source, "typedef %s type_%u;\n", type, i);
    }
    tn_fused_text_add(source, "typedef %s result;\n", type_of(call->outputs[0], &bytes));
    return add_loads(source, count) && add_value(source, call) &&
           tn_fused_text_append(source, ending);
}

char *tn_cuda_fused_source(const tn_call *call, tn_status *out_status, char *out_why,
                           size_t why_bytes) {
    tn_fused_text source = {.host = call->host, .why = out_why, .why_bytes = why_bytes};
    if (add_all(&source, call) && source.status == TN_OK) return source.data;
    *out_status = source.status;
    call->host->deallocate(call->host, source.data);
    return NULL;
}
