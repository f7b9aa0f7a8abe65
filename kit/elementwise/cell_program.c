/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions over any types as programs over cells; see cell_program.h. */
#include "kit/elementwise/cell_program.h"
#include "kit/elementwise/row_build.h"
#include "kit/math/element.h"
#include "src/expression/expression_compute.h"
#include "src/expression/expression_field.h"

#include <math.h>

const tn_cell_level tn_cell_baseline = {&tn_rows_baseline, &tn_cells_baseline};
const tn_cell_level tn_cell_avx2 = {&tn_rows_avx2, &tn_cells_avx2};
const tn_cell_level tn_cell_avx512 = {&tn_rows_avx512, &tn_cells_avx512};

/* ----------------------------------------------------------------------------------------------
 * arithmetic: all steps have one, or are truths */

typedef struct arithmetic {
    tn_expression expression;
    tn_expression_domain domains[TN_EXPRESSION_MOST_STEPS];
    bool is_bool[TN_EXPRESSION_MOST_STEPS]; /* a bool or a truth: 0 or 1 in any arithmetic */
    bool is_wide;                           /* f64, or integers that 32-bit floats do not hold */
    bool has_u64, has_number;               /* of other types than bool */
} arithmetic;

static void note_type(arithmetic *of, uint32_t step, tn_type type) {
    const bool is_unsigned = type >= TN_U64 && type <= TN_BOOL;
    of->domains[step] = tn_element_is_real(type) ? TN_EXPRESSION_FLOAT
                        : is_unsigned            ? TN_EXPRESSION_UNSIGNED
                                                 : TN_EXPRESSION_SIGNED;
    of->is_bool[step] = type == TN_BOOL;
    of->is_wide |= type == TN_F64 || (!tn_element_is_real(type) && tn_element_bytes(type) > 2);
    of->has_u64 |= type == TN_U64;
    of->has_number |= type != TN_BOOL;
}

static bool note_name(const tn_call *call, arithmetic *of, uint32_t step) {
    uint32_t input = 0;
    of->is_bool[step] = false;
    if (tn_expression_find_input(&of->expression, step, call->op, &input)) {
        if (input >= call->input_count || !call->inputs[input]) return false;
        note_type(of, step, call->inputs[input]->type);
        return true;
    }
    const tn_field *field = tn_expression_find_field(&of->expression, step, call->op);
    if (!field) return false;
    const bool is_float = field->type == TN_FIELD_F32 || field->type == TN_FIELD_F64;
    of->domains[step] = is_float ? TN_EXPRESSION_FLOAT : TN_EXPRESSION_LITERAL;
    return true;
}

static tn_expression_domain join(tn_expression_domain a, tn_expression_domain b) {
    if (a == TN_EXPRESSION_LITERAL || a == b) return b;
    if (b == TN_EXPRESSION_LITERAL) return a;
    return a == TN_EXPRESSION_FLOAT || b == TN_EXPRESSION_FLOAT ? TN_EXPRESSION_FLOAT
                                                                : TN_EXPRESSION_SIGNED;
}

/* Of a step's operands that are no condition and no bool. */
static tn_expression_domain operands_domain(const arithmetic *of, const tn_expression_step *step) {
    tn_expression_domain domain = TN_EXPRESSION_LITERAL;
    for (uint32_t k = step->kind == TN_EXPRESSION_CHOOSE ? 1 : 0; k < step->operand_count; k++)
        if (!of->is_bool[step->operands[k]]) domain = join(domain, of->domains[step->operands[k]]);
    return domain;
}

/* The arithmetic that all of the steps have: LITERAL, where there is nothing but truths. */
static bool find_domain(const arithmetic *of, tn_expression_domain *out_domain) {
    tn_expression_domain all = TN_EXPRESSION_LITERAL;
    for (uint32_t i = 0; i < of->expression.count; i++)
        if (of->expression.steps[i].operand_count > 0)
            all = join(all, operands_domain(of, &of->expression.steps[i]));
    for (uint32_t i = 0; i < of->expression.count; i++) {
        const tn_expression_step *step = &of->expression.steps[i];
        if (step->operand_count == 0) continue;
        const tn_expression_domain own = of->domains[i], from = operands_domain(of, step);
        if (from == TN_EXPRESSION_LITERAL && /* of truths and whole numbers */
            (step->kind == TN_EXPRESSION_CHOOSE || tn_expression_is_truth(step->kind)))
            continue;
        const bool is_power = own != TN_EXPRESSION_FLOAT && all == TN_EXPRESSION_FLOAT;
        if (is_power ||
            (from != all && from != TN_EXPRESSION_LITERAL && all != TN_EXPRESSION_FLOAT))
            if (!tn_expression_is_truth(step->kind) || from != all) return false;
        if (all == TN_EXPRESSION_FLOAT && from != all && from != TN_EXPRESSION_LITERAL)
            return false;
    }
    *out_domain = all;
    return true;
}

