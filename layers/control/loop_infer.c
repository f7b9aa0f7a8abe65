/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape rule of Loop. The body is asked for its first iteration, and for those behind it as
 * long as shapes change: what is the same in all of them is known before a run, the rest is open.
 * The number of iterations is known where the limit is and where the body never says that it ends.
 */
#include "loop.h"

#include <string.h>

enum {
    MOST_FOLLOWED = 8, /* iterations whose shapes are followed one by one */
    MOST_ASKED = 64,   /* where their number is not known, and each finds more that is open */
    NOT_KNOWN = -1
};

/* Of one call of the shape rule. */
typedef struct loop_shapes {
    int64_t count; /* of iterations, or NOT_KNOWN */
    uint32_t carried;
    uint32_t stacked;
    bool is_followed; /* each iteration is asked for: the last one's shapes are those carried out */
    int64_t number, one;
    bool condition;
    tn_tensor counter, flag;
    tn_control_shapes given; /* what is carried into the iteration, from 0 */
    tn_control_shapes made;  /* the body's outputs */
    tn_control_shapes
        known; /* carried: of all iterations so far and before; then what is stacked */
    const tn_tensor *inputs[TN_BODY_MAX_PORTS];
} loop_shapes;

static tn_status check_ports(tn_call *call) {
    const tn_body_graph *body = tn_loop_body(call);
    const uint32_t carried = tn_loop_carried(call);
    TN_TRY(tn_control_require_one(call, TN_LOOP_LIMIT));
    TN_TRY(tn_control_require_one(call, TN_LOOP_CONDITION));
    if (body->input_count != carried + 2 || body->output_count < carried + 1)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "body '%s' has %u inputs and %u outputs: expected %u and at least "
                                "%u, since %u tensors are carried",
                                body->name, body->input_count, body->output_count, carried + 2,
                                carried + 1, carried);
    if (call->output_count > body->output_count - 1)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "the node has %u outputs: body '%s' has %u beside its condition",
                                call->output_count, body->name, body->output_count - 1);
    for (uint32_t i = 0; i < carried; i++)
        if (!call->inputs[TN_LOOP_CARRIED + i])
            return call->host->fail(call, TN_ERROR_ARGUMENT, "carried tensor %u is absent", i);
    return TN_OK;
}

static void start(const tn_call *call, loop_shapes *loop) {
    loop->carried = tn_loop_carried(call);
    loop->stacked = tn_loop_body(call)->output_count - 1 - loop->carried;
    loop->one = 1;
    loop->counter = (tn_tensor){.size = sizeof(tn_tensor),
                                .type = TN_I64,
                                .bytes = sizeof(int64_t),
                                .shape = &loop->one,
                                .strides = &loop->one};
    loop->flag = loop->counter;
    loop->flag.type = TN_BOOL;
    loop->flag.bytes = sizeof(bool);
    tn_control_shapes_init(&loop->given);
    tn_control_shapes_init(&loop->known);
    loop->inputs[0] = &loop->counter;
    loop->inputs[1] = &loop->flag;
    for (uint32_t i = 0; i < loop->carried; i++) {
        tn_control_shapes_set(&loop->given, i, call->inputs[TN_LOOP_CARRIED + i]);
        tn_control_shapes_set(&loop->known, i, call->inputs[TN_LOOP_CARRIED + i]);
        loop->inputs[TN_LOOP_CARRIED + i] = &loop->given.tensors[i];
    }
}

/* ----------------------------------------------------------------------------------------------
 * how many iterations */

/* Whether an iteration that began says of itself that another may follow; false where only its data
 * knows. */
static tn_status ask_condition(tn_call *call, loop_shapes *loop, bool *out_is_known,
                               bool *out_condition) {
    loop->condition = true;
    loop->flag.data = &loop->condition;
    const tn_status status = tn_control_bodies(call)->value(
        call, tn_loop_body(call), loop->inputs, 0, sizeof(bool), out_condition, out_is_known);
    loop->flag.data = NULL;
    if (status == TN_ERROR_MEMORY) return status;
    if (status != TN_OK)
        *out_is_known = false; /* what is wrong is said when shapes are asked for */
    return TN_OK;
}

