/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs over rows: every function and operation of the language, whole expressions that one
 * function computes, chains and broadcast rows, at every level of this processor, against the
 * expressions' own values in 64-bit floats.
 */
#include "support/steps.h"
#include "kit/elementwise/row_program.h"
#include "src/expression/expression_compute.h"

#include "plugin/registry.h"
#include "plugin/runtime.h"
#include "test.h"

#include <math.h>
#include <string.h>

typedef struct bend_params {
    uint64_t present;
    float low, high;
    int32_t whole;
    const char *text;
} bend_params;

static const tn_port three_inputs[] = {TN_PORT("x", "T:f32", 0, "numbers"),
                                       TN_PORT("y", "T", 0, "numbers"),
                                       TN_PORT("z", "T", TN_PORT_OPTIONAL, "numbers")};
static const tn_port one_output[] = {TN_PORT("out", "T", 0, "the result")};
static const tn_field bend_fields[] = {
    TN_FIELD(bend_params, low, TN_FIELD_F32, TN_OPTIONAL, "0.25", "a number"),
    TN_FIELD(bend_params, high, TN_FIELD_F32, TN_OPTIONAL, "0.75", "a number"),
    TN_FIELD(bend_params, whole, TN_FIELD_I32, TN_OPTIONAL, "3", "a number"),
    TN_FIELD(bend_params, text, TN_FIELD_STRING, TN_OPTIONAL, "\"\"", "no number")};
static const bend_params params = {.low = 0.25f, .high = 0.75f, .whole = 3};

static tn_operator operator_of(const char *expression) {
    return (tn_operator){.size = sizeof(tn_operator),
                         .traits = TN_OPERATOR_ELEMENTWISE,
                         .domain = "tiny",
                         .name = "Bend",
                         TN_FIELDS(bend_params, bend_fields),
                         TN_INPUTS(three_inputs),
                         TN_OUTPUTS(one_output),
                         .expression = expression};
}

enum { COUNT = 4237, MOST_LINKS = 8 };

/* A call of an operator on rows of COUNT numbers, or of one number that is there for all. */
typedef struct bent {
    tn_operator op;
    float numbers[4][COUNT];
    int64_t strides[4];
    tn_tensor tensors[4];
    const tn_tensor *inputs[3], *operands[1];
    seen_step links[MOST_LINKS];
    tn_tensor result; /* of every step */
    seen_buffer buffers[MOST_LINKS];
    tn_step steps[MOST_LINKS];
    const tn_step *chain[MOST_LINKS];
    tn_call call;
} bent;

static void fill(float *numbers, uint32_t seed, float low, float high) {
    uint32_t state = seed * 747796405u + 2891336453u;
    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = low + (high - low) * (float)(state >> 8) / 16777216.0f;
    }
    numbers[3] = 0;
    numbers[4] = -0.0f;
    numbers[COUNT - 1] = low;
}

static void begin(bent *b, const char *expression, float low, float high) {
    memset(b, 0, sizeof(*b));
    b->op = operator_of(expression);
    for (int i = 0; i < 4; i++) {
        fill(b->numbers[i], (uint32_t)i + 1, low, high);
        b->strides[i] = 1;
        b->tensors[i] = (tn_tensor){.type = TN_F32, .rank = 1, .data = b->numbers[i]};
        if (i < 3) b->inputs[i] = &b->tensors[i];
    }
    b->operands[0] = &b->tensors[3];
    b->result.type = TN_F32;
    for (int i = 0; i < MOST_LINKS; i++)
        b->chain[i] = &b->steps[i];
    b->call = (tn_call){.op = &b->op,
                        .params = &params,
                        .input_count = 3,
                        .inputs = b->inputs,
                        .operands = b->operands,
                        .steps = b->chain};
}

static seen_step *add_link(bent *b, uint32_t kind) {
    seen_step *link = &b->links[b->call.step_count++];
    *link = (seen_step){.kind = kind};
    return link;
}

static tn_row_program program;

/* The links, as they are now, as the call's steps. */
static void show(bent *b) {
    for (uint32_t i = 0; i < b->call.step_count; i++)
        show_step(&b->links[i], i, &b->result, &b->buffers[i], &b->steps[i]);
}

