/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the functions that are written by hand (kit/elementwise/rows_body.h) gain over the programs
 * that are made of expressions alone. For each built-in elementwise operator whose expression is
 * one such function, three are run in turn, round by round, on one thread:
 *
 *     function  the function over rows of 16,384 elements, as the operator's own kernel does
 *     program   the same function as the one step of a program, in blocks of 512
 *     steps     the program without functions that are known as a whole: the expression's steps
 *
 *     tenon-bench-expression-kernels [OPERATOR]
 *
 * For each level of this processor, for tensors that stay in the second cache (16,384 elements) and
 * ones that do not fit any (8,388,608), it prints the medians of the rounds' ratios program /
 * function and steps / function, and which part of memcpy's bytes a second the function reaches.
 */
#include "kit/elementwise/row_program.h"
#include "plugin/fields/fields_private.h"
#include "plugin/registry.h"
#include "plugin/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROW = 16384, LARGE = 1 << 23, ROUNDS = 7, MOST_PARAMS = 64 };

typedef struct subject {
    tn_row_program program, steps; /* program: of one step */
    const tn_rows_level *level;
    int64_t count;
    const float *tensors[2];
    float *y;
} subject;

typedef struct bench {
    const char *only;
    float *a, *b, *y;
    uint32_t lines;
} bench;

static double now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

/* ----------------------------------------------------------------------------------------------
 * what is timed */

static void run_function(const subject *s) {
    const tn_row_step *step = &s->program.steps[0];
    for (int64_t i = 0; i < s->count; i += ROW) {
        if (step->kind == TN_ROW_STEP_MAP)
            s->level->maps[step->function](step->alpha, step->beta, ROW, s->tensors[0] + i,
                                           s->y + i);
        else
            s->level->combines[step->function](ROW, s->tensors[step->operands[0]] + i, 1,
                                               s->tensors[step->operands[1]] + i, 1, s->y + i);
    }
}

static void run_whole(const subject *s, const tn_row_program *program) {
    static _Alignas(64) float scratch[TN_ROW_PROGRAM_SCRATCH];
    static const int64_t strides[2] = {1, 1};
    tn_row_program_run(program, s->level, s->count, s->tensors, strides, scratch, s->y);
}
static void run_program(const subject *s) {
    run_whole(s, &s->program);
}
static void run_steps(const subject *s) {
    run_whole(s, &s->steps);
}
static void run_copy(const subject *s) {
    memcpy(s->y, s->tensors[0], (size_t)s->count * sizeof(float));
}

/* Nanoseconds of one run; small tensors are run many times. */
static double time_of(void (*run)(const subject *s), const subject *s) {
    const int repeats = s->count == ROW ? 64 : 1;
    const double begin = now_ns();
    for (int i = 0; i < repeats; i++)
        run(s);
    return (now_ns() - begin) / repeats;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values) {
    qsort(values, ROUNDS, sizeof(*values), compare);
    return values[ROUNDS / 2];
}

/* ----------------------------------------------------------------------------------------------
 * operators */

static void report(const char *name, const char *level, const subject *s) {
    double program[ROUNDS], steps[ROUNDS], share[ROUNDS], each[ROUNDS];
    const bool is_map = s->program.steps[0].kind == TN_ROW_STEP_MAP;
    run_function(s);
    run_steps(s);
    for (int i = 0; i < ROUNDS; i++) {
        const double function_ns = time_of(run_function, s), copy_ns = time_of(run_copy, s);
        program[i] = time_of(run_program, s) / function_ns;
        steps[i] = time_of(run_steps, s) / function_ns;
        share[i] =
            copy_ns * (is_map ? 1 : 1.5) / function_ns; /* two inputs: three tensors, not two */
        each[i] = function_ns / (double)s->count;
    }
    printf("%-16s %-8s %8lld %3u %8.3f %8.2f %8.2f %6.2f\n", name, level, (long long)s->count,
           s->steps.step_count, median(each), median(program), median(steps), median(share));
}

/* The programs of an operator with its fields' defaults; false: it is not one function. */
static bool make_programs(const tn_operator *op, subject *s) {
    _Alignas(16) char params[MOST_PARAMS] = {0};
    static int64_t shape[] = {ROW};
    tn_tensor tensor = {.size = sizeof(tensor), .type = TN_F32, .rank = 1, .shape = shape};
    const tn_tensor *const inputs[2] = {&tensor, &tensor};
    tn_tensor *const outputs[1] = {&tensor};
    const tn_call call = {.size = sizeof(call),
                          .op = op,
                          .params = params,
                          .input_count = op->input_count,
                          .inputs = inputs,
                          .output_count = 1,
                          .outputs = outputs};
    if (op->params_bytes > MOST_PARAMS || op->input_count > 2 || !op->expression) return false;
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].type != TN_FIELD_BOOL && op->fields[i].type != TN_FIELD_STRING &&
            tn_field_set_default(NULL, &op->fields[i], params) != TN_OK)
            return false;
    return tn_row_program_make(&call, TN_ROW_START_EXPRESSION, 0, &s->program, NULL, 0) &&
           tn_row_program_make(&call, TN_ROW_START_OPERATIONS, 0, &s->steps, NULL, 0) &&
           s->program.step_count == 1 &&
           (s->program.steps[0].kind == TN_ROW_STEP_MAP ||
            (s->program.steps[0].kind == TN_ROW_STEP_COMBINE &&
             s->program.steps[0].operands[0] < 2 && s->program.steps[0].operands[1] < 2));
}

static bool visit(void *user, const tn_operator *op, const tn_library_info *library) {
    static const struct {
        const char *name;
        const tn_rows_level *level;
    } levels[] = {
        {"baseline", &tn_rows_baseline}, {"avx2", &tn_rows_avx2}, {"avx512", &tn_rows_avx512}};
    bench *b = user;
    subject s = {.tensors = {b->a, b->b}, .y = b->y};
    (void)library;
    if ((b->only && strcmp(b->only, op->name) != 0) || !make_programs(op, &s)) return true;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if ((i == 1 && !__builtin_cpu_supports("avx2")) ||
            (i == 2 && !__builtin_cpu_supports("avx512f")))
            continue;
        s.level = levels[i].level;
        for (s.count = ROW; s.count <= LARGE; s.count *= LARGE / ROW, b->lines++)
            report(op->name, levels[i].name, &s);
    }
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    bench b = {.only = argc > 1 ? argv[1] : NULL};
    tn_runtime *runtime = NULL;
    b.a = malloc(LARGE * sizeof(float));
    b.b = malloc(LARGE * sizeof(float));
    b.y = malloc(LARGE * sizeof(float));
    if (!b.a || !b.b || !b.y || tn_runtime_create(NULL, &runtime) != TN_OK) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    for (int64_t i = 0; i < LARGE; i++) {
        b.a[i] = (float)(i % 1021) / 128.0f - 4.0f;
        b.b[i] = (float)(i % 509) / 128.0f + 0.125f;
        b.y[i] = 0;
    }
    printf("%-16s %-8s %8s %3s %8s %8s %8s %6s\n", "operator", "level", "elements", "n", "ns each",
           "program", "steps", "memcpy");
    tn_registry_visit_operators(tn_runtime_registry(runtime), visit, &b);
    tn_runtime_release(runtime);
    free(b.a);
    free(b.b);
    free(b.y);
    if (b.lines == 0) fprintf(stderr, "no operator of this name is one function\n");
    return b.lines == 0;
}
