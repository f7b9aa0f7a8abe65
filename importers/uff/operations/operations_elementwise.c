/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on one element at a time: Unary, Activation, LeakyRelu and Binary, which broadcasts by
 * the file's axes; and Softmax, along one of them.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>
#include <string.h>

/* UFF's name of a function, and the operator that computes it; null: made of others below. */
typedef struct function_row {
    const char *name, *op;
} function_row;

static const function_row unary_rows[] = {
    {"neg", "Neg"},     {"exp", "Exp"},     {"log", "Log"},   {"abs", "Abs"},
    {"sqrt", "Sqrt"},   {"rsqrt", NULL},    {"square", NULL}, {"sin", "Sin"},
    {"cos", "Cos"},     {"tan", "Tan"},     {"sinh", "Sinh"}, {"cosh", "Cosh"},
    {"asin", "Asin"},   {"acos", "Acos"},   {"atan", "Atan"}, {"asinh", "Asinh"},
    {"acosh", "Acosh"}, {"atanh", "Atanh"}, {"ceil", "Ceil"}, {"floor", "Floor"}};
static const function_row activation_rows[] = {
    {"relu", "Relu"}, {"relu6", NULL},  {"sigmoid", "Sigmoid"},   {"tanh", "Tanh"},
    {"elu", "Elu"},   {"selu", "Selu"}, {"softsign", "Softsign"}, {"softplus", "Softplus"}};
static const function_row binary_rows[] = {{"add", "Add"}, {"sub", "Sub"}, {"mul", "Mul"},
                                           {"div", "Div"}, {"min", "Min"}, {"max", "Max"},
                                           {"pow", "Pow"}};

/* The row of field 'func'; the message lists all names. */
static tn_status find_function(tn_uff_reader *reader, const tn_uff_node *node, size_t count,
                               const function_row *rows, const function_row **out_row) {
    const char *name;
    char names[256];
    size_t length = 0;
    TN_TRY(tn_uff_field_require(reader, node, "func"));
    TN_TRY(tn_uff_field_text(reader, node, "func", &name));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *out_row = &rows[i];
            return TN_OK;
        }
        const size_t piece = strlen(rows[i].name);
        if (length + piece + 2 > sizeof(names)) continue;
        names[length++] = ' ';
        memcpy(names + length, rows[i].name, piece);
        length += piece;
    }
    names[length] = 0;
    return tn_fail(TN_ERROR_UNSUPPORTED, "function '%s' is not known; there are%s", name, names);
}

static tn_status emit_unary(tn_uff_reader *reader, tn_uff_call *call, const char *op,
                            const tn_uff_attributes *attributes) {
    tn_import_tensor input;
    TN_TRY(tn_uff_value_stored(reader, call->inputs[0], &input));
    tn_uff_value_like(call->output, call->inputs[0]);
    return tn_uff_emit(reader, op, 0, call->output->name, attributes, 1, &input,
                       &call->output->tensor);
}

static tn_status emit_square(tn_uff_reader *reader, tn_uff_call *call) {
    tn_import_tensor inputs[2];
    TN_TRY(tn_uff_value_stored(reader, call->inputs[0], &inputs[0]));
    inputs[1] = inputs[0];
    tn_uff_value_like(call->output, call->inputs[0]);
    return tn_uff_emit(reader, "Mul", 0, call->output->name, NULL, 2, inputs,
                       &call->output->tensor);
}

/* 1 / sqrt(x) */
static tn_status emit_rsqrt(tn_uff_reader *reader, tn_uff_call *call) {
    const char *name = call->output->name;
    tn_import_tensor input, inputs[2];
    TN_TRY(tn_uff_value_stored(reader, call->inputs[0], &input));
    tn_uff_value_like(call->output, call->inputs[0]);
    TN_TRY(tn_uff_add_f32(reader, tn_uff_side_name(reader, name, "one"), 1, &inputs[0]));
    TN_TRY(tn_uff_emit(reader, "Sqrt", 0, tn_uff_side_name(reader, name, "sqrt"), NULL, 1, &input,
                       &inputs[1]));
    return tn_uff_emit(reader, "Div", 0, name, NULL, 2, inputs, &call->output->tensor);
}

tn_status tn_uff_read_unary(tn_uff_reader *reader, tn_uff_call *call) {
    const function_row *row;
    TN_TRY(find_function(reader, call->node, TN_COUNT(unary_rows), unary_rows, &row));
    if (row->op) return emit_unary(reader, call, row->op, NULL);
    return strcmp(row->name, "square") == 0 ? emit_square(reader, call) : emit_rsqrt(reader, call);
}