static void make(bent *b) {
    show(b);
    char why[300] = "";
    if (!tn_row_program_make(&b->call, TN_ROW_START_EXPRESSION, 0, &program, why, sizeof(why)))
        fail_msg("%s: %s", b->op.expression, why);
}

static void refuse(bent *b, const char *part) {
    show(b);
    char why[300] = "";
    assert_false(tn_row_program_make(&b->call, TN_ROW_START_EXPRESSION, 0, &program, NULL, 0));
    assert_false(
        tn_row_program_make(&b->call, TN_ROW_START_EXPRESSION, 0, &program, why, sizeof(why)));
    if (!strstr(why, part)) fail_msg("'%s', not '%s'", why, part);
}

/* The levels that this processor has. */
static const tn_rows_level *levels[3];
static uint32_t level_count;

static int find_levels(void **state) {
    (void)state;
    levels[level_count++] = &tn_rows_baseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        levels[level_count++] = &tn_rows_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        levels[level_count++] = &tn_rows_avx512;
#endif
    return 0;
}

/* Into `y`, which may be one of the rows. */
static void run(const bent *b, const tn_rows_level *level, float *y) {
    float scratch[TN_ROW_PROGRAM_SCRATCH];
    const float *tensors[4];
    for (int i = 0; i < 4; i++)
        tensors[i] = b->numbers[i];
    tn_row_program_run(&program, level, COUNT, tensors, b->strides, scratch, y);
}

static double expected_at(const bent *b, const char *text, int64_t i) {
    tn_expression expression;
    double values[TN_EXPRESSION_MOST_STEPS] = {0};
    assert_true(tn_expression_read(text, &expression, NULL, 0));
    for (uint32_t s = 0; s < expression.count; s++) {
        if (tn_expression_is_name(&expression, s, "low")) values[s] = (double)params.low;
        if (tn_expression_is_name(&expression, s, "high")) values[s] = (double)params.high;
        if (tn_expression_is_name(&expression, s, "whole")) values[s] = params.whole;
        static const char *const names[] = {"x", "y", "z", "w"};
        for (int k = 0; k < 4; k++)
            if (tn_expression_is_name(&expression, s, names[k]))
                values[s] = (double)b->numbers[k][i * b->strides[k]];
    }
    return tn_expression_compute(&expression, values);
}

static void assert_rows(const bent *b, const char *text, const float *y, double tolerance) {
    for (int64_t i = 0; i < COUNT; i++) {
        const double wanted = expected_at(b, text, i), found = (double)y[i];
        if (isnan(wanted) ? isnan(found)
                          : found == (double)(float)wanted ||
                                fabs(found - wanted) <= tolerance * (1 + fabs(wanted)))
            continue;
        fail_msg("%s at %lld (x %.9g, y %.9g): %.9g, not %.9g", text, (long long)i,
                 (double)b->numbers[0][i * b->strides[0]], (double)b->numbers[1][i * b->strides[1]],
                 found, wanted);
    }
}

/* What the call computes is `text`, in which w is the operand. */
static void assert_computes(bent *b, const char *text) {
    static float y[COUNT];
    make(b);
    for (uint32_t l = 0; l < level_count; l++) {
        memset(y, 0x7f, sizeof(y));
        run(b, levels[l], y);
        assert_rows(b, text, y, 2e-6);
    }
}

/* --- the language --- */

static void check_expression(const char *text, float low, float high) {
    bent *b = calloc(1, sizeof(*b));
    begin(b, text, low, high);
    assert_computes(b, text);
    free(b);
}

static void test_every_function_is_computed(void **state) {
    static const struct {
        const char *text;
        float low, high;
    } texts[] = {{"exp(x)", -20, 5},     {"expm1(x)", -30, 5},     {"expm1(x)", -0.01f, 0.01f},
                 {"log(x)", -1, 9},      {"log1p(x)", -1.5f, 9},   {"log1p(x)", -1e-3f, 1e-3f},
                 {"sqrt(x)", -1, 9},     {"erf(x)", -4, 4},        {"erfc(x)", -4, 9},
                 {"pow(x, y)", 0, 3},    {"sin(x)", -9, 9},        {"cos(x)", -9, 9},
                 {"tan(x)", -1, 1},      {"asin(x)", -1.1f, 1.1f}, {"acos(x)", -1.1f, 1.1f},
                 {"atan(x)", -9, 9},     {"sinh(x)", -4, 4},       {"cosh(x)", -4, 4},
                 {"tanh(x)", -9, 9},     {"asinh(x)", -9, 9},      {"acosh(x)", 0, 9},
                 {"atanh(x)", -1.1f, 1}, {"floor(x)", -9, 9},      {"ceil(x)", -9, 9},
                 {"rint(x)", -9, 9},     {"fabs(x)", -9, 9},       {"fmin(x, y)", -9, 9},
                 {"fmax(x, y)", -9, 9},  {"min(x, y)", -9, 9},     {"max(x, y)", -9, 9},
                 {"mod(x, y)", -9, 9},   {"fmod(x, y)", -9, 9},    {"sign(x)", -9, 9},
                 {"sigmoid(x)", -9, 9},  {"softplus(x)", -9, 9}};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_expression(texts[i].text, texts[i].low, texts[i].high);
}

