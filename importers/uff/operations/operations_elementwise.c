/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on one element at a time: Unary, Activation, LeakyRelu and Binary, which broadcasts by
 * the file's axes; and Softmax, along one of them.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

static const tn_uff_function unary_rows[] = {
    {"neg", "Neg"},     {"exp", "Exp"},     {"log", "Log"},   {"abs", "Abs"},
    {"sqrt", "Sqrt"},   {"rsqrt", NULL},    {"square", NULL}, {"sin", "Sin"},
    {"cos", "Cos"},     {"tan", "Tan"},     {"sinh", "Sinh"}, {"cosh", "Cosh"},
    {"asin", "Asin"},   {"acos", "Acos"},   {"atan", "Atan"}, {"asinh", "Asinh"},
    {"acosh", "Acosh"}, {"atanh", "Atanh"}, {"ceil", "Ceil"}, {"floor", "Floor"}};
static const tn_uff_function activation_rows[] = {
    {"relu", "Relu"}, {"relu6", NULL},  {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
    {"elu", "Elu"},   {"selu", "Selu"}, {"softsign", "Softsign"}, {"softplus", "Softplus"}};
static const tn_uff_function binary_rows[] = {{"add", "Add"}, {"sub", "Sub"}, {"mul", "Mul"},
                                              {"div", "Div"}, {"min", "Min"}, {"max", "Max"},
                                              {"pow", "Pow"}};

/* The one node of an operation whose output is like its input. */
static tn_status emit_map(tn_uff_call *call, const char *op, const tn_emit_fields *fields) {
    tn_uff_value_like(call->output, call->inputs[0]);
    return tn_uff_emit(call, op, fields, TN_TENSORS(tn_uff_stored(call->reader, call->inputs[0])));
}

/* x * x, or 1 / sqrt(x) */
static tn_status emit_composed(tn_uff_call *call, bool is_square) {
    tn_emitter *emit = &call->reader->emit;
    const tn_import_tensor x = tn_uff_stored(call->reader, call->inputs[0]);
    tn_uff_value_like(call->output, call->inputs[0]);
    if (is_square) return tn_uff_emit(call, "Mul", NULL, TN_TENSORS(x, x));
    const tn_import_tensor one = tn_emit_scalar(emit, "one", 1);
    const tn_import_tensor root = tn_emit_unary(emit, "sqrt", "Sqrt", x);
    return tn_uff_emit(call, "Div", NULL, TN_TENSORS(one, root));
}

tn_status tn_uff_read_unary(tn_uff_call *call) {
    const tn_uff_function *row;
    TN_TRY(tn_uff_field_function(call, TN_COUNT(unary_rows), unary_rows, &row));
    if (row->op) return emit_map(call, row->op, NULL);
    return emit_composed(call, strcmp(row->name, "square") == 0);
}

/* min(max(x, 0), 6) */
static tn_status emit_relu6(tn_uff_call *call) {
    tn_emitter *emit = &call->reader->emit;
    const tn_import_tensor x = tn_uff_stored(call->reader, call->inputs[0]);
    const tn_import_tensor low = tn_emit_scalar(emit, "low", 0);
    const tn_import_tensor high = tn_emit_scalar(emit, "high", 6);
    tn_uff_value_like(call->output, call->inputs[0]);
    return tn_uff_emit(call, "Clip", NULL, TN_TENSORS(x, low, high));
}

tn_status tn_uff_read_activation(tn_uff_call *call) {
    const tn_uff_function *row;
    TN_TRY(tn_uff_field_function(call, TN_COUNT(activation_rows), activation_rows, &row));
    return row->op ? emit_map(call, row->op, NULL) : emit_relu6(call);
}

tn_status tn_uff_read_leaky_relu(tn_uff_call *call) {
    double alpha;
    TN_TRY(tn_uff_field_require(call, "alpha"));
    TN_TRY(tn_uff_field_f64(call, "alpha", 0, &alpha));
    return emit_map(call, "LeakyRelu", TN_EMIT(tn_emit_f64("alpha", alpha)));
}

/* Axis 0 stands for "the converter did not know", which is the file's last axis. */
tn_status tn_uff_read_softmax(tn_uff_call *call) {
    const tn_uff_value *x = call->inputs[0];
    int64_t field;
    uint32_t axis;
    if (x->rank == 0) return tn_fail(TN_ERROR_SHAPE, "input '%s' has no axes", x->name);
    TN_TRY(tn_uff_field_i64(call, "axis", 0, &field));
    TN_TRY(tn_uff_axis(field == 0 ? -1 : field, x->rank, &axis));
    const tn_emit_fields fields = {
        .version = 13, .items = {tn_emit_i64("axis", tn_uff_order_find(&x->storage, axis))}};
    return emit_map(call, "Softmax", &fields);
}

/* ----------------------------------------------------------------------------------------------
 * Binary */

static tn_status broadcast_extents(const tn_uff_call *call) {
    const tn_uff_value *a = call->inputs[0], *b = call->inputs[1];
    tn_uff_value *y = call->output;
    y->rank = a->rank > b->rank ? a->rank : b->rank;
    y->type = a->type != TN_NONE ? a->type : b->type;
    for (uint32_t i = 0; i < y->rank; i++) { /* from the last axis on */
        const int64_t of_a = i < a->rank ? a->extents[a->rank - 1 - i] : 1;
        const int64_t of_b = i < b->rank ? b->extents[b->rank - 1 - i] : 1;
        const bool is_open_a = tn_uff_is_open(of_a), is_open_b = tn_uff_is_open(of_b);
        int64_t *extent = &y->extents[y->rank - 1 - i];
        if (of_a == of_b || of_b == 1)
            *extent = of_a;
        else if (of_a == 1)
            *extent = of_b;
        else if (is_open_a != is_open_b)
            *extent = is_open_a ? of_b : of_a; /* the open one is this, or 1 */
        else if (is_open_a)
            *extent = tn_uff_open(call->reader);
        else
            return tn_fail(TN_ERROR_SHAPE,
                           "'%s' has %" PRId64 " and '%s' %" PRId64 " elements along axis %" PRIu32
                           " from the last",
                           a->name, of_a, b->name, of_b, i);
    }
    return TN_OK;
}

static bool is_single(const tn_uff_value *value) {
    for (uint32_t i = 0; i < value->rank; i++)
        if (value->extents[i] != 1) return false;
    return true;
}

/* A constant of a lower rank as one of the output's rank, so that it has an order of axes. */
static void raise_rank(const tn_uff_value *value, uint32_t rank, tn_uff_value *out_raised) {
    *out_raised = *value;
    out_raised->rank = rank;
    out_raised->tensor = TN_IMPORT_NO_TENSOR;
    out_raised->copy_count = 0;
    for (uint32_t i = 0; i < rank; i++)
        out_raised->extents[i] =
            i + value->rank >= rank ? value->extents[i + value->rank - rank] : 1;
}

/* One side with the output's order of axes. */
static tn_import_tensor order_side(tn_uff_reader *reader, tn_uff_value *side,
                                   const tn_uff_value *y) {
    const tn_uff_order plain = tn_uff_order_plain();
    if (side->rank == y->rank) return tn_uff_ordered(reader, side, &y->storage);
    if (!side->data || is_single(side) || tn_uff_order_equal(&y->storage, &plain, y->rank))
        return tn_uff_plain(reader, side);
    tn_uff_value raised;
    raise_rank(side, y->rank, &raised);
    return tn_uff_ordered(reader, &raised, &y->storage);
}

/* The order in which the output lies: that of the side which is no constant and has its rank,
 * unless the other one then had no such order. */
static tn_uff_order choose_order(const tn_uff_call *call) {
    const tn_uff_value *a = call->inputs[0], *b = call->inputs[1];
    const uint32_t rank = call->output->rank;
    const tn_uff_order plain = tn_uff_order_plain();
    const bool is_a_free = a->data || a->rank == rank || is_single(a);
    const bool is_b_free = b->data || b->rank == rank || is_single(b);
    if (!is_a_free || !is_b_free) return plain;
    if (!a->data && a->rank == rank && !tn_uff_order_equal(&a->storage, &plain, rank))
        return a->storage;
    return !b->data && b->rank == rank ? b->storage : plain;
}

static bool compute(const char *op, int64_t a, int64_t b, int64_t *out) {
    if (strcmp(op, "Add") == 0) return tn_add_i64(a, b, out);
    if (strcmp(op, "Sub") == 0) return b != INT64_MIN && tn_add_i64(a, -b, out);
    if (strcmp(op, "Mul") == 0) return tn_mul_i64(a, b, out);
    if (strcmp(op, "Min") == 0 || strcmp(op, "Max") == 0) {
        *out = (a < b) == (op[1] == 'i') ? a : b;
        return true;
    }
    if (strcmp(op, "Div") != 0 || b == 0 || (a == INT64_MIN && b == -1)) return false;
    *out = a / b;
    return true;
}

/* Lists of integers that shapes are computed from; what is known whole is a constant. */
static tn_status follow_integers(const tn_uff_call *call, const char *op) {
    tn_uff_reader *reader = call->reader;
    size_t counts[2] = {0, 0};
    const int64_t *a = tn_uff_integers(call->inputs[0], &counts[0]);
    const int64_t *b = tn_uff_integers(call->inputs[1], &counts[1]);
    const size_t count = counts[0] > counts[1] ? counts[0] : counts[1];
    if (!a || !b || counts[0] == 0 || counts[1] == 0) return TN_OK;
    int64_t *results = tn_arena_allocate(reader->arena, count, sizeof(*results));
    if (!results) return tn_fail_memory("a list");
    for (size_t i = 0; i < count; i++) {
        const int64_t of_a = a[counts[0] == 1 ? 0 : i], of_b = b[counts[1] == 1 ? 0 : i];
        if (tn_uff_is_open(of_a) || tn_uff_is_open(of_b)) {
            const bool is_times_one = strcmp(op, "Mul") == 0 && (of_a == 1 || of_b == 1);
            results[i] = is_times_one ? (of_a == 1 ? of_b : of_a) : tn_uff_open(reader);
        } else if (!compute(op, of_a, of_b, &results[i]) || tn_uff_is_open(results[i])) {
            return TN_OK;
        }
    }
    return tn_uff_integers_set(reader, call->output, call->output->rank, count, results);
}

tn_status tn_uff_read_binary(tn_uff_call *call) {
    const tn_uff_function *row;
    tn_uff_value *y = call->output;
    TN_TRY(tn_uff_field_function(call, TN_COUNT(binary_rows), binary_rows, &row));
    TN_TRY(broadcast_extents(call));
    TN_TRY(follow_integers(call, row->op));
    if (y->data) return TN_OK;
    y->storage = choose_order(call);
    const tn_import_tensor first = order_side(call->reader, call->inputs[0], y);
    const tn_import_tensor second = order_side(call->reader, call->inputs[1], y);
    return tn_uff_emit(call, row->op, NULL, TN_TENSORS(first, second));
}
