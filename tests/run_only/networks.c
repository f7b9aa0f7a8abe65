/* SPDX-License-Identifier: Apache-2.0 */
/* One run of an engine; see networks.h. Both libraries have what it calls. */
#include "networks.h"

#include <stdlib.h>
#include <string.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const tn_status tried = (call);                                                            \
        if (tried != TN_OK) return tried;                                                          \
    } while (0)

static size_t resolve(const tn_port_info *port, int64_t extent, int64_t *shape) {
    size_t count = 1;
    for (uint32_t axis = 0; axis < port->rank; axis++) {
        shape[axis] = port->extents[axis] < 0 ? extent : port->extents[axis];
        count *= (size_t)shape[axis];
    }
    return count;
}

/* Between -1 and 1. */
static void fill(float *values, size_t count, uint32_t input) {
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((i * 37 + 11 * input) % 101) / 50.0F - 1.0F;
}

static tn_status bind(tn_context *context, const tn_port_info *port, uint32_t input, int64_t extent,
                      float **out_values) {
    int64_t shape[TN_MAX_RANK];
    const size_t count = resolve(port, extent, shape);
    *out_values = malloc((count + 1) * sizeof(float));
    if (!*out_values) return TN_ERROR_MEMORY;
    fill(*out_values, count, input);
    TRY(tn_context_set_shape(context, input, port->rank, shape));
    return tn_context_bind_input(context, input, *out_values, count * sizeof(float));
}

static tn_status append(tn_context *context, uint32_t output, run_only_bytes *bytes) {
    const tn_tensor *tensor;
    TRY(tn_context_output(context, output, &tensor));
    unsigned char *grown = realloc(bytes->data, bytes->count + tensor->bytes + 1);
    if (!grown) return TN_ERROR_MEMORY;
    memcpy(grown + bytes->count, tensor->data, tensor->bytes);
    bytes->data = grown;
    bytes->count += tensor->bytes;
    return TN_OK;
}

enum { INPUTS_AT_MOST = 4 };
static tn_status run(tn_context *context, tn_engine *engine, int64_t extent, float **values,
                     run_only_bytes *out_bytes) {
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++)
        TRY(bind(context, tn_engine_input(engine, i), i, extent, &values[i]));
    TRY(tn_context_run(context));
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++)
        TRY(append(context, i, out_bytes));
    return TN_OK;
}

tn_status run_only_compute(tn_engine *engine, int64_t extent, run_only_bytes *out_bytes) {
    float *values[INPUTS_AT_MOST] = {NULL};
    tn_context *context = NULL;
    *out_bytes = (run_only_bytes){NULL, 0};
    if (tn_engine_input_count(engine) > INPUTS_AT_MOST) return TN_ERROR_ARGUMENT;
    tn_status status = tn_context_create(engine, &context);
    if (status == TN_OK) status = run(context, engine, extent, values, out_bytes);
    tn_context_destroy(context);
    for (int i = 0; i < INPUTS_AT_MOST; i++)
        free(values[i]);
    return status;
}