static void test_every_operation_is_computed(void **state) {
    static const char *const texts[] = {"x + y",
                                        "x - y",
                                        "x * y",
                                        "x / (y * y + 1)",
                                        "-x",
                                        "!x",
                                        "x < y",
                                        "x <= y",
                                        "x > y",
                                        "x >= y",
                                        "x == y",
                                        "x != y",
                                        "x == x",
                                        "x != 0 && y",
                                        "x > 1 || y > 1",
                                        "x > y ? x - z : y + z",
                                        "low + (high - low) / (1 + exp(-x))",
                                        "x * whole + y",
                                        "x",
                                        "2 + 3 * low",
                                        "x > 0 ? y : 1 / 0"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        check_expression(texts[i], -3, 3);
}

static void test_numbers_that_are_none_go_as_in_c(void **state) {
    static const char *const texts[] = {
        "fmin(x, y)", "fmax(x, y)", "x < y",     "x != y",  "x == y",     "!x",
        "x && y",     "x ? y : z",  "x <= y",    "exp(x)",  "log1p(x)",   "expm1(x)",
        "erfc(x)",    "min(x, y)",  "max(x, y)", "sign(x)", "sigmoid(x)", "softplus(x)"};
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        begin(b, texts[i], -3, 3);
        b->numbers[0][0] = b->numbers[1][1] = b->numbers[0][2] = b->numbers[1][2] = NAN;
        b->numbers[0][7] = INFINITY, b->numbers[1][8] = -INFINITY, b->numbers[0][9] = -INFINITY;
        assert_computes(b, texts[i]);
    }
    free(b);
}

static void test_known_expressions_are_one_step(void **state) {
    static const char *const texts[] = {
        "1 / (1 + exp(-x))",
        "x < 0 ? 0 : x",
        "fmax(x, 0)",
        "x < 0 ? low * x : x",
        "x < 0 ? y * x : x",
        "x < low ? (low > high ? high : low) : x > high ? high : x",
        "x / (1 + exp(-low * x))",
        "x < 0 ? low * expm1(x) : x",
        "high * (x < 0 ? low * expm1(x) : x)",
        "x < 0 ? low * expm1(x / low) : x",
        "low * x + high < 0 ? 0 : low * x + high > 1 ? 1 : low * x + high",
        "x * (x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5)",
        "fmax(x, 0) + log1p(exp(-fabs(x)))",
        "x * tanh(fmax(x, 0) + log1p(exp(-fabs(x))))",
        "x / (1 + fabs(x))",
        "x > low ? x : 0",
        "x > low ? 1 : 0",
        "x > 0 ? 1 : x < 0 ? -1 : x",
        "1 / x",
        "0.5 * x * erfc(-0.7071067811865476 * x)",
        "x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))"};
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        begin(b, texts[i], -5, 5);
        assert_computes(b, texts[i]);
        if (program.step_count != 1) fail_msg("%s: %u steps", texts[i], program.step_count);
    }
    free(b);
}

static void test_what_only_looks_like_a_known_one_is_not(void **state) {
    static const char *const texts[] = {
        "1 / (2 + exp(-x))",   "1 / (1 + exp(-x - y))", "x < 0 ? y : x", "y < 0 ? 0 : x",
        "x < 0 ? low * y : x", "x / (1 + fabs(y))",     "x < 1 ? 0 : x", "1 / (1 - exp(-x))"};
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        begin(b, texts[i], 0.5f, 5);
        assert_computes(b, texts[i]);
        assert_true(program.step_count > 1);
    }
    free(b);
}

