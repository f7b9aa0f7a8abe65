/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The combinations that store real numbers in narrower types. The case's inputs are rounded to the
 * stored type, the operator's reference computes from the rounded values, and the kernel's output
 * is compared with that, after the epilogues, within what rounding allows:
 *
 *   8 bits:  |output / s - clamp(y / s, -128, 127)| <= 1/2 + W / s + 1e-3, where s is the output's
 *            scale, y the reference's real number, and W bounds what the weights' rounding does:
 *            W = reference(|x|, d, 0) with d = max|w| / 254 * 1.001 in place of every weight of a
 *            constant of two axes or more (half of the largest step of a symmetric quantisation,
 *            a channel or a tensor), biases zero;
 *   floats:  |output - y| <= W + u * |S| + 2 * u * |y| + 1e-5 * max|y|, as bound.h says; kernels
 * that multiply 32-bit floats as tf32: |output - y| <= T + 1e-6 * |y| + 1e-5 * max|y|.
 *
 * Inputs are drawn so in four ways: EXACT, where scales are powers of two and weights are whole
 * multiples of their channel's step with the largest among them, so that W is zero and ties occur,
 * which must go to even; RANGE, scales from the values' ranges, all different; SATURATE, scales too
 * small for inputs and output, weights as in EXACT; EQUAL, one scale for inputs and outputs, which
 * must keep bits where the operator selects.
 */
#include "stored.h"
#include "base/status.h"
#include "bound.h"
#include "plugin/combination.h"
#include "tensor/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT = 0, RANGE = 1, SATURATE = 2, EQUAL = 3, DRAW_COUNT = 4 };
static const char *const draw_names[] = {"exact", "range", "saturate", "equal"};
/* Epilogue chains: none; residual and ReLU; bias and clip; residual and leaky ReLU. */
enum { CHAIN_COUNT = 4 };
/* Outputs of more elements are checked in fewer ways. */
enum { LARGE = 20000 };

/* One operator's case, drawn in one way, for one set of inputs that are stored narrowly. */
typedef struct drawn {
    tn_runtime *runtime;
    const tn_operator *op;
    const char *text;
    tn_arena *arena;
    tn_case c; /* inputs: the rounded values */
    tn_graph *graph;
    const tn_graph_node *node;
    const tn_device *device; /* null: the processor */
    void *stream;
    tn_type stored;  /* TN_STORED_QI8, TN_F16 or TN_BF16; TN_NONE: all as they are */
    uint64_t narrow; /* bit i: input i of the case is stored so */
    uint32_t draw;
    bool are_constant; /* with all as they are: the inputs after the first */
    float scales[TN_STORED_PORTS];
    tn_outcome expected, slack, sums; /* the reference, W (or T), S: both as far as they matter */
    float output_scales[16];
    double largest[16];
    uint64_t random;
    size_t *passed, *failed;
} drawn;

static double draw_number(drawn *d) {
    d->random = d->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(d->random >> 40) / (double)(1 << 24);
}

static size_t count_of(const tn_shape *shape) {
    size_t count = 0;
    return tn_shape_count(shape, &count) == TN_OK ? count : 0;
}

static double largest_of(const float *values, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabs((double)values[i]) > largest ? fabs((double)values[i]) : largest;
    return largest;
}

/* The smallest power of two that is not below. */
static float power_of_two(double value) {
    return (float)exp2(ceil(log2(value > 1e-30 ? value : 1.0)));
}

/* ----------------------------------------------------------------------------------------------
 * drawing */

static tn_bound_case bound_case(const drawn *d) {
    return (tn_bound_case){d->runtime, d->op, d->arena, &d->c, d->stored, d->narrow};
}

static bool is_weight(const drawn *d, uint32_t index) {
    const tn_bound_case bound = bound_case(d);
    return tn_bound_is_weight(&bound, index);
}

static bool has_weights(const drawn *d) {
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        if (is_weight(d, i)) return true;
    }
    return false;
}

/* Weights whose largest magnitude, 127 steps, lies at every second element along every axis, so
 * that any slice has one. */
