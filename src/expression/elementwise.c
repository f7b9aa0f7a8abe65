/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape rule and the reference of operators that are their expression; see elementwise.h.
 * Elements are computed in blocks of the output's linear order: the inputs' elements are gathered
 * into the buffers of the steps that name them, all steps are computed, the last one is stored.
 */
#include "src/expression/elementwise.h"
#include "kit/math/element.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/infer.h>
#include "src/expression/expression_compute.h"
#include "src/expression/expression_field.h"

#include <math.h>
#include <string.h>

/* Elements of all steps of a block. */
enum { MOST_VALUES = 8192, NO_INPUT = -1 };

typedef struct name {
    uint32_t step;
    int32_t input; /* or NO_INPUT: a field */
    double number;
} name;

typedef struct elementwise_job {
    const tn_call *call;
    tn_expression expression;
    tn_expression_domain domains[TN_EXPRESSION_MOST_STEPS];
    name names[TN_EXPRESSION_MOST_STEPS];
    uint32_t name_count, block;
    tn_expression_value values[MOST_VALUES];
} elementwise_job;

tn_status tn_elementwise_infer(tn_call *call) {
    return tn_broadcast_infer(call, call->input_count);
}

/* ----------------------------------------------------------------------------------------------
 * names */

static tn_expression_domain type_domain(tn_type type) {
    if (tn_element_is_real(type)) return TN_EXPRESSION_FLOAT;
    const bool is_unsigned = type >= TN_U64 && type <= TN_BOOL;
    return is_unsigned ? TN_EXPRESSION_UNSIGNED : TN_EXPRESSION_SIGNED;
}

static bool bind_step(elementwise_job *job, uint32_t step) {
    const tn_call *call = job->call;
    name *found = &job->names[job->name_count++];
    uint32_t input = 0;
    *found = (name){.step = step, .input = NO_INPUT};
    if (tn_expression_find_input(&job->expression, step, call->op, &input)) {
        found->input = (int32_t)input;
        if (input >= call->input_count || !call->inputs[input]) return false;
        job->domains[step] = type_domain(call->inputs[input]->type);
        return true;
    }
    const tn_field *field = tn_expression_find_field(&job->expression, step, call->op);
    if (!field || !call->params || !tn_expression_field(field, call->params, &found->number))
        return false;
    const bool is_float = field->type == TN_FIELD_F32 || field->type == TN_FIELD_F64;
    job->domains[step] = is_float ? TN_EXPRESSION_FLOAT : TN_EXPRESSION_SIGNED;
    return true;
}