static void test_numbers_are_folded(void **state) {
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    begin(b, "x * (2 + 3 * low) + (whole == 3 ? y : exp(y))", -1, 1);
    assert_computes(b, b->op.expression);
    assert_int_equal(program.step_count, 2);
    free(b);
}

/* --- rows --- */

static void test_one_number_serves_the_whole_row(void **state) {
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    for (int one = 0; one < 8; one++) {
        begin(b, "exp(x) * y - z > 0 ? exp(x) + y : z * exp(y)", -2, 2);
        for (int i = 0; i < 3; i++)
            b->strides[i] = !(one >> i & 1);
        assert_computes(b, b->op.expression);
    }
    free(b);
}

static void test_the_output_may_be_an_input(void **state) {
    bent *b = calloc(1, sizeof(*b)), *before = calloc(1, sizeof(*b));
    (void)state;
    begin(b, "x * y + tanh(x) * z - x", -2, 2);
    make(b);
    memcpy(before, b, sizeof(*b));
    for (int i = 0; i < 3; i++) {
        memcpy(b->numbers, before->numbers, sizeof(b->numbers));
        run(b, levels[level_count - 1], b->numbers[i]);
        assert_rows(before, b->op.expression, b->numbers[i], 2e-6);
    }
    free(b);
    free(before);
}

static void test_chains_of_all_kinds_are_computed(void **state) {
    tn_operator half = operator_of("x / 2 - low"), join = operator_of("y - x * high");
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    join.input_count = 2;
    begin(b, "x + y * z", -1, 1);
    b->call.operand_count = 1;
    add_link(b, SEEN_SCALE);
    *add_link(b, SEEN_ACTIVATION) = (seen_step){
        .kind = SEEN_ACTIVATION, .activation = TN_ACTIVATION_LEAKY_RELU, .alpha = 0.125f};
    add_link(b, SEEN_RESIDUAL);
    seen_step *link = add_link(b, SEEN_EXPRESSION);
    link->op = &half, link->params = &params, link->expression = half.expression;
    link = add_link(b, SEEN_EXPRESSION);
    link->op = &join, link->params = &params, link->expression = join.expression;
    link->has_operand = true;
    add_link(b, SEEN_BIAS);
#define SCALED "(x + y * z) * w"
#define ADDED  "((" SCALED " < 0 ? 0.125 * (" SCALED ") : " SCALED ") + w)"
    assert_computes(b, "(w - (" ADDED " / 2 - low) * high) + w");
    link->input = 1; /* the value so far is y, the operand x */
    assert_computes(b, "((" ADDED " / 2 - low) - w * high) + w");
    free(b);
}

static void test_an_epilogue_works_in_place(void **state) {
    tn_operator half = operator_of("x / 2 - low");
    bent *b = calloc(1, sizeof(*b)), *before = calloc(1, sizeof(*b));
    (void)state;
    begin(b, NULL, -3, 3);
    *add_link(b, SEEN_ACTIVATION) = (seen_step){
        .kind = SEEN_ACTIVATION, .activation = TN_ACTIVATION_LEAKY_RELU, .alpha = 0.125f};
    seen_step *link = add_link(b, SEEN_EXPRESSION);
    link->op = &half, link->params = &params, link->expression = half.expression;
    show(b);
    memcpy(before, b, sizeof(*b));
    for (uint32_t l = 0; l < level_count; l++) {
        assert_true(tn_row_program_make(&b->call, TN_ROW_START_VALUE, 0, &program, NULL, 0));
        memcpy(b->numbers, before->numbers, sizeof(b->numbers));
        run(b, levels[l], b->numbers[0]);
        assert_rows(before, "(x < 0 ? 0.125 * x : x) / 2 - low", b->numbers[0], 2e-6);
        assert_true(
            tn_row_program_make(&b->call, TN_ROW_START_COMBINE, TN_COMBINE_MUL, &program, NULL, 0));
        memcpy(b->numbers, before->numbers, sizeof(b->numbers));
        run(b, levels[l], b->numbers[1]);
        assert_rows(before, "(x * y < 0 ? 0.125 * (x * y) : x * y) / 2 - low", b->numbers[1], 2e-6);
    }
    b->call.operand_count = 1;
    assert_false(tn_row_program_make(&b->call, TN_ROW_START_VALUE, 0, &program, NULL, 0));
    free(b);
    free(before);
}