static void draw_weights(drawn *d, tn_case_input *input) {
    float *values = input->data;
    for (size_t i = 0, count = count_of(&input->shape); i < count; i++) {
        int64_t parity = 0, rest = (int64_t)i;
        for (uint32_t axis = input->shape.rank; axis-- > 0; rest /= input->shape.extents[axis])
            parity += rest % input->shape.extents[axis];
        const double number = draw_number(d);
        const double steps = parity % 2 ? floor(number * 255.0) - 127.0 : number < 0.5 ? -127 : 127;
        values[i] = (float)(steps / 128.0);
    }
}

static void draw_exact(drawn *d) {
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        tn_case_input *input = &d->c.inputs[i];
        float *values = input->data;
        const size_t count = count_of(&input->shape);
        if (input->type != TN_F32 || input->has_values) continue;
        if (is_weight(d, i)) {
            draw_weights(d, input);
        } else if (d->narrow >> i & 1) { /* few bits beside weights, so that sums often tie */
            const double step = has_weights(d) ? 16 : 1;
            for (size_t k = 0; k < count; k++)
                values[k] = (float)((floor(draw_number(d) * 256 / step) * step - 128) / 64);
        } else if (input->shape.rank <= 1) {
            for (size_t k = 0; k < count; k++)
                values[k] = (float)((floor(draw_number(d) * 512) - 256) / 256);
        }
    }
}