static tn_status bind_all(tn_call *call, elementwise_job *job) {
    for (uint32_t i = 0; i < job->expression.count; i++) {
        const tn_expression_step *step = &job->expression.steps[i];
        if (step->kind == TN_EXPRESSION_NAME && !bind_step(job, i))
            return call->host->fail(call, TN_ERROR_PLUGIN,
                                    "'%.*s' in the expression of %s is no input that is given, and "
                                    "no field with a number",
                                    (int)(step->name_length < 60 ? step->name_length : 60),
                                    job->expression.text + step->name_at, call->op->name);
    }
    (void)tn_expression_domains(&job->expression, job->domains);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * blocks */

typedef struct gather {
    elementwise_job *job;
    uint32_t count;
    uint32_t *at; /* elements of the block that are there */
} gather;

static void load_block(const tn_tensor *tensor, tn_expression_domain domain, int64_t first,
                       int64_t stride, int64_t count, tn_expression_value *out_values) {
    if (domain == TN_EXPRESSION_FLOAT) {
        tn_element_read_f64(tensor->data, tensor->type, first, stride, count, &out_values->real);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        out_values[i].whole = tn_element_load_i64(tensor->data, tensor->type, first + i * stride);
}

static void gather_piece(const void *user, const tn_broadcast_rows *rows, int64_t first,
                         int64_t count) {
    const gather *to = user;
    elementwise_job *job = to->job;
    for (uint32_t i = 0; i < job->name_count; i++) {
        const name *from = &job->names[i];
        if (from->input == NO_INPUT) continue;
        load_block(job->call->inputs[from->input], job->domains[from->step],
                   rows->offset[from->input] + first * rows->stride[from->input],
                   rows->stride[from->input], count,
                   &job->values[(size_t)from->step * to->count + *to->at]);
    }
    *to->at += (uint32_t)count;
}

static void fill_fields(elementwise_job *job, uint32_t count) {
    for (uint32_t i = 0; i < job->name_count; i++) {
        const name *from = &job->names[i];
        tn_expression_value *values = &job->values[(size_t)from->step * count];
        const bool is_float = job->domains[from->step] == TN_EXPRESSION_FLOAT;
        for (uint32_t k = 0; from->input == NO_INPUT && k < count; k++)
            if (is_float)
                values[k].real = from->number;
            else
                values[k].whole = (int64_t)from->number;
    }
}

/* Floating-point values become integers without their fraction. */
static void store(const tn_tensor *y, tn_expression_domain domain, int64_t first, uint32_t count,
                  tn_expression_value *values) {
    const bool is_float = domain == TN_EXPRESSION_FLOAT;
    const bool is_integer = !tn_element_is_real(y->type) && y->type != TN_BOOL;
    if (!is_float && !tn_element_is_real(y->type)) {
        for (uint32_t k = 0; k < count; k++)
            tn_element_store_i64(y->data, y->type, first + k, values[k].whole);
        return;
    }
    for (uint32_t k = 0; k < count; k++)
        if (!is_float)
            values[k].real = domain == TN_EXPRESSION_UNSIGNED ? (double)values[k].natural
                                                              : (double)values[k].whole;
        else if (is_integer)
            values[k].real = trunc(values[k].real);
    tn_element_write_f64(y->data, y->type, first, count, &values->real);
}

static void compute_blocks(elementwise_job *job, const tn_broadcast_rows *rows) {
    const tn_tensor *y = job->call->outputs[0];
    const int64_t elements = tn_element_count(y);
    const uint32_t last = job->expression.count - 1;
    for (int64_t begin = 0; begin < elements; begin += job->block) {
        const int64_t left = elements - begin;
        const uint32_t count = left < job->block ? (uint32_t)left : job->block;
        uint32_t at = 0;
        const gather to = {job, count, &at};
        tn_broadcast_elements(rows, begin, begin + count, gather_piece, &to);
        fill_fields(job, count);
        tn_expression_compute_block(&job->expression, job->domains, count, job->values);
        store(y, job->domains[last], begin, count, &job->values[(size_t)last * count]);
    }
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

tn_status tn_elementwise_compute(tn_call *call, const tn_elementwise_view *view) {
    elementwise_job job;
    job.call = call; /* the rest is too large to be cleared */
    job.block = TN_EXPRESSION_BLOCK;
    job.name_count = 0;
    const tn_tensor *y = call->outputs[0];
    tn_broadcast_rows rows;
    char why[200];
    if (call->input_count > TN_BROADCAST_MAX_INPUTS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "more than %d inputs",
                                TN_BROADCAST_MAX_INPUTS);
    if (!tn_expression_read(view->text, &job.expression, why, sizeof(why)))
        return call->host->fail(call, TN_ERROR_PLUGIN, "the expression of %s: %s", call->op->name,
                                why);
    TN_TRY(bind_all(call, &job));
    if (job.block > MOST_VALUES / job.expression.count)
        job.block = MOST_VALUES / job.expression.count;
    tn_broadcast_init(&rows, y->rank, y->shape);
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *x = call->inputs[i];
        const bool is_seen_otherwise = i == 1 && view->shape;
        if (!x)
            tn_broadcast_add(&rows, 0, NULL);
        else if (is_seen_otherwise)
            tn_broadcast_add(&rows, view->rank, view->shape);
        else
            tn_broadcast_add(&rows, x->rank, x->shape);
    }
    if (tn_broadcast_begin(&rows)) compute_blocks(&job, &rows);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * any number of inputs */

typedef struct fold_gather {
    elementwise_job *job;
    const tn_tensor *x;
    uint32_t at;
    tn_expression_value *values;
} fold_gather;

static void gather_one(const void *user, const tn_broadcast_rows *rows, int64_t first,
                       int64_t count) {
    fold_gather *to = *(fold_gather *const *)user;
    load_block(to->x, to->job->domains[0], rows->offset[0] + first * rows->stride[0],
               rows->stride[0], count, to->values + to->at);
    to->at += (uint32_t)count;
}

/* Input `k` of the block from `begin` on. */
static void gather_input(elementwise_job *job, uint32_t k, int64_t begin, uint32_t count,
                         tn_expression_value *out_values) {
    const tn_tensor *x = job->call->inputs[k], *y = job->call->outputs[0];
    fold_gather to = {job, x, 0, out_values}, *const user = &to;
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, y->rank, y->shape);
    tn_broadcast_add(&rows, x->rank, x->shape);
    if (tn_broadcast_begin(&rows))
        tn_broadcast_elements(&rows, begin, begin + count, gather_one, &user);
}

static void fold_block(elementwise_job *job, int64_t begin, uint32_t count, bool is_mean) {
    const uint32_t last = job->expression.count - 1, inputs = job->call->input_count;
    tn_expression_value *so_far = &job->values[0], *result = &job->values[(size_t)last * count];
    gather_input(job, 0, begin, count, so_far);
    for (uint32_t k = 1; k < inputs; k++) {
        gather_input(job, k, begin, count, &job->values[count]);
        tn_expression_compute_block(&job->expression, job->domains, count, job->values);
        memcpy(so_far, result, count * sizeof(*so_far));
    }
    for (uint32_t i = 0; is_mean && i < count; i++)
        so_far[i].real /= inputs;
    store(job->call->outputs[0], job->domains[0], begin, count, so_far);
}

tn_status tn_elementwise_fold(tn_call *call, const char *text, bool is_mean) {
    elementwise_job job;
    char why[200];
    job.call = call; /* the rest is too large to be cleared */
    if (!tn_expression_read(text, &job.expression, why, sizeof(why)) ||
        !tn_expression_is_name(&job.expression, 0, "a") ||
        !tn_expression_is_name(&job.expression, 1, "b"))
        return call->host->fail(call, TN_ERROR_PLUGIN, "'%s' is no function of a and b", text);
    job.domains[0] = job.domains[1] = type_domain(call->outputs[0]->type);
    (void)tn_expression_domains(&job.expression, job.domains);
    const int64_t elements = tn_element_count(call->outputs[0]);
    for (int64_t begin = 0; begin < elements; begin += TN_EXPRESSION_BLOCK) {
        const int64_t left = elements - begin;
        fold_block(&job, begin, left < TN_EXPRESSION_BLOCK ? (uint32_t)left : TN_EXPRESSION_BLOCK,
                   is_mean);
    }
    return TN_OK;
}

tn_status tn_elementwise_reference(tn_call *call) {
    const tn_elementwise_view view = {.text = call->op->expression};
    return tn_elementwise_compute(call, &view);
}
