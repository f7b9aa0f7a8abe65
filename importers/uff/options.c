/* SPDX-License-Identifier: Apache-2.0 */
/* The options of reading a UFF file: inputs as "NAME" or "NAME=1x3x-1x-1". */
#include "base/status.h"
#include "importers/uff/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tn_status fail_shape(const char *text) {
    return tn_fail(TN_ERROR_ARGUMENT,
                   "input '%.200s' has no shape behind its '=': expected extents like 1x3x-1x-1",
                   text);
}

/* "" is a scalar's shape. */
static tn_status read_shape(const char *text, const char *at, tn_uff_input *input) {
    input->has_shape = true;
    while (*at) {
        char *end;
        errno = 0;
        const int64_t extent = strtoll(at, &end, 10);
        if (end == at || errno || extent < -1 || (*end && (*end != 'x' || !end[1])))
            return fail_shape(text);
        if (input->rank < TN_MAX_RANK) input->extents[input->rank] = extent;
        input->rank++;
        at = end + (*end == 'x');
    }
    return TN_OK;
}

static tn_status read_input(tn_arena *arena, const char *text, tn_uff_input *input) {
    const char *equals = strrchr(text, '=');
    input->name = equals ? tn_arena_format(arena, "%.*s", (int)(equals - text), text) : text;
    if (!input->name) return tn_fail_memory("an option");
    if (equals) TN_TRY(read_shape(text, equals + 1, input));
    if (input->rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' was given rank %" PRIu32 "; at most %d is possible", input->name,
                       input->rank, TN_MAX_RANK);
    return TN_OK;
}

tn_status tn_uff_options_read(tn_arena *arena, const tn_uff_params *params,
                              tn_uff_options *out_options) {
    if (params->inputs.count > 65536 || params->outputs.count > 65536)
        return tn_fail(TN_ERROR_ARGUMENT, "more than 65536 inputs or outputs are named");
    tn_uff_input *inputs = tn_arena_allocate(arena, (size_t)params->inputs.count, sizeof(*inputs));
    if (!inputs) return tn_fail_memory("options");
    for (uint64_t i = 0; i < params->inputs.count; i++)
        TN_TRY(read_input(arena, params->inputs.items[i], &inputs[i]));
    *out_options = (tn_uff_options){.order = params->order,
                                    .without_weights = params->without_weights,
                                    .input_count = (uint32_t)params->inputs.count,
                                    .output_count = (uint32_t)params->outputs.count,
                                    .inputs = inputs,
                                    .outputs = params->outputs.items};
    return TN_OK;
}
