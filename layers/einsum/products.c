/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum of floats, doubles and integers by a matrix product of two operands, or sums of one.
 * Labels of two operands are a batch (in both, and in the output), rows (in the left one and the
 * output), columns (in the right one and the output) and a depth (in both alone). Equations with a
 * label of one operand alone, and those of more operands, are left to the elements: another order
 * of sums would let an infinity meet another factor. The product is multiply.c. Operands are read
 * as they are where strides allow it, and copied in another order of labels elsewhere.
 */
#include "einsum/products.h"
#include "kit/math/element.h"
#include "kit/widened/widened.h"
#include <tenon/kit/open.h>

enum { ALIGNMENT = 16 }; /* elements */

static void append(tn_einsum_list *list, const tn_einsum_list *more) {
    for (uint32_t i = 0; i < more->count; i++)
        if (!tn_einsum_has(list, more->labels[i])) tn_einsum_add(list, more->labels[i]);
}

/* The labels of both inputs. */
static stage read_stage(const tn_einsum *einsum, const uint32_t *inputs) {
    const tn_einsum_list *left = &einsum->inputs[inputs[0]], *right = &einsum->inputs[inputs[1]];
    stage s = {.rows = {.count = 0}};
    tn_einsum_list both = {.count = 0};
    append(&both, left);
    append(&both, right);
    for (uint32_t i = 0; i < both.count; i++) {
        const uint8_t label = both.labels[i];
        const bool is_left = tn_einsum_has(left, label);
        const bool is_right = tn_einsum_has(right, label);
        const bool needed = tn_einsum_has(&einsum->output, label);
        if (is_left && is_right)
            tn_einsum_add(needed ? &s.batch : &s.depth, label);
        else if (needed)
            tn_einsum_add(is_left ? &s.rows : &s.columns, label);
        else
            s.has_sums = true;
    }
    s.batch_count = tn_einsum_count(einsum, &s.batch);
    s.row_count = tn_einsum_count(einsum, &s.rows);
    s.column_count = tn_einsum_count(einsum, &s.columns);
    s.depth_count = tn_einsum_count(einsum, &s.depth);
    append(&s.result, &s.batch);
    append(&s.result, &s.rows);
    append(&s.result, &s.columns);
    return s;
}

/* ----------------------------------------------------------------------------------------------
 * workspace */

