/* SPDX-License-Identifier: Apache-2.0 */
/* The operators of integer.h: shapes, references, tables. */
#include "mat_mul/integer.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>
#include <tenon/kit/open.h>
#include "kit/operator/layer.h"

#include <math.h>

const tn_integer_inputs tn_mat_mul_integer_inputs = {
    1, 2, 3, TN_NO_INPUT, TN_NO_INPUT, TN_NO_INPUT, TN_NO_INPUT, TN_NO_INPUT};
const tn_integer_inputs tn_q_linear_mat_mul_inputs = {3, 2, 5, 1, 4, 6, 7, TN_NO_INPUT};
const tn_integer_inputs tn_mat_mul_to_float_inputs = {1, 4, 5, 2, 3, TN_NO_INPUT, TN_NO_INPUT, 6};

/* ----------------------------------------------------------------------------------------------
 * scales and zero points */

int64_t tn_integer_offset(const tn_tensor *tensor, int64_t matrix, int64_t count, int64_t index) {
    if (tn_element_count(tensor) == 1) return 0;
    return tensor->rank == 1 ? index : matrix * count + index;
}

int32_t tn_integer_zero(const tn_call *call, uint32_t input, int64_t matrix, int64_t count,
                        int64_t index) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    return tensor ? (int32_t)tn_element_i64(tensor, tn_integer_offset(tensor, matrix, count, index))
                  : 0;
}

float tn_integer_scale(const tn_call *call, uint32_t input, int64_t matrix, int64_t count,
                       int64_t index) {
    const tn_tensor *tensor = call->inputs[input];
    return (float)tn_element_f64(tensor, tn_integer_offset(tensor, matrix, count, index));
}

/* One number, a vector of as many as `axis` of the shape has, or the shape with 1 for `other`. */
static tn_status check_parameter(tn_call *call, uint32_t input, uint32_t rank, const int64_t *shape,
                                 uint32_t axis, uint32_t other) {
    const tn_tensor *tensor = tn_infer_input(call, input);
    char text[TN_INFER_SHAPE_TEXT_BYTES], whole[TN_INFER_SHAPE_TEXT_BYTES];
    if (!tensor || tn_element_count(tensor) == 1) return TN_OK;
    bool fits = rank >= 2 && tensor->rank == 1 && tn_open_fits(tensor->shape[0], shape[axis]);
    if (rank >= 2 && tensor->rank == rank) {
        fits = true;
        for (uint32_t i = 0; fits && i < rank; i++)
            fits = tn_open_fits(tensor->shape[i], i == other ? 1 : shape[i]);
    }
    if (fits) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE,
                            "input '%s' has the shape %s, which fits no matrices of %s: expected "
                            "one number, or one for each index of axis %u",
                            tn_infer_input_name(call, input),
                            tn_infer_shape_text(tensor->rank, tensor->shape, text, sizeof(text)),
                            tn_infer_shape_text(rank, shape, whole, sizeof(whole)), axis);
}

static tn_status check_rows(tn_call *call, uint32_t input, uint32_t rank, const int64_t *shape) {
    return check_parameter(call, input, rank, shape, rank - 2, rank - 1);
}

static tn_status check_bias(tn_call *call, uint32_t b_rank, const int64_t *b_shape) {
    const tn_tensor *bias = tn_infer_input(call, tn_integer_inputs_of(call)->bias);
    const int64_t columns = b_rank >= 2 ? b_shape[b_rank - 1] : 1;
    if (!bias || (bias->rank == 1 && tn_open_fits(bias->shape[0], columns))) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "input '%s' must be a vector of %lld elements",
                            tn_infer_input_name(call, tn_integer_inputs_of(call)->bias),
                            (long long)columns);
}

/* ----------------------------------------------------------------------------------------------
 * shapes */

static uint32_t output_shape(const tn_mat_mul_sizes *sizes, int64_t *out_shape) {
    uint32_t rank = sizes->batch_rank;
    for (uint32_t i = 0; i < rank; i++)
        out_shape[i] = sizes->batch[i];
    if (!sizes->a_is_vector) out_shape[rank++] = sizes->rows;
    if (!sizes->b_is_vector) out_shape[rank++] = sizes->columns;
    return rank;
}

