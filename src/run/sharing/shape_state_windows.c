/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that lie in larger ones: what a node cuts out of a tensor lies where that tensor is, and
 * what a node joins is made where the result will be. Such a node's step is dropped, unless it is
 * computed by the reference, which is what others are compared with. Operators say
 * what they do (tenon/plugin/view.h); whether it can be had without copying is decided here, for
 * one set of shapes. A window is contiguous, or rows at one distance for kernels that say so
 * (strided_rows.c).
 *
 * Nodes that cut are looked at in the order of the program, those that join from the last one back:
 * a tensor that several nodes join, each with one more, then lies in the last result, of which the
 * earlier ones are windows.
 */
#include "base/status.h"
#include "program/view.h"
#include "run/sharing/sharing.h"
#include "tensor/window.h"

typedef struct windows_maker {
    const tn_context *context;
    tn_shape_state *state;
    tn_arena *arena; /* gone when all is decided */
} windows_maker;

/* A step's window: which of two values lies in the other, and where. */
typedef struct value_window {
    uint32_t value, larger;
    size_t offset, bytes;
    tn_window rows;
} value_window;

static bool is_own(const tn_shape_state *state, uint32_t value) {
    return state->locations[value].kind == TN_LOCATION_ARENA ||
           state->locations[value].kind == TN_LOCATION_DEVICE;
}

static size_t alignment_of(const windows_maker *maker, uint32_t value) {
    const tn_engine *engine = maker->context->engine;
    return engine->program->values[value].space == TN_SPACE_DEVICE
               ? (size_t)engine->device->alignment
               : 64;
}

/* What a window's offset has to be a multiple of. Rows of a device lie as its kernels that accept
 * rows want them, which are fewer bytes than its tensors are aligned to. */
static size_t step_of(const windows_maker *maker, uint32_t larger, const tn_window *window) {
    const bool is_device = maker->context->engine->program->values[larger].space == TN_SPACE_DEVICE;
    return window->row_count > 1 && is_device ? TN_VIEW_ROW_BYTES : alignment_of(maker, larger);
}

static bool are_stored_alike(const windows_maker *maker, uint32_t a, uint32_t b) {
    const tn_program_value *values = maker->context->engine->program->values;
    return values[a].space == values[b].space && values[a].format == values[b].format &&
           tn_program_value_is_alike(&values[a], &values[b]);
}

/* Aligned as tensors are, and contiguous, or rows that all other steps accept; false: it has to be
 * copied. */
static bool find_window(const windows_maker *maker, uint32_t step, uint32_t value, uint32_t larger,
                        const tn_view *view, value_window *out_window) {
    const tn_tensor_storage *whole = &maker->state->tensors[larger],
                            *part = &maker->state->tensors[value];
    tn_window found;
    if (!are_stored_alike(maker, value, larger) || whole->tensor.type == TN_STRING ||
        !tn_window_find(whole->tensor.type, whole->tensor.format, &whole->shape, view->offsets,
                        part->shape.extents, &found) ||
        !tn_strided_rows_compose(maker->state, larger, &found))
        return false;
    *out_window =
        (value_window){value, larger, found.offset_bytes, (size_t)part->tensor.bytes, found};
    if (found.row_count > 1 &&
        !tn_strided_rows_allowed(maker->context, maker->state, value, step, &found))
        return false;
    return found.row_count == 0 || found.offset_bytes % step_of(maker, larger, &found) == 0;
}

static bool find_windows(const windows_maker *maker, uint32_t index, uint32_t kind, uint32_t count,
                         const tn_node_window *asked, value_window *windows) {
    const tn_program_step *step = &maker->context->engine->program->steps[index];
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t input = step->inputs[asked[i].input],
                       output = step->outputs[asked[i].output];
        if (input == TN_NO_VALUE || output == TN_NO_VALUE) return false;
        const bool cuts = kind == TN_VIEW_OF_INPUT;
        if (!find_window(maker, index, cuts ? output : input, cuts ? input : output, &asked[i].view,
                         &windows[i]))
            return false;
    }
    return count > 0;
}

static void lay(tn_shape_state *state, uint32_t value, uint32_t root, size_t shift) {
    state->locations[value].root = root;
    state->locations[value].shift = shift;
}

/* ----------------------------------------------------------------------------------------------
 * joining */

/* What would have to be done to the memory that a window has now so that it lies in its result. */
typedef struct claim {
    uint32_t root;
    int64_t shift; /* of the root's memory in the result's */
} claim;

static claim find_claim(const tn_shape_state *state, const value_window *window) {
    size_t shift;
    const uint32_t root = tn_shape_state_root(state, window->value, &shift);
    return (claim){root, (int64_t)window->offset - (int64_t)shift};
}

/* Whether a window is rows that lie apart, in the result or where it is now. */
static bool is_apart(const tn_shape_state *state, const value_window *window) {
    return window->rows.row_count > 1 || tn_strided_rows_is(state, window->value);
}

/* Whether all inputs lie in one value as they would in the result: that is then a window of it. */
static bool lie_joined(const windows_maker *maker, const value_window *windows, uint32_t count,
                       uint32_t result) {
    const tn_shape_state *state = maker->state;
    const claim first = find_claim(state, &windows[0]);
    size_t shift;
    const uint32_t own = tn_shape_state_root(state, result, &shift);
    if (first.shift > 0 || tn_strided_rows_is(state, result)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const claim item = find_claim(state, &windows[i]);
        if (item.root != first.root || item.shift != first.shift || is_apart(state, &windows[i]))
            return false;
    }
    const size_t at = (size_t)-first.shift;
    if (own == first.root) return at == shift;
    return own == result && at % alignment_of(maker, result) == 0 &&
           at + state->tensors[result].tensor.bytes <= state->tensors[first.root].tensor.bytes;
}

