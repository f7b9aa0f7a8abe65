/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the source of a fused kernel; see fused_source.h. Numbers, functions, and the kernels
 * around them are headers that nvcc compiles as well (tn_cuda_fused_headers); what is printed is
 * the types, and the chain as a function object. */
#include "kit/cuda/fused/fused_source.h"
#include "kit/cuda/fused/fused_text.h"
#include "kit/elementwise/row_program.h"
#include "kit/math/byte_table.h"
#include <tenon/kit/epilogue.h>

#include <stdio.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the chain */

typedef struct value_text {
    char text[40];
} value_text;

/* Numbers by their bits: exact, also where they are not finite. */
static value_text print_number(float number) {
    value_text printed;
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    snprintf(printed.text, sizeof(printed.text), "__uint_as_float(0x%08xu)", bits);
    return printed;
}

static value_text print_value(const tn_row_program *program, uint32_t value) {
    value_text printed;
    if (value >= TN_ROW_PROGRAM_FIRST_RESULT)
        snprintf(printed.text, sizeof(printed.text), "r%u", value - TN_ROW_PROGRAM_FIRST_RESULT);
    else if (value >= TN_ROW_PROGRAM_FIRST_NUMBER)
        return print_number(program->numbers[value - TN_ROW_PROGRAM_FIRST_NUMBER]);
    else
        snprintf(printed.text, sizeof(printed.text), "v[%u][i]", value);
    return printed;
}

static bool add_step(tn_fused_text *source, const tn_row_program *program,
                     const tn_row_step *step) {
    value_text operands[TN_ROW_STEP_OPERANDS];
    for (uint32_t i = 0; i < TN_ROW_STEP_OPERANDS; i++)
        operands[i] = print_value(program, step->operands[i]);
    tn_fused_text_add(source,
                      "            const float %s = ", print_value(program, step->result).text);
    switch (step->kind) {
    case TN_ROW_STEP_MAP:
        return tn_fused_text_add(source, "tn_map_value<%u>(%s, %s, %s);\n", step->function,
                                 print_number(step->alpha).text, print_number(step->beta).text,
                                 operands[0].text);
    case TN_ROW_STEP_COMBINE:
        return tn_fused_text_add(source, "tn_combine_value<%u>(%s, %s);\n", step->function,
                                 operands[0].text, operands[1].text);
    case TN_ROW_STEP_CHOOSE:
        return tn_fused_text_add(source, "%s != 0 ? %s : %s;\n", operands[0].text, operands[1].text,
                                 operands[2].text);
    default:
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED,
                                  "a step has a row function and no expression");
    }
}

/* The function object of elements.cuh. */
static bool add_chain(tn_fused_text *source, const tn_call *call) {
    tn_row_program program;
    char why[300] = "";
    if (!tn_row_program_read(call, TN_ROW_START_EXPRESSION, 0, &program, why, sizeof(why)))
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "%s", why);
    tn_fused_text_append(source,
                         "struct chain {\n"
                         "    template <int N>\n"
                         "    __device__ __forceinline__ void operator()(float (&v)[COUNT][N],"
                         " float (&y)[N]) const {\n"
                         "#pragma unroll\n"
                         "        for (int i = 0; i < N; i++) {\n");
    for (uint32_t i = 0; i < program.step_count; i++)
        if (!add_step(source, &program, &program.steps[i])) return false;
    return tn_fused_text_add(source, "            y[i] = r%u;\n        }\n    }\n};\n",
                             program.step_count - 1);
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
        return "__half";
    case TN_BF16:
        *out_bytes = 2;
        return "__nv_bfloat16";
    case TN_I8:
        *out_bytes = 1;
        return tn_byte_scale(tensor) != 0 ? "int8_t" : NULL;
    case TN_BOOL:
        *out_bytes = 1;
        return "tn_bool_number";
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

#define KERNEL_BEGIN                                                                               \
    "extern \"C\" __global__ void __launch_bounds__(TN_CUDA_ELEMENTS_THREADS)\n"                   \
    "%s(const __grid_constant__ tn_cuda_elements_job job) {\n"
static const char kernels[] =
    KERNEL_BEGIN "    tn_elements_narrow<%s, inputs>(job, chain());\n}\n" KERNEL_BEGIN
                 "    tn_elements_wide<%u, %s, inputs>(job, chain());\n}\n";

static bool add_all(tn_fused_text *source, const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0, bytes = 0;
    if (!tn_cuda_fused_tensors(call, tensors, &count) || tn_cuda_fused_each(call) == 0)
        return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED,
                                  "its types or the number of its tensors");
    tn_fused_text_append(source, tn_cuda_fused_headers);
    tn_fused_text_add(source, "#define COUNT %u\n", count);
    tn_fused_text_append(source, "typedef tn_elements_inputs<");
    for (uint32_t i = 0; i < count; i++) {
        const char *type = type_of(tensors[i], &bytes);
        if (!type) return tn_fused_text_fail(source, TN_ERROR_UNSUPPORTED, "an input's type");
        tn_fused_text_add(source, "%s%s", i > 0 ? ", " : "", type);
    }
    tn_fused_text_append(source, "> inputs;\n");
    return add_chain(source, call) &&
           tn_fused_text_add(source, kernels, TN_CUDA_FUSED_NARROW,
                             type_of(call->outputs[0], &bytes), TN_CUDA_FUSED_WIDE,
                             tn_cuda_fused_each(call), type_of(call->outputs[0], &bytes));
}

char *tn_cuda_fused_source(const tn_call *call, tn_status *out_status, char *out_why,
                           size_t why_bytes) {
    tn_fused_text source = {.host = call->host, .why = out_why, .why_bytes = why_bytes};
    if (add_all(&source, call) && source.status == TN_OK) return source.data;
    *out_status = source.status;
    call->host->deallocate(call->host, source.data);
    return NULL;
}