tn_status tn_integer_mat_mul_read(tn_call *call, tn_mat_mul_sizes *out_sizes) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_infer_require_rank(call, 0, 1, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, inputs->b, 1, TN_MAX_RANK));
    const tn_tensor *a = call->inputs[0], *b = call->inputs[inputs->b];
    const tn_tensor *const both[2] = {a, b};
    tn_call probe = *call;
    probe.inputs = both;
    probe.input_count = 2;
    TN_TRY(tn_mat_mul_read(&probe, out_sizes));
    TN_TRY(check_rows(call, inputs->a_zero, a->rank, a->shape));
    TN_TRY(check_rows(call, inputs->a_scale, a->rank, a->shape));
    TN_TRY(check_parameter(call, inputs->b_zero, b->rank, b->shape, b->rank - 1, b->rank - 2));
    TN_TRY(check_parameter(call, inputs->b_scale, b->rank, b->shape, b->rank - 1, b->rank - 2));
    TN_TRY(check_bias(call, b->rank, b->shape));
    const bool is_matrix = !out_sizes->a_is_vector && !out_sizes->b_is_vector;
    const uint32_t rank = output_shape(out_sizes, shape);
    TN_TRY(check_rows(call, inputs->y_scale, is_matrix ? rank : 0, shape));
    return check_rows(call, inputs->y_zero, is_matrix ? rank : 0, shape);
}

static tn_status integer_infer(tn_call *call) {
    tn_mat_mul_sizes sizes = {0};
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_integer_mat_mul_read(call, &sizes));
    return tn_infer_set_shape(call, 0, output_shape(&sizes, shape), shape);
}

/* ----------------------------------------------------------------------------------------------
 * references */

/* Which matrix of A, of B, and of the output. */
typedef struct product_at {
    int64_t a, b, y;
} product_at;

static int64_t sum_element(const tn_call *call, const tn_mat_mul_sizes *sizes, product_at at,
                           int64_t row, int64_t column) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    const tn_tensor *a = call->inputs[0], *b = call->inputs[inputs->b];
    const int32_t a_zero = tn_integer_zero(call, inputs->a_zero, at.a, sizes->rows, row);
    const int32_t b_zero = tn_integer_zero(call, inputs->b_zero, at.b, sizes->columns, column);
    const int64_t first = (at.a * sizes->rows + row) * sizes->depth;
    int64_t sum = 0;
    for (int64_t k = 0; k < sizes->depth; k++)
        sum += (tn_element_i64(a, first + k) - a_zero) *
               (tn_element_i64(b, (at.b * sizes->depth + k) * sizes->columns + column) - b_zero);
    return sum;
}

static void store_element(const tn_call *call, const tn_mat_mul_sizes *sizes, product_at at,
                          int64_t row, int64_t column) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    const int64_t to = (at.y * sizes->rows + row) * sizes->columns + column;
    const int64_t sum = sum_element(call, sizes, at, row, column);
    if (inputs->a_scale == TN_NO_INPUT) {
        tn_element_set_i64(call->outputs[0], to, sum);
        return;
    }
    const float a_scale = tn_integer_scale(call, inputs->a_scale, at.a, sizes->rows, row);
    const float b_scale = tn_integer_scale(call, inputs->b_scale, at.b, sizes->columns, column);
    if (inputs->y_scale == TN_NO_INPUT) {
        const tn_tensor *bias = tn_infer_input(call, inputs->bias);
        tn_element_set_f64(call->outputs[0], to,
                           (double)(int32_t)sum * (double)(a_scale * b_scale) +
                               (bias ? tn_element_f64(bias, column) : 0));
        return;
    }
    const float value =
        (float)(int32_t)sum *
        tn_integer_factor(a_scale, b_scale,
                          tn_integer_scale(call, inputs->y_scale, at.y, sizes->rows, row));
    const double whole = isnan(value) ? 0 : nearbyint((double)value);
    tn_element_set_f64(call->outputs[0], to,
                       whole + tn_integer_zero(call, inputs->y_zero, at.y, sizes->rows, row));
}