static bool find_cell(const tn_call *call, tn_cell *out_cell) {
    const tn_type output = call->outputs[0]->type;
    arithmetic of;
    tn_expression_domain domain = TN_EXPRESSION_LITERAL;
    of.is_wide = of.has_u64 = of.has_number = false;
    if (!tn_expression_read(call->op->expression, &of.expression, NULL, 0)) return false;
    for (uint32_t i = 0; i < of.expression.count; i++) {
        of.is_bool[i] = false;
        if (of.expression.steps[i].kind == TN_EXPRESSION_NAME && !note_name(call, &of, i))
            return false;
    }
    (void)tn_expression_domains(&of.expression, of.domains);
    for (uint32_t i = 0; i < of.expression.count; i++) /* 0 or 1 in any arithmetic, too */
        of.is_bool[i] |= tn_expression_is_truth(of.expression.steps[i].kind);
    if (!find_domain(&of, &domain)) return false;
    const bool is_whole = !tn_element_is_real(output) && output != TN_BOOL;
    if (domain == TN_EXPRESSION_FLOAT)
        *out_cell = of.is_wide || is_whole || output == TN_F64 ? TN_CELL_F64 : TN_CELL_F32;
    else if (domain == TN_EXPRESSION_LITERAL && !of.has_number && !is_whole)
        *out_cell = TN_CELL_F32; /* truths alone */
    else
        *out_cell = domain == TN_EXPRESSION_SIGNED ? TN_CELL_I64 : TN_CELL_U64;
    return *out_cell != TN_CELL_I64 || !of.has_u64;
}

/* ----------------------------------------------------------------------------------------------
 * programs */

static bool has_functions(const tn_cell_program *program, tn_cell cell) {
    const tn_cell_functions *wide = &tn_cells_baseline.wide[cell];
    for (uint32_t s = 0; s < program->program.step_count; s++) {
        const tn_row_step *step = &program->program.steps[s];
        if (cell == TN_CELL_F32) {
            if (tn_row_step_is_of_cells(step)) return false;
        } else if ((step->kind == TN_ROW_STEP_MAP && !wide->maps[step->function]) ||
                   (step->kind == TN_ROW_STEP_COMBINE && !wide->combines[step->function]) ||
                   step->kind == TN_ROW_STEP_ROW)
            return false;
    }
    return true;
}

/* Whether all tensors are of such types. */
static bool are_all(const tn_call *call, uint32_t most_bytes, bool is_bool) {
    bool are = true;
    for (uint32_t i = 0; i <= call->input_count; i++) {
        const tn_type type = (i < call->input_count ? call->inputs[i] : call->outputs[0])->type;
        are = are && tn_element_bytes(type) <= most_bytes && !tn_element_is_real(type) &&
              (!is_bool || type == TN_BOOL);
    }
    return are;
}

static bool reads(const tn_call *call, tn_type type) {
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i]->type == type) return true;
    return false;
}

/* Whether low bits of what a step reads decide what it computes, as far as they are stored: of a
 * single step they do where its operands fit the cells. */
static bool fits_32_bits(const tn_row_program *program) {
    for (uint32_t s = 0; s < program->step_count && program->step_count > 1; s++) {
        const tn_row_step *step = &program->steps[s];
        if (step->kind == TN_ROW_STEP_MAP && step->function != TN_MAP_NOT &&
            step->function != TN_CELL_MAP_BIT_NOT)
            return false;
        if (step->kind == TN_ROW_STEP_COMBINE &&
            (step->function <= TN_COMBINE_POW || step->function == TN_CELL_SHIFT_LEFT))
            return false;
    }
    return true;
}

/* Smaller cells where the types and the steps allow it. */
static tn_cell shrink(const tn_call *call, const tn_cell_program *program) {
    tn_cell cell = program->cell;
    if (cell == TN_CELL_F32 && are_all(call, 1, true))
        cell = TN_CELL_BOOL;
    else if (cell == TN_CELL_I64 && are_all(call, 4, false) && !reads(call, TN_U32) &&
             fits_32_bits(&program->program))
        cell = TN_CELL_I32;
    else if (cell == TN_CELL_U64 && are_all(call, 4, false) && fits_32_bits(&program->program))
        cell = TN_CELL_U32;
    return has_functions(program, cell) ? cell : program->cell;
}