/* At most 2^44, which no memory has. */
static int64_t elements_of(int64_t batch, int64_t a, int64_t b) {
    int64_t count = 0;
    if (!tn_infer_multiply(batch, a, &count) || !tn_infer_multiply(count, b, &count) ||
        count > INT64_C(1) << 44)
        return INT64_C(1) << 44;
    return (count + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

/* Sums and products with threads and blocks fit. */
static offsets plan_offsets(const products_run *run) {
    const int64_t block = run->level ? (int64_t)run->level->lanes * run->level->vectors : 0;
    offsets r = {.left = 0};
    if (run->einsum.input_count < 2) return r;
    const stage *s = &run->stage;
    r.right = elements_of(s->batch_count, s->row_count, s->depth_count);
    r.result = r.right + elements_of(s->batch_count, s->depth_count, s->column_count);
    r.zeros = r.result + elements_of(s->batch_count, s->row_count, s->column_count);
    r.panels = r.zeros + elements_of(1, s->column_count, 1) + block;
    r.panel = elements_of(1, s->depth_count, 1) * block;
    r.total = r.panels + r.panel * run->call->threads;
    return r;
}

/* Whether the depth of the columns' operand lies beside each other. */
static bool has_adjacent_depth(const products_run *run) {
    const tn_einsum_list *labels = &run->einsum.inputs[1], *depth = &run->stage.depth;
    return depth->count > 0 && labels->labels[labels->count - 1] == depth->labels[depth->count - 1];
}

static tn_status read_run(tn_call *call, products_run *run) {
    const products_user *user = call->user;
    run->call = call;
    run->level = user->level;
    run->types = user->types;
    run->bytes = (int64_t)tn_element_bytes(call->inputs[0]->type);
    run->inputs[0] = 0;
    run->inputs[1] = 1;
    TN_TRY(tn_einsum_read(call, &run->einsum));
    if (run->einsum.input_count > 1) run->stage = read_stage(&run->einsum, run->inputs);
    if (run->einsum.input_count > 1 && run->stage.row_count == 1 && run->stage.column_count > 1 &&
        has_adjacent_depth(run)) {
        run->inputs[0] = 1; /* a row by a matrix: the matrix by a column */
        run->inputs[1] = 0;
        run->stage = read_stage(&run->einsum, run->inputs);
    }
    run->offsets = plan_offsets(run);
    return TN_OK;
}

/* Unknown extents are read as one element, which meets any other number: labels alone decide. */
static tn_status products_accepts(tn_call *call) {
    products_run run;
    tn_open_stand_in stand_ins[2];
    const tn_tensor *inputs[2];
    tn_call probe = *call;
    probe.inputs = inputs;
    if (call->input_count > 2) return TN_ERROR_UNSUPPORTED;
    for (uint32_t i = 0; i < call->input_count; i++)
        inputs[i] = tn_open_resolve(call->inputs[i], 1, &stand_ins[i]);
    TN_TRY(read_run(&probe, &run));
    return call->input_count == 1 || !run.stage.has_sums ? TN_OK : TN_ERROR_UNSUPPORTED;
}

static tn_status products_reshape(tn_call *call) {
    products_run run;
    TN_TRY(read_run(call, &run));
    call->workspace_bytes = (uint64_t)run.offsets.total * (uint64_t)run.bytes;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * all of them */

/* Input `input` in this order of labels; what the order lacks is summed. */
static tn_status gather_input(const products_run *run, uint32_t input,
                              const tn_einsum_list *const order[3], void *to) {
    const tn_einsum_list *labels = &run->einsum.inputs[input];
    tn_einsum_gather gather = {.einsum = &run->einsum,
                               .type = run->call->inputs[0]->type,
                               .order = {.count = 0},
                               .sums = {.count = 0},
                               .from = run->call->inputs[input]->data,
                               .to = to};
    for (int i = 0; i < 3; i++)
        append(&gather.order, order[i]);
    for (uint32_t i = 0; i < labels->count; i++)
        if (!tn_einsum_has(&gather.order, labels->labels[i]) &&
            !tn_einsum_has(&gather.sums, labels->labels[i]))
            tn_einsum_add(&gather.sums, labels->labels[i]);
    tn_einsum_strides(run->call, &run->einsum, input, gather.strides);
    return tn_einsum_gather_run(run->call, &gather);
}

/* The product, whose axes are batch, rows and columns, in the output's order. */
static tn_status order_result(const products_run *run, const void *result, void *to) {
    tn_einsum_gather gather = {.einsum = &run->einsum,
                               .type = run->call->inputs[0]->type,
                               .order = run->einsum.output,
                               .sums = {.count = 0},
                               .from = result,
                               .to = to};
    const tn_einsum_list *labels = &run->stage.result;
    int64_t step = 1;
    for (uint32_t i = labels->count; i-- > 0; step *= run->einsum.extents[labels->labels[i]])
        gather.strides[labels->labels[i]] = step;
    return tn_einsum_gather_run(run->call, &gather);
}

static bool is_ordered(const products_run *run) {
    const tn_einsum_list *a = &run->stage.result, *b = &run->einsum.output;
    return a->count == b->count && memcmp(a->labels, b->labels, a->count) == 0;
}

/* The one stride of labels that are stepped through together, the last one fastest; false: there is
 * none. Labels of one element have any. */
static bool find_stride(const tn_einsum *einsum, const tn_einsum_list *list, const int64_t *strides,
                        int64_t *out_stride) {
    int64_t next = 0;
    *out_stride = 0;
    for (uint32_t i = list->count; i-- > 0;) {
        const uint8_t label = list->labels[i];
        if (einsum->extents[label] == 1) continue;
        if (next == 0)
            *out_stride = strides[label];
        else if (strides[label] != next)
            return false;
        next = strides[label] * einsum->extents[label];
        if (next == 0) return false;
    }
    return true;
}

/* The operand of `side` as it is, where its labels have a stride each; those of rows must be
 * contiguous, and the single column, and what is not packed. Else a copy in `to`. */
static tn_status read_operand(const products_run *run, int side, void *to, operand *out) {
    const stage *s = &run->stage;
    const tn_einsum_list *own = side == 0 ? &s->rows : &s->columns;
    const int64_t count = side == 0 ? s->row_count : s->column_count;
    const bool is_depth_last = side == 0 || count == 1;
    const int64_t inner = is_depth_last ? s->depth_count : count;
    const int64_t outer = is_depth_last ? count : s->depth_count;
    int64_t strides[TN_EINSUM_LABELS];
    tn_einsum_strides(run->call, &run->einsum, run->inputs[side], strides);
    out->data = run->call->inputs[run->inputs[side]]->data;
    if (find_stride(&run->einsum, &s->batch, strides, &out->batch_stride) &&
        find_stride(&run->einsum, own, strides, &out->stride) &&
        find_stride(&run->einsum, &s->depth, strides, &out->depth_stride) &&
        ((!is_depth_last && run->level) ||
         ((inner == 1 || (is_depth_last ? out->depth_stride : out->stride) == 1) &&
          (outer == 1 || (is_depth_last ? out->stride : out->depth_stride) == inner))))
        return TN_OK;
    *out = (operand){to, count * s->depth_count, is_depth_last ? s->depth_count : 1,
                     is_depth_last ? 1 : count};
    return gather_input(run, run->inputs[side],
                        (const tn_einsum_list *const[]){&s->batch, is_depth_last ? own : &s->depth,
                                                        is_depth_last ? &s->depth : own},
                        to);
}

static tn_status products_run_all(tn_call *call) {
    static const tn_einsum_list none = {.count = 0};
    void *output = call->outputs[0]->data;
    products_run run;
    TN_TRY(read_run(call, &run));
    if (call->outputs[0]->bytes == 0) return TN_OK;
    if (run.einsum.input_count == 1)
        return gather_input(
            &run, 0, (const tn_einsum_list *const[]){&run.einsum.output, &none, &none}, output);
    void *result = is_ordered(&run) ? output : workspace_at(&run, run.offsets.result);
    memset(workspace_at(&run, run.offsets.zeros), 0,
           (size_t)((run.offsets.panels - run.offsets.zeros) * run.bytes));
    TN_TRY(read_operand(&run, 0, workspace_at(&run, run.offsets.left), &run.left));
    TN_TRY(read_operand(&run, 1, workspace_at(&run, run.offsets.right), &run.right));
    TN_TRY(tn_einsum_multiply(&run, result));
    return result == output ? TN_OK : order_result(&run, result, output);
}

static const char *const products_combinations[] = {"f32... -> f32"};
static const char *const types_combinations[] = {"f64... -> f64", "i64... -> i64", "u64... -> u64",
                                                 "i32... -> i32", "u32... -> u32"};
static const char *const halves[] = {"f16... -> f16", "bf16... -> bf16"};
#define USERS(level)                                                                               \
    static const products_user products_user_##level = {&tn_matrix_##level, NULL};                 \
    static const products_user types_user_##level = {NULL, &tn_matrix_types_##level}
USERS(baseline);
USERS(avx2);
USERS(avx512);
#define EINSUM(prefix, words)                                                                      \
    TN_LEVEL_KERNELS(prefix, prefix##_user, "Einsum", #prefix, words,                              \
                     .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                      \
                     TN_COMBINATIONS(prefix##_combinations), .accepts = products_accepts,          \
                     .reshape = products_reshape, .run = products_run_all)
EINSUM(products, "A matrix product of two operands, on all threads.");
EINSUM(types, "A matrix product of two operands of doubles or integers, on all threads.");
TN_WIDENED_KERNELS(widened, products, "Einsum", TN_KERNEL_ANY_SHAPE, halves);

const tn_kernel *const tn_einsum_kernels[4] = {TN_LEVEL_LIST(products), TN_LEVEL_LIST(types),
                                               TN_LEVEL_LIST(widened), &tn_einsum_elements};