/* Rounds the narrow inputs to what is stored; a scale each. */
static tn_status round_inputs(drawn *d) {
    float all = 0;
    for (uint32_t i = 0; i < d->c.input_count; i++) {
        const tn_case_input *input = &d->c.inputs[i];
        const size_t count = count_of(&input->shape);
        if (!(d->narrow >> i & 1)) continue;
        float *values = input->data;
        const double range = largest_of(values, count) > 0 ? largest_of(values, count) : 1;
        static const double factors[] = {1, 1.37, 0.81, 1.11};
        float scale = (float)(range / 127 * factors[i % 4]);
        if (d->draw == EXACT) scale = 0x1p-6f;
        if (d->draw == SATURATE) scale *= 0.5f;
        if (d->draw == EQUAL && all != 0) scale = all;
        all = scale;
        d->scales[i] = d->stored == TN_STORED_QI8 ? scale : 0;
        for (size_t k = 0; k < count; k++) {
            if (d->stored == TN_F16) values[k] = tn_f16_to_f32(tn_f32_to_f16(values[k]));
            if (d->stored == TN_BF16) values[k] = tn_bf16_to_f32(tn_f32_to_bf16(values[k]));
            if (d->stored == TN_STORED_QI8)
                values[k] = fmaxf(-128.0f, fminf(127.0f, rintf(values[k] / scale))) * scale +
                            0.0f; /* no negative zero */
        }
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * one kernel, one combination */

/* Whether a port names the narrow type; '*' and no combinations never get it from a build. */
static bool names_stored(const drawn *d, const tn_combination_port *port) {
    return d->stored != TN_NONE && port && port->types != TN_COMBINATION_EVERY &&
           (port->types & TN_TYPE_BIT(d->stored));
}

/* The type in which a port stores a tensor of type `own`: the narrow one where the port names it;
 * TN_NONE when it takes neither. */
static tn_type stored_type(const drawn *d, const tn_combination_port *port, tn_type own) {
    if (!port) return TN_NONE;
    if (own == TN_F32 && names_stored(d, port)) return d->stored;
    return port->types & TN_TYPE_BIT(own) ? own : TN_NONE;
}

static uint32_t case_input_of(const drawn *d, uint32_t node_input) {
    return (uint32_t)atoi(d->graph->tensors[d->node->inputs[node_input]].name + 2);
}

/* Which inputs of the case a combination stores narrowly; false when it does not fit, or stores
 * nothing so where it should. */
static bool narrow_inputs(const drawn *d, const tn_combination *combination, uint64_t *out_narrow) {
    uint64_t narrow = 0;
    bool is_any = false, has_reals = false;
    for (uint32_t i = 0; i < d->node->input_count; i++) {
        const tn_combination_port *port = tn_combination_input(combination, i);
        if (d->node->inputs[i] == TN_NO_TENSOR) {
            if (port && !port->is_optional) return false;
            continue;
        }
        const uint32_t index = case_input_of(d, i);
        const tn_case_input *input = &d->c.inputs[index];
        const tn_type type = stored_type(d, port, input->type);
        if (type == TN_NONE || !tn_format_fits(port->format, input->shape.rank)) return false;
        has_reals = has_reals || input->type == TN_F32;
        if (input->type == TN_F32 && type == d->stored) narrow |= UINT64_C(1) << index;
    }
    *out_narrow = narrow;
    if (d->stored == TN_NONE) return true;
    for (uint32_t i = 0; i < d->node->output_count; i++) {
        is_any = is_any || names_stored(d, tn_combination_output(combination, i));
    }
    *out_narrow = narrow;
    return narrow != 0 || (is_any && has_reals);
}

static tn_type element_type(tn_type stored) {
    return stored == TN_STORED_QI8 ? TN_I8 : stored;
}

/* Whether a kernel sees the input's value before the run. */
static bool is_constant(const drawn *d, uint32_t index) {
    const tn_port *port = &d->op->inputs[d->c.inputs[index].port];
    if (d->stored != TN_NONE) return !(d->narrow >> index & 1);
    return (port->flags & TN_PORT_VALUE_NEEDED) || (d->are_constant && index > 0);
}

static bool describe_run(const drawn *d, const tn_kernel *kernel, const tn_combination *combination,
                         tn_stored_run *run) {
    *run = (tn_stored_run){.runtime = d->runtime,
                           .kernel = kernel,
                           .node = d->node,
                           .device = d->device,
                           .stream = d->stream,
                           .input_count = d->node->input_count,
                           .output_count = d->node->output_count};
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (d->node->inputs[i] == TN_NO_TENSOR) continue;
        const tn_combination_port *port = tn_combination_input(combination, i);
        const uint32_t index = case_input_of(d, i);
        const tn_case_input *input = &d->c.inputs[index];
        const tn_type type = stored_type(d, port, input->type);
        run->inputs[i] = (tn_stored_tensor){.is_given = true,
                                            .type = element_type(type),
                                            .format = port->format,
                                            .scale = type == TN_STORED_QI8 ? d->scales[index] : 0,
                                            .own_type = input->type,
                                            .shape = &input->shape,
                                            .data = input->data,
                                            .is_constant = is_constant(d, index)};
    }
    for (uint32_t i = 0; i < d->expected.count && i < run->output_count; i++) {
        const tn_combination_port *port = tn_combination_output(combination, i);
        const tn_type type = stored_type(d, port, d->expected.types[i]);
        if (type == TN_NONE || !tn_format_fits(port->format, d->expected.shapes[i].rank))
            return false;
        run->outputs[i] =
            (tn_stored_tensor){.is_given = true,
                               .type = element_type(type),
                               .format = port->format,
                               .scale = type == TN_STORED_QI8 ? d->output_scales[i] : 0,
                               .own_type = d->expected.types[i],
                               .shape = &d->expected.shapes[i]};
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * epilogues */

/* A chain on the first output; null data where the kernel does not absorb it. Fills run's
 * epilogues and operands (`operand` has operand_room). */
static bool add_chain(drawn *d, tn_stored_run *run, uint32_t chain, float *operand,
                      tn_shape *channels) {
    const bool has_bias = chain == 2, has_residual = chain == 1 || chain == 3;
    const tn_stored_tensor *y = &run->outputs[0];
    const uint32_t activations[] = {0, TN_ACTIVATION_RELU, TN_ACTIVATION_CLIP,
                                    TN_ACTIVATION_LEAKY_RELU};
    const uint32_t wanted = TN_EPILOGUE_BIT(TN_EPILOGUE_ACTIVATION) |
                            (has_bias ? TN_EPILOGUE_BIT(TN_EPILOGUE_BIAS) : 0) |
                            (has_residual ? TN_EPILOGUE_BIT(TN_EPILOGUE_ADD) : 0);
    if (chain == 0) return true;
    if ((run->kernel->epilogues & wanted) != wanted || y->own_type != TN_F32 ||
        y->shape->rank < 2 ||
        (run->kernel->activations && !(run->kernel->activations >> activations[chain] & 1)))
        return false;
    const uint32_t axis =
        y->shape->rank > 2 && strcmp(d->op->name, "MatMul") != 0 ? 1 : y->shape->rank - 1;
    *channels = (tn_shape){.rank = 1, .extents = {y->shape->extents[axis]}};
    const double range = d->largest[0] > 0 ? d->largest[0] : 1;
    run->operand_count = 1;
    run->operands[0] = *y;
    if (has_bias) {
        run->operands[0] = (tn_stored_tensor){
            .type = TN_F32, .own_type = TN_F32, .shape = channels, .is_constant = true};
    } else if (y->scale != 0) {
        run->operands[0].scale = d->draw == EXACT ? y->scale / 2 : y->scale * 0.7f;
    }
    run->operands[0].is_given = true;
    run->operands[0].data = operand;
    const size_t count = count_of(run->operands[0].shape);
    for (size_t i = 0; i < count; i++) {
        const double value = (draw_number(d) * 2 - 1) * range * 0.6;
        const float scale = run->operands[0].scale;
        operand[i] = scale == 0 ? (float)value
                                : fmaxf(-128, fminf(127, rintf((float)value / scale))) * scale;
        if (run->operands[0].type == TN_F16) operand[i] = tn_f16_to_f32(tn_f32_to_f16(operand[i]));
        if (run->operands[0].type == TN_BF16)
            operand[i] = tn_bf16_to_f32(tn_f32_to_bf16(operand[i]));
    }
    run->epilogue_count = 2;
    run->epilogues[0] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                      .kind = has_bias ? TN_EPILOGUE_BIAS : TN_EPILOGUE_ADD,
                                      .axis = has_bias ? (int32_t)axis : 0,
                                      .type = TN_F32};
    run->epilogues[1] = (tn_epilogue){.size = sizeof(tn_epilogue),
                                      .kind = TN_EPILOGUE_ACTIVATION,
                                      .activation = activations[chain],
                                      .alpha = chain == 2 ? (float)(-0.3 * range) : 0.125f,
                                      .beta = (float)(0.4 * range),
                                      .type = TN_F32};
    return true;
}

/* The reference's number after the chain. */
static double after_chain(const tn_stored_run *run, size_t index, double y) {
    if (run->epilogue_count == 0) return y;
    const tn_epilogue *first = &run->epilogues[0], *second = &run->epilogues[1];
    const float *operand = run->operands[0].data;
    size_t at = index;
    if (first->kind == TN_EPILOGUE_BIAS) {
        const tn_shape *shape = run->outputs[0].shape;
        size_t inner = 1;
        for (uint32_t i = (uint32_t)first->axis + 1; i < shape->rank; i++)
            inner *= (size_t)shape->extents[i];
        at = index / inner % (size_t)shape->extents[first->axis];
    }
    y += (double)operand[at];
    if (second->activation == TN_ACTIVATION_CLIP) { /* NaN stays NaN */
        y = y < (double)second->alpha ? (double)second->alpha : y;
        return y > (double)second->beta ? (double)second->beta : y;
    }
    return y < 0 ? (second->activation == TN_ACTIVATION_RELU ? 0 : y * (double)second->alpha) : y;
}

/* ----------------------------------------------------------------------------------------------
 * comparing */

static bool compare_bytes(const drawn *d, const tn_stored_run *run, uint32_t output, char *why,
                          size_t bytes) {
    const float *found = run->results[output], *wanted = d->expected.data[output];
    const float *slack = d->slack.count ? d->slack.data[output] : NULL;
    const double scale = (double)run->outputs[output].scale;
    size_t ties = 0, odd = 0;
    for (size_t i = 0, count = count_of(&d->expected.shapes[output]); i < count; i++) {
        const double y = after_chain(output == 0 ? run : &(tn_stored_run){0}, i, (double)wanted[i]);
        const double steps = fmin(fmax(y / scale, -128), 127), q = rint((double)found[i] / scale);
        const double allowed = 0.5 + (slack ? fabs((double)slack[i]) / scale : 0) + 1e-3;
        if (!(fabs(q - steps) <= allowed)) {
            snprintf(why, bytes, "output %u, element %zu is %g steps, expected %.6g +- %.3g",
                     output, i, q, steps, allowed);
            return false;
        }
        if (fabs(steps - floor(steps) - 0.5) < 1e-9) {
            ties++;
            odd += fmod(fabs(q), 2) == 1;
        }
    }
    /* A kernel that computes a little off may miss some, one that rounds otherwise misses half. */
    if (d->draw == EXACT && ties >= 16 && odd * 4 > ties) {
        snprintf(why, bytes, "of %zu ties %zu were rounded to odd numbers", ties, odd);
        return false;
    }
    return true;
}

/* Infinity, found where it is expected or where the type has nothing larger. */
static bool is_beyond(tn_type type, double wanted, double found) {
    const double largest = type == TN_F16 ? 65504 : type == TN_BF16 ? 3.38e38 : (double)INFINITY;
    return isinf(found) && fabs(wanted) >= largest && (found > 0) == (wanted > 0);
}

static bool compare_floats(const drawn *d, const tn_stored_run *run, uint32_t output, char *why,
                           size_t bytes) {
    const tn_type type = run->outputs[output].type;
    const float *found = run->results[output], *wanted = d->expected.data[output];
    const float *slack = d->slack.count ? d->slack.data[output] : NULL;
    const float *sums = d->sums.count ? d->sums.data[output] : NULL;
    for (size_t i = 0, count = count_of(&d->expected.shapes[output]); i < count; i++) {
        const double y = after_chain(output == 0 ? run : &(tn_stored_run){0}, i, (double)wanted[i]);
        const double allowed =
            tn_bound_of(type, y, slack ? (double)slack[i] : 0,
                        sums ? (double)sums[i] : (double)wanted[i], d->largest[output]);
        if (!(fabs((double)found[i] - y) <= allowed) && !is_beyond(type, y, (double)found[i]) &&
            !(isnan(y) && isnan((double)found[i]))) {
            snprintf(why, bytes, "output %u, element %zu is %.9g, expected %.9g +- %.3g", output, i,
                     (double)found[i], y, allowed);
            return false;
        }
    }
    return true;
}

static bool is_tf32(const tn_stored_run *run) {
    return run->kernel->traits & TN_KERNEL_TF32;
}

/* Outputs that are stored as they are and have no epilogues: as near as kernels may be. */
static bool compare_own(const drawn *d, const tn_stored_run *run, char *why, size_t bytes) {
    const uint32_t count =
        run->output_count < d->expected.count ? run->output_count : d->expected.count;
    for (uint32_t i = 0; i < count; i++) {
        if (run->outputs[i].own_type == TN_F32 &&
            (d->stored != TN_NONE || run->epilogue_count || is_tf32(run)))
            continue;
        const tn_outcome wanted = {.count = 1,
                                   .types = {d->expected.types[i]},
                                   .shapes = {d->expected.shapes[i]},
                                   .data = {d->expected.data[i]},
                                   .bytes = {d->expected.bytes[i]}};
        tn_outcome found = wanted;
        found.data[0] = run->results[i];
        if (!tn_results_equal(&wanted, &found, false, why, bytes)) return false;
    }
    return true;
}

static bool compare(const drawn *d, const tn_stored_run *run, char *why, size_t bytes) {
    if (!compare_own(d, run, why, bytes)) return false;
    if (d->stored == TN_NONE && run->epilogue_count == 0 && !is_tf32(run)) return true;
    for (uint32_t i = 0; i < d->expected.count && i < run->output_count; i++) {
        if (run->outputs[i].own_type != TN_F32) continue; /* compare_own did that */
        if (!(run->outputs[i].scale != 0 ? compare_bytes(d, run, i, why, bytes)
                                         : compare_floats(d, run, i, why, bytes)))
            return false;
    }
    return true;
}

static void check_run(drawn *d, tn_stored_run *run, const char *combination, uint32_t chain) {
    char why[300] = "";
    bool is_taken = false, is_passed;
    const tn_status status = tn_stored_do(run, &is_taken);
    if (status == TN_OK && !is_taken) return;
    if (status != TN_OK)
        snprintf(why, sizeof(why), "%s: %s", tn_last_error()->where, tn_last_error()->message);
    is_passed = status == TN_OK && compare(d, run, why, sizeof(why));
    tn_stored_free(run);
    *d->passed += is_passed;
    *d->failed += !is_passed;
    if (!is_passed)
        printf("FAIL %s version %u, %s on %s, \"%s\", %s values, chain %u, %u threads: case "
               "\"%s\": %s\n",
               d->op->name, d->op->since_version, run->kernel->name, run->kernel->device,
               combination, draw_names[d->draw], chain, run->threads, d->text, why);
}

/* Elements of the largest operand: a residual's, or, of an output without elements, a bias's. */
static size_t operand_room(const drawn *d) {
    size_t room = 1;
    if (d->expected.count == 0) return room;
    const tn_shape *shape = &d->expected.shapes[0];
    room += count_of(shape);
    for (uint32_t i = 0; i < shape->rank; i++)
        room += (size_t)shape->extents[i];
    return room;
}

static void check_combination(drawn *d, const tn_kernel_entry *entry, uint32_t index) {
    const size_t count = d->expected.count ? count_of(&d->expected.shapes[0]) : 0;
    float *operand = malloc(operand_room(d) * sizeof(*operand));
    tn_stored_run *run = malloc(sizeof(*run));
    tn_shape channels;
    const bool is_large = count > LARGE;
    const uint32_t most_threads = d->device ? 1 : 2, least_threads = is_large ? most_threads : 1;
    for (uint32_t chain = 0; chain < (is_large ? 2 : CHAIN_COUNT) && operand && run; chain++) {
        for (uint32_t threads = least_threads; threads <= most_threads; threads++) {
            if (!describe_run(d, entry->kernel, &entry->combinations[index], run) ||
                !add_chain(d, run, chain, operand, &channels))
                continue;
            run->threads = threads;
            check_run(d, run, entry->kernel->combinations[index], chain);
        }
    }
    free(run);
    free(operand);
}

/* ----------------------------------------------------------------------------------------------
 * all */

/* Their rounding then does nothing. */
static bool has_exact_weights(const drawn *d) {
    if (d->stored == TN_NONE) return false;
    return d->draw == EXACT || d->draw == SATURATE;
}

/* Draws the values, and lets the reference compute from them. */
static tn_status draw_case(drawn *d) {
    const tn_way reference = {.is_reference = true, .threads = 1};
    TN_TRY(tn_case_read(d->arena, d->op, d->text, &d->c));
    if (has_exact_weights(d)) draw_exact(d);
    TN_TRY(round_inputs(d));
    TN_TRY(tn_case_run(d->runtime, d->op, &d->c, &reference, &d->expected));
    if (d->stored != TN_NONE && has_weights(d)) {
        const tn_bound_case bound = bound_case(d);
        if (!has_exact_weights(d)) TN_TRY(tn_bound_weights(&bound, &d->slack));
        if (d->stored != TN_STORED_QI8) TN_TRY(tn_bound_sums(&bound, &d->sums));
    }
    for (uint32_t i = 0; i < d->expected.count; i++) {
        if (d->expected.types[i] != TN_F32) continue;
        d->largest[i] = largest_of(d->expected.data[i], count_of(&d->expected.shapes[i]));
        const double range = d->largest[i] > 0 ? d->largest[i] : 1;
        d->output_scales[i] = d->draw == EXACT      ? power_of_two(range / 31)
                              : d->draw == SATURATE ? (float)(range / 127 * 0.4)
                                                    : (float)(range / 127);
        for (uint32_t k = 0; d->draw == EQUAL && k < d->c.input_count; k++) {
            if (d->scales[k] != 0) d->output_scales[i] = d->scales[k];
        }
    }
    return TN_OK;
}

/* All combinations of all kernels that store the inputs `narrow` as d->stored. */
static void check_narrow(drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    const uint64_t narrow = d->narrow;
    for (d->draw = 0; d->draw < (d->stored == TN_STORED_QI8 ? DRAW_COUNT : 2u); d->draw++) {
        d->expected.count = d->slack.count = d->sums.count = 0;
        memset(d->scales, 0, sizeof(d->scales));
        d->random = 20011 + d->draw;
        const tn_status status = draw_case(d);
        if (status != TN_OK) {
            *d->failed += 1;
            printf("FAIL %s version %u: case \"%s\": %s\n", d->op->name, d->op->since_version,
                   d->text, tn_last_error()->message);
        }
        const bool is_large = d->expected.count && count_of(&d->expected.shapes[0]) > LARGE;
        for (uint32_t e = 0; status == TN_OK && e < entry_count; e++) {
            for (uint32_t k = 0; k < entries[e]->combination_count; k++) {
                uint64_t wanted;
                if (narrow_inputs(d, &entries[e]->combinations[k], &wanted) && wanted == narrow)
                    check_combination(d, entries[e], k);
            }
        }
        tn_outcome_free(&d->expected);
        tn_outcome_free(&d->slack);
        tn_outcome_free(&d->sums);
        if (is_large && d->draw == RANGE) break;
    }
}

/* Every set of inputs that some combination stores as `d->stored`, once. */
static void check_stored(drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    uint64_t done[64];
    size_t done_count = 0;
    for (uint32_t e = 0; e < entry_count; e++) {
        for (uint32_t k = 0; k < entries[e]->combination_count; k++) {
            size_t known = 0;
            if (!narrow_inputs(d, &entries[e]->combinations[k], &d->narrow)) continue;
            while (known < done_count && done[known] != d->narrow)
                known++;
            if (known < done_count || done_count == 64) continue;
            done[done_count++] = d->narrow;
            check_narrow(d, entries, entry_count);
        }
    }
}

/* The kernels that multiply as tf32, or those that do not; with all inputs but the first constant,
 * or with all unknown. */
static void check_entries(drawn *d, const tn_kernel_entry **entries, uint32_t entry_count,
                          bool rounds) {
    for (uint32_t e = 0; e < entry_count; e++) {
        const bool is_rounding = entries[e]->kernel->traits & TN_KERNEL_TF32;
        for (uint32_t k = 0; is_rounding == rounds && k < entries[e]->combination_count; k++) {
            if (narrow_inputs(d, &entries[e]->combinations[k], &d->narrow))
                check_combination(d, entries[e], k);
        }
    }
}

static bool has_tf32(const tn_kernel_entry **entries, uint32_t entry_count) {
    for (uint32_t e = 0; e < entry_count; e++)
        if (entries[e]->kernel->traits & TN_KERNEL_TF32) return true;
    return false;
}

/* The combinations that take everything as it is. */
static void check_own(drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    d->draw = RANGE;
    d->expected.count = d->slack.count = d->sums.count = 0;
    d->narrow = 0;
    tn_status status = draw_case(d);
    for (int constant = 0; status == TN_OK && constant < 2; constant++) {
        d->are_constant = constant;
        check_entries(d, entries, entry_count, false);
    }
    if (status == TN_OK && has_tf32(entries, entry_count)) {
        const tn_bound_case bound = bound_case(d);
        status = tn_bound_tf32(&bound, &d->slack);
        for (int constant = 0; status == TN_OK && constant < 2; constant++) {
            d->are_constant = constant;
            check_entries(d, entries, entry_count, true);
        }
    }
    if (status != TN_OK) {
        *d->failed += 1;
        printf("FAIL %s version %u: case \"%s\": %s\n", d->op->name, d->op->since_version, d->text,
               tn_last_error()->message);
    }
    tn_outcome_free(&d->expected);
    tn_outcome_free(&d->slack);
}

static void check_kinds(drawn *d, const tn_kernel_entry **entries, uint32_t entry_count) {
    static const tn_type kinds[] = {TN_STORED_QI8, TN_F16, TN_BF16};
    d->node = &d->graph->nodes[0];
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        d->stored = kinds[i];
        check_stored(d, entries, entry_count);
    }
    d->stored = TN_NONE;
    if (d->device) check_own(d, entries, entry_count);
}

void tn_stored_check(tn_runtime *runtime, const tn_operator *op, const char *text,
                     size_t *inout_passed, size_t *inout_failed) {
    tn_stored_check_on(runtime, op, text, NULL, NULL, inout_passed, inout_failed);
}

void tn_stored_check_on(tn_runtime *runtime, const tn_operator *op, const char *text,
                        const tn_device *device, void *stream, size_t *inout_passed,
                        size_t *inout_failed) {
    const tn_way way = {.threads = 1};
    drawn *d = calloc(1, sizeof(*d));
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    if (!d) return;
    *d = (drawn){.runtime = runtime,
                 .op = op,
                 .text = text,
                 .device = device,
                 .stream = stream,
                 .passed = inout_passed,
                 .failed = inout_failed};
    tn_status status = tn_arena_create(tn_allocator_default(), &d->arena);
    if (status == TN_OK) status = tn_case_read(d->arena, op, text, &d->c);
    if (status == TN_OK) status = tn_case_graph(runtime, op, &d->c, &way, &d->graph);
    if (status == TN_OK)
        status = tn_registry_kernels(tn_runtime_registry(runtime), op,
                                     device ? device->kind : "cpu", &entries, &count);
    if (status == TN_OK) check_kinds(d, entries, count);
    tn_registry_free_kernels(tn_runtime_registry(runtime), entries, count);
    tn_graph_destroy(d->graph);
    tn_arena_destroy(d->arena);
    free(d);
}