static tn_status integer_reference(tn_call *call) {
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    tn_mat_mul_sizes sizes = {0};
    tn_broadcast_rows rows;
    TN_TRY(tn_integer_mat_mul_read(call, &sizes));
    tn_broadcast_init(&rows, sizes.batch_rank, sizes.batch);
    tn_broadcast_add(&rows, sizes.a_batch_rank, call->inputs[0]->shape);
    tn_broadcast_add(&rows, sizes.b_batch_rank, call->inputs[inputs->b]->shape);
    if (tn_element_count(call->outputs[0]) == 0) return TN_OK;
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows)) {
        for (int64_t i = 0; i < rows.count; i++) {
            const product_at at = {rows.offset[0] + i * rows.stride[0],
                                   rows.offset[1] + i * rows.stride[1], rows.output_offset + i};
            for (int64_t r = 0; r < sizes.rows; r++)
                for (int64_t c = 0; c < sizes.columns; c++)
                    store_element(call, &sizes, at, r, c);
        }
    }
    return TN_OK;
}

/* Each output takes as many multiplications and additions as A has columns. */
static tn_status integer_operations(tn_call *call, double *out_operations) {
    const tn_tensor *a = call->inputs[0], *y = call->outputs[0];
    double operations = 2.0 * (double)a->shape[a->rank - 1];
    for (uint32_t axis = 0; axis < y->rank; axis++)
        operations *= (double)y->shape[axis];
    *out_operations = operations;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tables */

#define A_WORDS   "batch axes, rows, depth; or a vector"
#define B_WORDS   "batch axes, depth, columns; or a vector"
#define ROW_WORDS "one number, or one for each row"
static const tn_port mat_mul_integer_ports[] = {
    TN_PORT("A", "T1:u8|i8", 0, A_WORDS),
    TN_PORT("B", "T2:u8|i8", 0, B_WORDS),
    TN_PORT("a_zero_point", "T1", TN_PORT_OPTIONAL, ROW_WORDS "; absent: 0"),
    TN_PORT("b_zero_point", "T2", TN_PORT_OPTIONAL,
            "one number, or one for each column; absent: 0"),
};
static const tn_port mat_mul_integer_outputs[] = {
    TN_PORT("Y", "i32", 0, "the sums; beyond 32 bits they wrap")};
static const char *const mat_mul_integer_cases[] = {
    ("| A=u8[4,3]{11,7,3,10,6,2,9,5,1,8,4,0} B=u8[3,2]{1,4,2,5,3,6} a_zero_point=u8[1]{12} "
     "b_zero_point=u8[1]{0} | Y=i32[4,2]{-38,-83,-44,-98,-50,-113,-56,-128}"),
    "| A=u8[1] B=i8[1]",
    "| A=i8[3,5] B=i8[5,4]",
    "| A=u8[3,4] B=i8[4,2]{64,-64,64,-64,1,2,-3,100}",
    "| A=u8[37,130] B=u8[130,67] a_zero_point=u8[]{131} b_zero_point=u8[]{7}",
    "| A=u8[5,9] B=i8[9,3] a_zero_point=u8[5] b_zero_point=i8[3]",
    "| A=i8[2,1,3,8] B=u8[4,8,5] a_zero_point=i8[2,1,3,1] b_zero_point=u8[4,1,5]",
    "| A=i8[7] B=u8[2,7,3] b_zero_point=u8[]{200}",
    "| A=u8[2,3,7] B=i8[7] a_zero_point=u8[3]",
    "| A=u8[0,3] B=u8[3,2]",
    "| A=u8[2,0] B=u8[0,3]",
    "| A=u8[64,384] B=i8[384,384] a_zero_point=u8[]{128}",
};
#define Q_LINEAR_INPUTS(scale, same_scale)                                                         \
    {                                                                                              \
        TN_PORT("a", "T1:i8|u8", 0, A_WORDS), TN_PORT("a_scale", scale, 0, ROW_WORDS),             \
            TN_PORT("a_zero_point", "T1", 0, ROW_WORDS), TN_PORT("b", "T2:i8|u8", 0, B_WORDS),     \
            TN_PORT("b_scale", same_scale, 0, "one number, or one for each column"),               \
            TN_PORT("b_zero_point", "T2", 0, "one number, or one for each column"),                \
            TN_PORT("y_scale", same_scale, 0, ROW_WORDS),                                          \
            TN_PORT("y_zero_point", "T3:i8|u8", 0, ROW_WORDS),                                     \
    }
static const tn_port q_linear_10_ports[] = Q_LINEAR_INPUTS("f32", "f32");
static const tn_port q_linear_21_ports[] = Q_LINEAR_INPUTS("TS:f32|f16|bf16", "TS");
static const tn_port q_linear_outputs[] = {TN_PORT("y", "T3", 0, "batch axes, rows, columns")};
#define SCALES(type)                                                                               \
    "a_scale=" type "[]{0.02} a_zero_point=u8[]{3} b=i8[130,67] b_scale=" type                     \
    "[]{0.01} b_zero_point=i8[]{-5} y_scale=" type "[]{0.9} y_zero_point=u8[]{128}"
#define Q_LINEAR_10                                                                                \
    ("| a=u8[2,4]{208,236,0,238,3,214,255,29} a_scale=f32[1]{0.0066} a_zero_point=u8[1]{113} "     \
     "b=u8[4,3]{152,51,244,60,26,255,0,127,246,127,254,247} b_scale=f32[1]{0.00705} "              \
     "b_zero_point=u8[1]{114} y_scale=f32[1]{0.0107} y_zero_point=u8[1]{118} "                     \
     "| y=u8[2,3]{168,115,255,1,66,151}"),                                                         \
        "| a=u8[37,130] " SCALES("f32"),                                                           \
        ("| a=i8[3,8] a_scale=f32[3]{0.1,0.2,0.03} a_zero_point=i8[3]{1,-2,3} b=u8[8,5] "          \
         "b_scale=f32[5]{0.1,0.02,0.03,0.4,0.5} b_zero_point=u8[5]{1,128,255,0,7} "                \
         "y_scale=f32[3]{1,2,3} y_zero_point=i8[3]{-1,2,0}"),                                      \
        ("| a=i8[2,3,8] a_scale=f32[2,3,1] a_zero_point=i8[2,3,1] b=i8[8,5] b_scale=f32[]{0.5} "   \
         "b_zero_point=i8[]{0} y_scale=f32[2,3,1]{1,2,3,4,5,6} y_zero_point=u8[2,3,1]"),           \
        ("| a=u8[19,70] a_scale=f32[]{0.02} a_zero_point=u8[]{128} b=i8[70,37] b_scale=f32[37] "   \
         "b_zero_point=i8[]{0} y_scale=f32[]{3} y_zero_point=u8[]{7}"),                            \
        ("| a=i8[2,9,33] a_scale=f32[]{0.02} a_zero_point=i8[]{-5} b=i8[33,6] b_scale=f32[]{0.5} " \
         "b_zero_point=i8[]{0} y_scale=f32[]{3} y_zero_point=i8[]{-3}"),                           \
        ("| a=u8[1] a_scale=f32[]{1} a_zero_point=u8[]{0} b=u8[1] b_scale=f32[]{1} "               \
         "b_zero_point=u8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{0}"),                            \
        ("| a=u8[2,1]{1,3} a_scale=f32[]{1} a_zero_point=u8[]{0} b=u8[1,1]{1} b_scale=f32[]{1} "   \
         "b_zero_point=u8[]{0} y_scale=f32[]{2} y_zero_point=u8[]{1} | y=u8[2,1]{1,3}"),           \
        ("| a=u8[2,0] a_scale=f32[]{1} a_zero_point=u8[]{4} b=u8[0,3] b_scale=f32[]{1} "           \
         "b_zero_point=u8[]{0} y_scale=f32[]{2} y_zero_point=i8[]{1} | y=i8[2,3]{1,1,1,1,1,1}")
static const char *const q_linear_mat_mul_10_cases[] = {Q_LINEAR_10};
static const char *const q_linear_mat_mul_21_cases[] = {Q_LINEAR_10, "| a=u8[2,130] " SCALES("f16"),
                                                        "| a=u8[3,130] " SCALES("bf16")};

static const tn_port to_float_ports[] = {
    TN_PORT("A", "T1:u8|i8", 0, A_WORDS),
    TN_PORT("B", "T2:u8|i8", 0, B_WORDS),
    TN_PORT("a_scale", "f32", 0, ROW_WORDS),
    TN_PORT("b_scale", "f32", 0, "one number, or one for each column"),
    TN_PORT("a_zero_point", "T1", TN_PORT_OPTIONAL, ROW_WORDS "; absent: 0"),
    TN_PORT("b_zero_point", "T2", TN_PORT_OPTIONAL,
            "one number, or one for each column; absent: 0"),
    TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "what is added, one number for each column"),
};
static const tn_port to_float_outputs[] = {TN_PORT("Y", "f32", 0, "batch axes, rows, columns")};
static const char *const mat_mul_to_float_cases[] = {
    ("| A=u8[2,2]{1,2,3,4} B=i8[2,2]{1,0,0,-1} a_scale=f32[]{0.5} b_scale=f32[2]{1,2} "
     "a_zero_point=u8[]{2} bias=f32[2]{10,20} | Y=f32[2,2]{9.5,20,10.5,18}"),
    "| A=u8[3,5] B=i8[5,4] a_scale=f32[1]{0.5} b_scale=f32[]{0.25}",
    ("| A=u8[37,130] B=u8[130,67] a_scale=f32[]{0.01} b_scale=f32[67] a_zero_point=u8[]{131} "
     "b_zero_point=u8[67] bias=f32[67]"),
    "| A=i8[2,1,3,8] B=u8[4,8,5] a_scale=f32[]{0.1} b_scale=f32[5] b_zero_point=u8[]{128}",
    "| A=u8[1,384] B=i8[384,96] a_scale=f32[]{0.1} b_scale=f32[96] a_zero_point=u8[]{7} "
    "bias=f32[96]",
    "| A=i8[7] B=u8[2,7,3] a_scale=f32[]{0.1} b_scale=f32[]{0.2} b_zero_point=u8[]{200}",
    "| A=u8[0,3] B=u8[3,2] a_scale=f32[]{1} b_scale=f32[]{1}",
    "| A=u8[2,0] B=u8[0,3] a_scale=f32[]{1} b_scale=f32[]{1} bias=f32[3]",
};