/* The text's numbers are kept as 32-bit floats, which must be what the text says. */
static bool read_numbers(tn_cell_program *program) {
    for (uint32_t i = 0; i < program->program.number_count; i++) {
        const float number = program->program.numbers[i];
        tn_cell_number *to = &program->numbers[i];
        if (program->cell == TN_CELL_F32) {
            to->f32 = number;
        } else if (number != nearbyintf(number) || fabsf(number) > 0x1p24f) {
            return false;
        } else if (program->cell == TN_CELL_F64) {
            to->f64 = (double)number;
        } else if (program->cell == TN_CELL_BOOL) {
            to->truth = number != 0;
        } else if (program->cell == TN_CELL_I32 || program->cell == TN_CELL_U32) {
            to->whole_32 = (int32_t)number;
        } else {
            to->whole = (int64_t)number;
        }
    }
    return true;
}

bool tn_cell_program_make(const tn_call *call, tn_cell_program *out_program) {
    if (call->step_count > 0 || !call->op->expression || !call->outputs[0] ||
        call->input_count > TN_BROADCAST_MAX_INPUTS)
        return false;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (!call->inputs[i]) return false;
    if (!find_cell(call, &out_program->cell) ||
        !tn_row_program_make(call, TN_ROW_START_OPERATIONS, 0, &out_program->program, NULL, 0) ||
        !has_functions(out_program, out_program->cell))
        return false;
    out_program->cell = shrink(call, out_program);
    return read_numbers(out_program);
}

tn_status tn_cell_program_prepare(tn_call *call) {
    tn_cell_program program;
    if (!tn_cell_program_make(call, &program))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "it has no program over cells");
    const size_t bytes = offsetof(tn_cell_program, program.steps) +
                         program.program.step_count * sizeof(program.program.steps[0]);
    TN_TRY(tn_kernel_state_create(call, bytes));
    memcpy(call->state, &program, bytes);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * running */

enum {
    OUTPUT_ROW = TN_ROW_PROGRAM_ROWS,
    VALUES = TN_ROW_PROGRAM_FIRST_RESULT + OUTPUT_ROW + 1,
    ROW_BYTES = TN_CELL_BLOCK * 8 /* bytes of a row */
};

typedef struct cell_job {
    const tn_cell_program *program;
    const tn_cell_level *level;
    const tn_broadcast_rows *rows; /* at the first row */
    const tn_tensor *const *inputs;
    const tn_tensor *output;
    char *scratch; /* the thread's: rows of tensors, of results, of the output */
} cell_job;

typedef struct cell_values {
    const void *at[VALUES];
    int64_t strides[VALUES]; /* 1: rows, 0: one cell */
} cell_values;

/* The last step's function where it can store the output's bools itself; null: it cannot. */
static tn_cell_combine truth_of(const cell_job *job, const tn_row_step *step) {
    return job->output->type == TN_BOOL && step->kind == TN_ROW_STEP_COMBINE
               ? job->level->cells->wide[job->program->cell].truths[step->function]
               : NULL;
}

static void run_step(const cell_job *job, const tn_row_step *step, int64_t count,
                     const void *const *operands, const int64_t *strides, void *y) {
    const tn_cell_functions *wide = &job->level->cells->wide[job->program->cell];
    if (job->program->cell == TN_CELL_F32) {
        const float *const rows[] = {operands[0], operands[1], operands[2]};
        tn_row_step_run(step, job->level->rows, count, rows, strides, y);
    } else if (step->kind == TN_ROW_STEP_MAP) {
        wide->maps[step->function](count, operands[0], y);
    } else if (step->kind == TN_ROW_STEP_COMBINE) {
        wide->combines[step->function](count, operands[0], strides[0], operands[1], strides[1], y);
    } else {
        wide->choose(count, operands, strides, y);
    }
}

typedef enum cell_result { RESULT_ONE, RESULT_ROW, RESULT_STORED } cell_result;

/* A step computes one cell where all that it reads is one; answers what the last one has left: a
 * cell or a row at `y`, or what is stored already, at `output`. */
