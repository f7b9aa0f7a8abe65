/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service by which `run` asks for the memory of outputs without a bound
 * (tenon/plugin/output.h), and what stands behind it: a source of memory in the call's scope, which
 * the layers above provide. What may be asked for is checked here, the same for all of them.
 */
#ifndef TN_PLUGIN_OUTPUTS_H
#define TN_PLUGIN_OUTPUTS_H

#include "plugin/call.h"
#include "tensor/shape.h"

#include <pthread.h>
#include <tenon/plugin/output.h>

/* An output of the call at work. */
typedef struct tn_output_state {
    int64_t extents[TN_MAX_RANK]; /* TN_UNBOUNDED where nothing bounds them; final once asked for */
    uint32_t rank;
    tn_type type;
    tn_format format;
    bool is_unbounded, is_rank_open, is_asked;
} tn_output_state;

typedef struct tn_output_source tn_output_source;
struct tn_output_source {
    /* Memory for an output of so many bytes (0 is fine), aligned as the call's device needs. What
     * is asked for has been checked; the output's descriptor is written afterwards. */
    tn_status (*allocate)(tn_output_source *source, tn_call *call, uint32_t index, uint64_t bytes,
                          void **out_data);
    void *user;
    tn_output_state *states; /* room for the call's outputs; of whoever begins */
    pthread_t thread;
};

/* Before the call, whose outputs have their descriptors: notes what is unbounded. Answers whether
 * anything is; only then the source has to be in the call's scope while the callback runs. */
bool tn_outputs_begin(tn_output_source *source, const tn_call *call);
/* After a callback that succeeded: every unbounded output has been asked for, and has its shape
 * still. TN_ERROR_PLUGIN, which names node, operator and kernel. */
tn_status tn_outputs_end(const tn_output_source *source, tn_call *call, const char *callback_name);

/* The table of "tn.output/1". */
const tn_output_memory *tn_output_memory_table(void);

#endif