/* min(max(x, 0), 6) */
static tn_status emit_relu6(tn_uff_reader *reader, tn_uff_call *call) {
    const char *name = call->output->name;
    tn_import_tensor inputs[3];
    TN_TRY(tn_uff_value_stored(reader, call->inputs[0], &inputs[0]));
    TN_TRY(tn_uff_add_f32(reader, tn_uff_side_name(reader, name, "low"), 0, &inputs[1]));
    TN_TRY(tn_uff_add_f32(reader, tn_uff_side_name(reader, name, "high"), 6, &inputs[2]));
    tn_uff_value_like(call->output, call->inputs[0]);
    return tn_uff_emit(reader, "Clip", 0, name, NULL, 3, inputs, &call->output->tensor);
}

tn_status tn_uff_read_activation(tn_uff_reader *reader, tn_uff_call *call) {
    const function_row *row;
    TN_TRY(find_function(reader, call->node, TN_COUNT(activation_rows), activation_rows, &row));
    return row->op ? emit_unary(reader, call, row->op, NULL) : emit_relu6(reader, call);
}

tn_status tn_uff_read_leaky_relu(tn_uff_reader *reader, tn_uff_call *call) {
    double alpha;
    tn_uff_attributes attributes = {0};
    TN_TRY(tn_uff_field_require(reader, call->node, "alpha"));
    TN_TRY(tn_uff_field_f64(reader, call->node, "alpha", 0, &alpha));
    tn_uff_attribute_f64(&attributes, "alpha", alpha);
    return emit_unary(reader, call, "LeakyRelu", &attributes);
}

/* Axis 0 stands for "the converter did not know", which is the file's last axis. */
tn_status tn_uff_read_softmax(tn_uff_reader *reader, tn_uff_call *call) {
    tn_uff_value *x = call->inputs[0], *y = call->output;
    int64_t field;
    uint32_t axis;
    tn_uff_attributes attributes = {0};
    tn_import_tensor input;
    if (x->rank == 0) return tn_fail(TN_ERROR_SHAPE, "input '%s' has no axes", x->name);
    TN_TRY(tn_uff_field_i64(reader, call->node, "axis", 0, &field));
    TN_TRY(tn_uff_axis(field == 0 ? -1 : field, x->rank, &axis));
    TN_TRY(tn_uff_value_stored(reader, x, &input));
    tn_uff_attribute_i64(&attributes, "axis", tn_uff_order_place(&x->storage, axis));
    tn_uff_value_like(y, x);
    return tn_uff_emit(reader, "Softmax", 13, y->name, &attributes, 1, &input, &y->tensor);
}

/* ----------------------------------------------------------------------------------------------
 * Binary */

static tn_status broadcast_extents(tn_uff_reader *reader, const tn_uff_call *call) {
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
            *extent = tn_uff_open(reader);
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
static tn_status order_side(tn_uff_reader *reader, tn_uff_value *side, const tn_uff_value *y,
                            tn_import_tensor *out_tensor) {
    const tn_uff_order plain = tn_uff_order_plain();
    if (side->rank == y->rank) return tn_uff_value_ordered(reader, side, &y->storage, out_tensor);
    if (!side->data || is_single(side) || tn_uff_order_equal(&y->storage, &plain, y->rank))
        return tn_uff_value_plain(reader, side, out_tensor);
    tn_uff_value raised;
    raise_rank(side, y->rank, &raised);
    return tn_uff_value_ordered(reader, &raised, &y->storage, out_tensor);
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

/* Lists of integers that shapes are computed from; answers whether the output is known. */
static tn_status follow_numbers(tn_uff_reader *reader, const tn_uff_call *call, const char *op,
                                bool *out_is_known) {
    size_t counts[2] = {0, 0};
    const int64_t *a = tn_uff_numbers(call->inputs[0], &counts[0]);
    const int64_t *b = tn_uff_numbers(call->inputs[1], &counts[1]);
    const size_t count = counts[0] > counts[1] ? counts[0] : counts[1];
    *out_is_known = false;
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
    TN_TRY(tn_uff_numbers_set(reader, call->output, call->output->rank, count, results));
    *out_is_known = call->output->data != NULL;
    return TN_OK;
}

tn_status tn_uff_read_binary(tn_uff_reader *reader, tn_uff_call *call) {
    const function_row *row;
    tn_uff_value *y = call->output;
    tn_import_tensor inputs[2];
    bool is_known;
    TN_TRY(find_function(reader, call->node, TN_COUNT(binary_rows), binary_rows, &row));
    TN_TRY(broadcast_extents(reader, call));
    TN_TRY(follow_numbers(reader, call, row->op, &is_known));
    if (is_known) return TN_OK;
    y->storage = choose_order(call);
    TN_TRY(order_side(reader, call->inputs[0], y, &inputs[0]));
    TN_TRY(order_side(reader, call->inputs[1], y, &inputs[1]));
    return tn_uff_emit(reader, row->op, 0, y->name, NULL, 2, inputs, &y->tensor);
}