static void triple(const void *own_params, uint64_t count, const float *const *inputs,
                   const uint64_t *strides, float *output) {
    (void)own_params;
    for (uint64_t i = 0; i < count; i++)
        output[i] = 3 * inputs[0][i * strides[0]];
}

static void test_a_row_function_stands_in_for_an_expression(void **state) {
    bent *b = calloc(1, sizeof(*b));
    tn_operator silent = operator_of(NULL), telling = operator_of("3 * x");
    (void)state;
    begin(b, "x - y", -1, 1);
    seen_step *link = add_link(b, SEEN_ROW);
    link->row = triple, link->op = &silent;
    assert_computes(b, "3 * (x - y)");
    assert_int_equal(program.steps[1].kind, TN_ROW_STEP_ROW);
    link->op = &telling, link->expression = telling.expression;
    assert_computes(b, "3 * (x - y)");
    assert_int_equal(program.steps[1].kind, TN_ROW_STEP_COMBINE);
    link->op = &silent, link->row = NULL, link->expression = NULL;
    refuse(b, "row function");
    free(b);
}

/* --- refusals --- */

static void test_what_cannot_be_computed_is_refused_with_a_reason(void **state) {
    static char text[4096];
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    begin(b, "x + nothing", 0, 1);
    refuse(b, "'nothing'");
    begin(b, "x + text", 0, 1);
    refuse(b, "'text'");
    begin(b, "x +", 0, 1);
    refuse(b, "none of the language");
    begin(b, NULL, 0, 1);
    refuse(b, "no expression");
    begin(b, "x + z", 0, 1);
    b->inputs[2] = NULL;
    refuse(b, "'z' is not there");
    begin(b, "x + y", 0, 1);
    assert_computes(b, "x + y");
    add_link(b, SEEN_WINDOW_MAX);
    refuse(b, "kind 7");
    b->links[0].kind = SEEN_KINDS;
    refuse(b, "not known");
    b->links[0] = (seen_step){.kind = SEEN_ACTIVATION, .activation = 99};
    refuse(b, "activation 99");
    b->links[0] = (seen_step){.kind = SEEN_RESIDUAL};
    b->result.type = TN_F16;
    refuse(b, "type");
    b->result.type = TN_F32;
    b->links[0] = (seen_step){.kind = SEEN_EXPRESSION};
    refuse(b, "not whose it is");
    begin(b, text, 0, 1);
    strcpy(text, "x");
    for (int i = 0; i < 100; i++)
        strcat(text, " * y");
    refuse(b, "too many steps");
    strcpy(text, "x");
    for (int i = 0; i < 30; i++)
        snprintf(text + strlen(text), 20, " * %d.5", i);
    refuse(b, "too many numbers");
    free(b);
}

static void test_too_many_living_values_are_refused(void **state) {
    char text[1024] = "";
    bent *b = calloc(1, sizeof(*b));
    (void)state;
    for (int i = 0; i < 14; i++)
        snprintf(text + strlen(text), 40, "(x * %d.5) / (", i);
    strcat(text, "y");
    for (int i = 0; i < 14; i++)
        strcat(text, ")");
    begin(b, text, 1, 2);
    refuse(b, "live at once");
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_is_computed),
        cmocka_unit_test(test_every_operation_is_computed),
        cmocka_unit_test(test_numbers_that_are_none_go_as_in_c),
        cmocka_unit_test(test_known_expressions_are_one_step),
        cmocka_unit_test(test_what_only_looks_like_a_known_one_is_not),
        cmocka_unit_test(test_numbers_are_folded),
        cmocka_unit_test(test_one_number_serves_the_whole_row),
        cmocka_unit_test(test_the_output_may_be_an_input),
        cmocka_unit_test(test_chains_of_all_kinds_are_computed),
        cmocka_unit_test(test_an_epilogue_works_in_place),
        cmocka_unit_test(test_a_row_function_stands_in_for_an_expression),
        cmocka_unit_test(test_what_cannot_be_computed_is_refused_with_a_reason),
        cmocka_unit_test(test_too_many_living_values_are_refused),
    };
    return cmocka_run_group_tests(tests, find_levels, NULL);
}