/* Whether the memory of a window of rows can be moved into the result: it is its own and joined
 * once, and nothing lies within it. */
static bool may_claim_rows(const windows_maker *maker, const value_window *windows, uint32_t count,
                           uint32_t index, uint32_t result) {
    const tn_shape_state *state = maker->state;
    const tn_program *program = maker->context->engine->program;
    const uint32_t value = windows[index].value;
    if (!is_own(state, value) || tn_strided_rows_is(state, value) ||
        state->locations[value].root != value ||
        program->values[value].space != program->values[result].space)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (i != index && windows[i].value == value) return false;
    for (uint32_t v = 0; v < program->value_count; v++)
        if (v != value && state->locations[v].root == value) return false;
    return true;
}

/* Whether the whole of window `index`'s memory can be moved into the result's: every byte of it is
 * some window's, and all of these at the same distance. */
static bool may_claim(const windows_maker *maker, const value_window *windows, uint32_t count,
                      uint32_t index, uint32_t result) {
    const tn_shape_state *state = maker->state;
    if (is_apart(state, &windows[index]))
        return may_claim_rows(maker, windows, count, index, result);
    const claim wanted = find_claim(state, &windows[index]);
    const uint64_t bytes = state->tensors[wanted.root].tensor.bytes;
    uint64_t covered = 0;
    if (!is_own(state, wanted.root) || wanted.shift < 0 ||
        (uint64_t)wanted.shift + bytes > state->tensors[result].tensor.bytes ||
        (size_t)wanted.shift % alignment_of(maker, result) != 0 ||
        maker->context->engine->program->values[wanted.root].space !=
            maker->context->engine->program->values[result].space)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const claim other = find_claim(state, &windows[i]);
        if (other.root != wanted.root) continue;
        if (other.shift != wanted.shift) return false;
        covered += windows[i].bytes;
    }
    return covered == bytes;
}

/* Whether a window is where it has to be already. */
static bool is_there(const tn_shape_state *state, const value_window *window, uint32_t result) {
    size_t at, own;
    const uint32_t root = tn_shape_state_root(state, window->value, &at);
    return root == tn_shape_state_root(state, result, &own) && at == own + window->offset &&
           !is_apart(state, window);
}

static uint32_t leave_out_empty(value_window *windows, uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (windows[i].bytes > 0) windows[kept++] = windows[i];
    return kept;
}

static bool join(const windows_maker *maker, value_window *windows, uint32_t count) {
    tn_shape_state *state = maker->state;
    const uint32_t result = windows[0].larger;
    size_t shift;
    count = leave_out_empty(windows, count);
    if (count == 0) return true;
    if (lie_joined(maker, windows, count, result)) {
        const claim first = find_claim(state, &windows[0]);
        if (tn_shape_state_root(state, result, &shift) != first.root)
            lay(state, result, first.root, (size_t)-first.shift);
        return true;
    }
    const uint32_t own = tn_shape_state_root(state, result, &shift);
    for (uint32_t i = 0; i < count; i++) {
        if (is_there(state, &windows[i], result)) continue;
        if (find_claim(state, &windows[i]).root == own ||
            !may_claim(maker, windows, count, i, result))
            return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (is_there(state, &windows[i], result)) continue;
        const claim moved = find_claim(state, &windows[i]);
        tn_strided_rows_lay(state, windows[i].value, result, &windows[i].rows);
        lay(state, moved.root, result, (size_t)moved.shift);
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static bool cut(tn_shape_state *state, const value_window *windows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        tn_strided_rows_lay(state, windows[i].value, windows[i].larger, &windows[i].rows);
        lay(state, windows[i].value, windows[i].larger, windows[i].offset);
    }
    return true;
}

static tn_status drop_step(const windows_maker *maker, uint32_t index, uint32_t wanted) {
    const tn_context *context = maker->context;
    const tn_program_step *step = &context->engine->program->steps[index];
    const tn_node_window *asked;
    uint32_t count = 0, kind = 0;
    if (step->kind != TN_STEP_KERNEL || step->is_host || !step->kernel || step->absorbed_count > 0)
        return TN_OK;
    TN_TRY(tn_node_windows(&context->shapes.inference, step->node, maker->arena, &kind, &count,
                           &asked));
    if (count == 0 || kind != wanted) return TN_OK;
    value_window *windows = tn_arena_allocate(maker->arena, count, sizeof *windows);
    if (!windows) return tn_fail_memory("a set of shapes");
    maker->state->is_dropped[index] = find_windows(maker, index, kind, count, asked, windows) &&
                                      (kind == TN_VIEW_OF_INPUT ? cut(maker->state, windows, count)
                                                                : join(maker, windows, count));
    return TN_OK;
}

static tn_status drop_steps(const windows_maker *maker) {
    const uint32_t count = maker->context->engine->program->step_count;
    for (uint32_t s = 0; s < count; s++)
        TN_TRY(drop_step(maker, s, TN_VIEW_OF_INPUT));
    for (uint32_t s = count; s-- > 0;)
        TN_TRY(drop_step(maker, s, TN_VIEW_OF_OUTPUT));
    return TN_OK;
}

tn_status tn_shape_state_share_windows(const tn_context *context, tn_shape_state *state) {
    windows_maker maker = {.context = context, .state = state};
    TN_TRY(tn_arena_create(&context->allocator, &maker.arena));
    const tn_status status = drop_steps(&maker);
    tn_arena_destroy(maker.arena);
    return status;
}
