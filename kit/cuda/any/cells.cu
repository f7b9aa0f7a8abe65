/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter of cells_job.h: an element of the output a thread. Functions are those of
 * kit/elementwise/cells_body.h. */
#include "kit/cuda/any/cells_job.h"
#include "kit/cuda/any/each.cuh"
#include "kit/elementwise/cells.h"

namespace {

union value {
    double real;
    int64_t whole;
};

__device__ double map_real(uint32_t function, double x) {
    switch (function) {
    case TN_MAP_NEG:
        return -x;
    case TN_MAP_ABS:
        return fabs(x);
    case TN_MAP_SIGN:
        return x > 0 ? 1 : x < 0 ? -1 : x;
    case TN_MAP_NOT:
        return x == 0;
    case TN_MAP_FLOOR:
        return floor(x);
    case TN_MAP_CEIL:
        return ceil(x);
    case TN_MAP_ROUND:
        return rint(x);
    case TN_MAP_EXP:
        return exp(x);
    case TN_MAP_EXPM1:
        return expm1(x);
    case TN_MAP_LOG:
        return log(x);
    case TN_MAP_LOG1P:
        return log1p(x);
    case TN_MAP_SQRT:
        return sqrt(x);
    case TN_MAP_RECIPROCAL:
        return 1 / x;
    case TN_MAP_ERF:
        return erf(x);
    case TN_MAP_ERFC:
        return erfc(x);
    case TN_MAP_SIN:
        return sin(x);
    case TN_MAP_COS:
        return cos(x);
    case TN_MAP_TAN:
        return tan(x);
    case TN_MAP_ASIN:
        return asin(x);
    case TN_MAP_ACOS:
        return acos(x);
    case TN_MAP_ATAN:
        return atan(x);
    case TN_MAP_SINH:
        return sinh(x);
    case TN_MAP_COSH:
        return cosh(x);
    case TN_MAP_ASINH:
        return asinh(x);
    case TN_MAP_ACOSH:
        return acosh(x);
    case TN_MAP_ATANH:
        return atanh(x);
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_SIGMOID:
        return 1 / (1 + exp(-x));
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    default: /* TN_MAP_SOFTPLUS */
        return fmax(x, 0.0) + log1p(exp(-fabs(x)));
    }
}

__device__ double combine_real(uint32_t function, double a, double b) {
    switch (function) {
    case TN_COMBINE_ADD:
        return a + b;
    case TN_COMBINE_SUB:
        return a - b;
    case TN_COMBINE_MUL:
        return a * b;
    case TN_COMBINE_DIV:
        return a / b;
    case TN_COMBINE_POW:
        return pow(a, b);
    case TN_COMBINE_MAX:
        return isnan(a) || isnan(b) ? a + b : a > b ? a : b;
    case TN_COMBINE_MIN:
        return isnan(a) || isnan(b) ? a + b : a < b ? a : b;
    case TN_COMBINE_PRELU:
        return a < 0 ? a * b : a;
    case TN_COMBINE_LESS:
        return a < b;
    case TN_COMBINE_LESS_EQUAL:
        return a <= b;
    case TN_COMBINE_EQUAL:
        return a == b;
    case TN_COMBINE_NOT_EQUAL:
        return a != b;
    case TN_COMBINE_AND:
        return a != 0 && b != 0;
    case TN_COMBINE_OR:
        return a != 0 || b != 0;
    case TN_COMBINE_FMAX:
        return fmax(a, b);
    case TN_COMBINE_FMIN:
        return fmin(a, b);
    case TN_COMBINE_FMOD:
        return fmod(a, b);
    default: { /* TN_COMBINE_MOD */
        const double rest = fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    }
}

__device__ uint64_t power(uint64_t x, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, x *= x)
        if (exponent & 1) result *= x;
    return result;
}

__device__ int64_t map_whole(uint32_t function, bool is_signed, int64_t x) {
    switch (function) {
    case TN_MAP_NEG:
        return (int64_t)(0 - (uint64_t)x);
    case TN_MAP_ABS:
        return is_signed && x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
    case TN_MAP_SIGN:
        return is_signed ? (x > 0) - (x < 0) : x != 0;
    case TN_MAP_NOT:
        return x == 0;
    case TN_CELL_MAP_BIT_NOT:
        return ~x;
    default: /* TN_MAP_FLOOR, CEIL, ROUND */
        return x;
    }
}

__device__ int64_t divide_signed(uint32_t function, int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (function == TN_COMBINE_DIV) return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    const int64_t rest = b == -1 ? 0 : a % b;
    return function == TN_COMBINE_MOD && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
__device__ int64_t divide_natural(uint32_t function, uint64_t a, uint64_t b) {
    if (b == 0) return 0;
    return (int64_t)(function == TN_COMBINE_DIV ? a / b : a % b);
}

__device__ int64_t combine_whole(uint32_t function, bool is_signed, int64_t a, int64_t b) {
    const uint64_t u = (uint64_t)a, v = (uint64_t)b;
    const bool is_less = is_signed ? a < b : u < v;
    switch (function) {
    case TN_COMBINE_ADD:
        return (int64_t)(u + v);
    case TN_COMBINE_SUB:
        return (int64_t)(u - v);
    case TN_COMBINE_MUL:
        return (int64_t)(u * v);
    case TN_COMBINE_DIV:
    case TN_COMBINE_FMOD:
    case TN_COMBINE_MOD:
        return is_signed ? divide_signed(function, a, b) : divide_natural(function, u, v);
    case TN_COMBINE_POW:
        if (is_signed && b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
        return (int64_t)power(u, v);
    case TN_COMBINE_MAX:
    case TN_COMBINE_FMAX:
        return is_less ? b : a;
    case TN_COMBINE_MIN:
    case TN_COMBINE_FMIN:
        return is_less ? a : b;
    case TN_COMBINE_LESS:
        return is_less;
    case TN_COMBINE_LESS_EQUAL:
        return is_less || a == b;
    case TN_COMBINE_EQUAL:
        return a == b;
    case TN_COMBINE_NOT_EQUAL:
        return a != b;
    case TN_COMBINE_AND:
        return a && b;
    case TN_COMBINE_OR:
        return a || b;
    case TN_CELL_BIT_AND:
        return a & b;
    case TN_CELL_BIT_OR:
        return a | b;
    case TN_CELL_BIT_XOR:
        return a ^ b;
    case TN_CELL_SHIFT_LEFT:
        return v >= 64 ? 0 : (int64_t)(u << v);
    default: /* TN_CELL_SHIFT_RIGHT: the sign moves in */
        if (is_signed) return a >> (v >= 64 ? 63 : v);
        return v >= 64 ? 0 : (int64_t)(u >> v);
    }
}

struct cells {
    tn_cuda_cells_job job;

    __device__ __forceinline__ void run_step(const tn_cuda_cells_step &step, value *v) const {
        const value a = v[step.operands[0]], b = v[step.operands[1]], c = v[step.operands[2]];
        const bool is_signed = job.cell == TN_CUDA_CELL_I64, is_real = job.cell == TN_CUDA_CELL_F64;
        value y;
        if (step.kind == TN_CUDA_CELLS_CHOOSE)
            y = (is_real ? a.real != 0 : a.whole != 0) ? b : c;
        else if (step.kind == TN_CUDA_CELLS_MAP && is_real)
            y.real = map_real(step.function, a.real);
        else if (step.kind == TN_CUDA_CELLS_MAP)
            y.whole = map_whole(step.function, is_signed, a.whole);
        else if (is_real)
            y.real = combine_real(step.function, a.real, b.real);
        else
            y.whole = combine_whole(step.function, is_signed, a.whole, b.whole);
        v[step.result] = y;
    }

    __device__ void store(int64_t i, value y) const {
        const bool is_real = tn_any_is_real(job.y_type);
        if (job.cell == TN_CUDA_CELL_F64) {
            const double result = job.divisor == 1 ? y.real : y.real / job.divisor;
            tn_any_set_f64(job.y, job.y_type, i,
                           is_real || job.y_type == TN_BOOL ? result : trunc(result));
        } else if (is_real && job.cell == TN_CUDA_CELL_U64) {
            tn_any_set_f64(job.y, job.y_type, i, (double)(uint64_t)y.whole);
        } else {
            tn_any_set_i64(job.y, job.y_type, i, y.whole);
        }
    }

    __device__ void operator()(int64_t i) const {
        value v[TN_CUDA_CELLS_VALUES];
        int64_t offsets[TN_CUDA_CELLS_TENSORS] = {0};
        uint32_t at = (uint32_t)i;
        for (int axis = (int)job.rank - 1; axis >= 0; axis--) {
            uint32_t index = at;
            if (axis > 0) at = tn_divide_rest(at, job.extents[axis], &index);
            for (uint32_t k = 0; k < job.tensor_count; k++)
                offsets[k] += index * job.strides[k][axis];
        }
        for (uint32_t k = 0; k < job.tensor_count; k++) {
            if (job.cell == TN_CUDA_CELL_F64)
                v[k].real = tn_any_f64(job.from[k], job.types[k], offsets[k]);
            else
                v[k].whole = tn_any_i64(job.from[k], job.types[k], offsets[k]);
            if (job.types[k] == TN_BOOL && job.cell != TN_CUDA_CELL_F64) v[k].whole = !!v[k].whole;
        }
        for (uint32_t k = 0; k < job.number_count; k++)
            v[TN_CUDA_CELLS_FIRST_NUMBER + k].whole = job.numbers[k].whole;
        for (uint32_t s = 0; s < job.step_count; s++)
            run_step(job.steps[s], v);
        store(i, v[job.step_count ? job.steps[job.step_count - 1].result : 0]);
    }
};

struct cast {
    tn_cuda_cast_job job;

    /* What is out of range becomes the lowest number. */
    __device__ __forceinline__ int64_t whole_of(double value) const {
        if (job.y_type == TN_U64 && value >= 9223372036854775808.0 &&
            value < 18446744073709551616.0)
            return (int64_t)(uint64_t)value;
        bool fits = value >= -9223372036854775808.0 && value < 9223372036854775808.0;
        if (job.y_type == TN_I32) fits = value > -2147483649.0 && value < 2147483648.0;
        return fits ? (int64_t)value : job.y_type == TN_I32 ? INT32_MIN : INT64_MIN;
    }

    __device__ void operator()(int64_t i) const {
        const bool to_real = tn_any_is_real(job.y_type);
        if (tn_any_is_real(job.x_type)) {
            const double value = tn_any_f64(job.x, job.x_type, i);
            if (to_real || job.y_type == TN_BOOL)
                tn_any_set_f64(job.y, job.y_type, i, value);
            else
                tn_any_set_i64(job.y, job.y_type, i, whole_of(value));
            return;
        }
        const int64_t value = tn_any_i64(job.x, job.x_type, i);
        if (to_real && job.x_type == TN_U64 && job.y_type == TN_F32)
            ((float *)job.y)[i] = (float)(uint64_t)value;
        else if (to_real && job.x_type == TN_U64)
            tn_any_set_f64(job.y, job.y_type, i, (double)(uint64_t)value);
        else
            tn_any_set_i64(job.y, job.y_type, i, value);
    }
};

} // namespace

extern "C" bool tn_cuda_cells_has(tn_cuda_cell cell, uint32_t kind, uint32_t function) {
    static const uint8_t real_maps[] = {
        TN_MAP_NEG,         TN_MAP_ABS,     TN_MAP_SIGN,        TN_MAP_NOT,
        TN_MAP_FLOOR,       TN_MAP_CEIL,    TN_MAP_ROUND,       TN_MAP_EXP,
        TN_MAP_EXPM1,       TN_MAP_LOG,     TN_MAP_LOG1P,       TN_MAP_SQRT,
        TN_MAP_RECIPROCAL,  TN_MAP_ERF,     TN_MAP_ERFC,        TN_MAP_SIN,
        TN_MAP_COS,         TN_MAP_TAN,     TN_MAP_ASIN,        TN_MAP_ACOS,
        TN_MAP_ATAN,        TN_MAP_SINH,    TN_MAP_COSH,        TN_MAP_ASINH,
        TN_MAP_ACOSH,       TN_MAP_ATANH,   TN_ACTIVATION_TANH, TN_ACTIVATION_SIGMOID,
        TN_ACTIVATION_RELU, TN_MAP_SOFTPLUS};
    if (kind == TN_CUDA_CELLS_COMBINE)
        return cell == TN_CUDA_CELL_F64
                   ? function < TN_COMBINE_COUNT
                   : function != TN_COMBINE_PRELU && function < TN_CELL_COMBINE_COUNT;
    if (cell != TN_CUDA_CELL_F64)
        return function == TN_CELL_MAP_BIT_NOT || function == TN_MAP_NOT ||
               function == TN_MAP_NEG || function == TN_MAP_ABS || function == TN_MAP_SIGN ||
               function == TN_MAP_FLOOR || function == TN_MAP_CEIL || function == TN_MAP_ROUND;
    for (size_t i = 0; i < sizeof(real_maps); i++)
        if (real_maps[i] == function) return true;
    return false;
}

extern "C" cudaError_t tn_cuda_cells_launch(const void *user, cudaStream_t stream) {
    const cells function = {*(const tn_cuda_cells_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

extern "C" cudaError_t tn_cuda_cast_launch(const void *user, cudaStream_t stream) {
    const cast function = {*(const tn_cuda_cast_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}