#define INTEGER(prefix, of_name, version, words, ports_in, ports_out, roles, of_cases)             \
    INTEGER_IN("", prefix, of_name, version, words, ports_in, ports_out, roles, of_cases)
#define INTEGER_IN(of_domain, prefix, of_name, version, words, ports_in, ports_out, roles,         \
                   of_cases)                                                                       \
    const tn_operator tn_##prefix##_##version = {                                                  \
        TN_OPERATOR_BEGIN(of_domain, of_name, version, words),                                     \
        TN_NO_FIELDS,                                                                              \
        TN_INPUTS(ports_in),                                                                       \
        TN_OUTPUTS(ports_out),                                                                     \
        .infer = integer_infer,                                                                    \
        .reference = integer_reference,                                                            \
        .user = (void *)(uintptr_t) & (roles),                                                     \
        TN_CASES(of_cases),                                                                        \
        .operations = integer_operations}
INTEGER(mat_mul_integer, "MatMulInteger", 10,
        "Matrix product of 8-bit integers less their zero points.", mat_mul_integer_ports,
        mat_mul_integer_outputs, tn_mat_mul_integer_inputs, mat_mul_integer_cases);
INTEGER(q_linear_mat_mul, "QLinearMatMul", 10,
        "Matrix product of 8-bit integers that stand for floating-point values.", q_linear_10_ports,
        q_linear_outputs, tn_q_linear_mat_mul_inputs, q_linear_mat_mul_10_cases);
INTEGER(q_linear_mat_mul, "QLinearMatMul", 21,
        "Matrix product of 8-bit integers that stand for floating-point values.", q_linear_21_ports,
        q_linear_outputs, tn_q_linear_mat_mul_inputs, q_linear_mat_mul_21_cases);
INTEGER_IN("com.microsoft", mat_mul_to_float, "MatMulIntegerToFloat", 1,
           "Matrix product of 8-bit integers that stand for floating-point values, as floats.",
           to_float_ports, to_float_outputs, tn_mat_mul_to_float_inputs, mat_mul_to_float_cases);