static cell_result run_steps(const cell_job *job, int64_t count, cell_values *values, char *results,
                             void *y, void *output) {
    const tn_row_program *program = &job->program->program;
    int64_t is_row = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const tn_row_step *step = &program->steps[s];
        const uint32_t *o = step->operands, row = step->result - TN_ROW_PROGRAM_FIRST_RESULT;
        const void *const operands[] = {values->at[o[0]], values->at[o[1]], values->at[o[2]]};
        const int64_t strides[] = {values->strides[o[0]], values->strides[o[1]],
                                   values->strides[o[2]]};
        void *result = row == OUTPUT_ROW ? y : results + row * ROW_BYTES;
        is_row = strides[0] | strides[1] | strides[2];
        const tn_cell_combine truth =
            is_row && s + 1 == program->step_count ? truth_of(job, step) : NULL;
        if (truth) {
            truth(count, operands[0], strides[0], operands[1], strides[1], output);
            return RESULT_STORED;
        }
        run_step(job, step, is_row ? count : 1, operands, strides, result);
        values->at[step->result] = result;
        values->strides[step->result] = is_row;
    }
    return is_row ? RESULT_ROW : RESULT_ONE;
}

/* Elements of a row of the output, at most a block of them. */
static void run_block(const cell_job *job, const tn_broadcast_rows *rows, int64_t first,
                      int64_t count, cell_values *values) {
    const tn_cell cell = job->program->cell;
    const uint32_t tensors = job->program->program.tensor_count;
    char *buffer = job->scratch;
    for (uint32_t i = 0; i < tensors; i++, buffer += ROW_BYTES) {
        const tn_tensor *x = job->inputs[i];
        const int64_t at = rows->offset[i] + first * rows->stride[i];
        const char *from = (const char *)x->data + (size_t)at * tn_element_bytes(x->type);
        values->strides[i] = rows->stride[i];
        values->at[i] = tn_cell_is_own(cell, x->type) ? (const void *)from : buffer;
        if (values->at[i] == buffer)
            job->level->cells->load(cell, x->type, rows->stride[i] ? count : 1, from, buffer);
    }
    const tn_tensor *output = job->output;
    char *to = (char *)output->data +
               (size_t)(rows->output_offset + first) * tn_element_bytes(output->type);
    const bool is_own = tn_cell_is_own(cell, output->type);
    char *y = is_own ? to : buffer, *results = buffer + ROW_BYTES;
    const cell_result result = run_steps(job, count, values, results, y, to);
    if (result == RESULT_STORED) return;
    if (result == RESULT_ONE) {
        const size_t bytes = tn_cell_bytes(cell);
        for (int64_t i = 1; i < count; i++)
            memcpy(y + (size_t)i * bytes, y, bytes);
    }
    if (!is_own) job->level->cells->store(cell, output->type, count, y, to);
}

static void run_piece(const void *user, const tn_broadcast_rows *rows, int64_t first,
                      int64_t count) {
    const cell_job *job = user;
    cell_values values;
    for (uint32_t i = 0; i < job->program->program.number_count; i++) {
        values.at[TN_ROW_PROGRAM_FIRST_NUMBER + i] = &job->program->numbers[i];
        values.strides[TN_ROW_PROGRAM_FIRST_NUMBER + i] = 0;
    }
    const int64_t block = ROW_BYTES / (int64_t)tn_cell_bytes(job->program->cell);
    for (int64_t done = 0; done < count; done += block)
        run_block(job, rows, first + done, count - done < block ? count - done : block, &values);
}

/* An item is an element of the output. */
static tn_status run_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    _Alignas(64) char scratch[(TN_BROADCAST_MAX_INPUTS + 1 + TN_ROW_PROGRAM_ROWS) * ROW_BYTES];
    cell_job job = *(const cell_job *)user;
    job.scratch = scratch;
    (void)thread;
    tn_broadcast_elements(job.rows, begin, end, run_piece, &job);
    return TN_OK;
}

tn_status tn_cell_program_run(tn_call *call, const tn_cell_level *level) {
    enum { GRAIN = 16384 };
    const tn_tensor *y = call->outputs[0];
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, y->rank, y->shape);
    for (uint32_t i = 0; i < call->input_count; i++)
        tn_broadcast_add(&rows, call->inputs[i]->rank, call->inputs[i]->shape);
    cell_job job = {
        .program = call->state, .level = level, .rows = &rows, .inputs = call->inputs, .output = y};
    if (!tn_broadcast_begin(&rows)) return TN_OK;
    return call->host->parallel_for(call, tn_element_count(y), GRAIN, run_elements, &job);
}