static tn_status count_iterations(tn_call *call, loop_shapes *loop) {
    const tn_tensor *limit = tn_infer_input(call, TN_LOOP_LIMIT);
    const tn_tensor *condition = tn_infer_input(call, TN_LOOP_CONDITION);
    const bool is_limited = limit && limit->data;
    const int64_t most = is_limited ? tn_loop_limit(call) : NOT_KNOWN;
    bool is_known = false, goes_on = false;
    loop->count = NOT_KNOWN;
    if (most == 0 || (condition && condition->data && !*(const bool *)condition->data)) {
        loop->count = 0;
        return TN_OK;
    }
    if (condition && !condition->data) return TN_OK;
    TN_TRY(ask_condition(call, loop, &is_known, &goes_on));
    if (is_known && !goes_on && (is_limited || !limit)) loop->count = 1;
    if (is_known && goes_on && is_limited) loop->count = most;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * iterations */

static tn_status check_types(tn_call *call, const loop_shapes *loop) {
    const tn_tensor *condition = &loop->made.tensors[0];
    if (condition->type != TN_BOOL)
        return call->host->fail(call, TN_ERROR_TYPE,
                                "the first output of the body, its condition, is %s: expected bool",
                                tn_control_type(condition->type));
    for (uint32_t i = 0; i < loop->carried; i++)
        TN_TRY(tn_control_check_type(call, "carried tensor", i, &loop->given.tensors[i],
                                     &loop->made.tensors[1 + i]));
    return TN_OK;
}

/* Of one iteration: whether it carries out other shapes than it was given, and whether it opens
 * what those before it left alone. */
typedef struct iteration_news {
    bool is_changed, is_opened;
} iteration_news;

static bool open_where_different(tn_tensor *known, const tn_tensor *made) {
    const uint32_t rank = known->rank;
    bool is_opened = false;
    int64_t before[TN_MAX_RANK];
    for (uint32_t axis = 0; axis < tn_control_rank(known); axis++)
        before[axis] = known->shape[axis];
    tn_control_join(known, made);
    for (uint32_t axis = 0; axis < tn_control_rank(known); axis++)
        is_opened = is_opened || known->shape[axis] != before[axis];
    return is_opened || known->rank != rank;
}

static iteration_news note_iteration(loop_shapes *loop) {
    iteration_news news = {false, false};
    for (uint32_t i = 0; i < loop->carried; i++) {
        const tn_tensor *after = &loop->made.tensors[1 + i];
        if (!tn_control_is_same(&loop->given.tensors[i], after)) news.is_changed = true;
        if (open_where_different(&loop->known.tensors[i], after)) news.is_opened = true;
    }
    for (uint32_t i = 0; i < loop->stacked; i++) {
        const tn_tensor *slice = &loop->made.tensors[1 + loop->carried + i];
        tn_tensor *known = &loop->known.tensors[loop->carried + i];
        if (loop->number > 0) {
            if (open_where_different(known, slice)) news.is_opened = true;
        } else {
            tn_control_shapes_set(&loop->known, loop->carried + i, slice);
            known->rank = slice->rank;
        }
    }
    return news;
}

/* What comes out of an iteration goes into the next one, with some extent where none is known. */
static bool carry(loop_shapes *loop) {
    enum { SOME_EXTENT = 60 };
    bool is_known = true;
    for (uint32_t i = 0; i < loop->carried; i++) {
        const tn_tensor *after = &loop->made.tensors[1 + i];
        tn_tensor *next = &loop->given.tensors[i];
        if (after->rank & TN_RANK_OPEN) is_known = false;
        if (after->rank == TN_CONTROL_NO_RANK) continue;
        tn_control_shapes_set(&loop->given, i, after);
        for (uint32_t axis = 0; axis < next->rank; axis++)
            if (next->shape[axis] < 0) {
                next->shape[axis] = SOME_EXTENT + loop->number;
                is_known = false;
            }
    }
    return is_known;
}

/* Whether the next iteration is to be asked for. */
static bool asks_again(const loop_shapes *loop, bool has_values, iteration_news news) {
    if (!news.is_changed && !has_values) return false; /* all others are as this one */
    if (loop->is_followed) return loop->number < loop->count;
    return (news.is_opened || loop->number == 1) && loop->number < MOST_ASKED;
}

static tn_status ask_iterations(tn_call *call, loop_shapes *loop) {
    const tn_body_graph *body = tn_loop_body(call);
    iteration_news news;
    loop->counter.data = &loop->number;
    loop->is_followed = loop->count > 0 && loop->count <= MOST_FOLLOWED;
    do {
        TN_TRY(tn_control_ask(call, body, loop->inputs, &loop->made));
        TN_TRY(check_types(call, loop));
        news = note_iteration(loop);
        if (!carry(loop)) loop->is_followed = false;
        loop->number++;
    } while (asks_again(loop, body->value_inputs != 0, news));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * what is known of the outputs */

/* Values that decide shapes may be others in each iteration. */
static void open_extents(tn_tensor *tensor) {
    for (uint32_t axis = 0; axis < tn_control_rank(tensor); axis++)
        tensor->shape[axis] = TN_UNBOUNDED;
}

static tn_status write_carried(tn_call *call, loop_shapes *loop) {
    for (uint32_t i = 0; i < loop->carried; i++) {
        tn_tensor *known = &loop->known.tensors[i];
        const tn_tensor *result = known;
        if (loop->count == 0 || call->inputs[TN_LOOP_CARRIED + i]->kind)
            result = call->inputs[TN_LOOP_CARRIED + i];
        else if (loop->is_followed)
            result = &loop->given.tensors[i];
        else if (tn_loop_body(call)->value_inputs)
            open_extents(known);
        TN_TRY(tn_control_write(call, i, result, 0, TN_CONTROL_NO_LENGTH));
    }
    return TN_OK;
}

static tn_status write_stacked(tn_call *call, loop_shapes *loop) {
    const int64_t length = loop->count >= 0 ? loop->count : TN_UNBOUNDED;
    for (uint32_t i = 0; i < loop->stacked; i++) {
        tn_tensor *known = &loop->known.tensors[loop->carried + i];
        if (tn_loop_body(call)->value_inputs && !loop->is_followed) open_extents(known);
        if (loop->count == 0) { /* of nothing: any extents are right */
            known->rank = tn_control_rank(known);
            for (uint32_t axis = 0; axis < known->rank; axis++)
                if (known->shape[axis] < 0) known->shape[axis] = 0;
        }
        TN_TRY(tn_control_write(call, loop->carried + i, known, 0, length));
    }
    return TN_OK;
}

static tn_status infer(tn_call *call, loop_shapes *loop) {
    start(call, loop);
    TN_TRY(count_iterations(call, loop));
    TN_TRY(ask_iterations(call, loop));
    TN_TRY(write_carried(call, loop));
    return write_stacked(call, loop);
}

tn_status tn_loop_infer(tn_call *call) {
    TN_TRY(check_ports(call));
    loop_shapes *loop = call->host->allocate(call->host, sizeof(*loop), 64);
    if (!loop) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for shapes");
    memset(loop, 0, sizeof(*loop));
    const tn_status status = infer(call, loop);
    call->host->deallocate(call->host, loop);
    return status;
}
