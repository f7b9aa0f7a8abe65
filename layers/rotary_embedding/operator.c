/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RotaryEmbedding: pairs of a head's elements are turned by angles that depend on the position (Su
 * et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021). Cosines and sines
 * are inputs: a row for each position of each sample, or a table that position_ids point into.
 */
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>
#include "rotary_embedding/rotary_embedding.h"
#include "rotary_embedding/rotate.h"

typedef tn_rotary_params rotary_params;

enum {
    X = TN_ROTARY_X,
    COSINES = TN_ROTARY_COSINES,
    SINES = TN_ROTARY_SINES,
    POSITIONS = TN_ROTARY_POSITIONS
};

static const tn_field rotary_embedding_fields[] = {
    TN_FIELD_RANGE(rotary_params, interleaved, TN_FIELD_I64, TN_OPTIONAL, "0", 0, 1,
                   "1: a pair are elements 2 i and 2 i + 1, not i and i + half"),
    TN_FIELD(rotary_params, num_heads, TN_FIELD_I64, TN_OPTIONAL, "0",
             "heads of an input of rank 3"),
    TN_FIELD(rotary_params, rotary_embedding_dim, TN_FIELD_I64, TN_OPTIONAL, "0",
             "how many elements of a head are turned, the others stay; 0: all"),
};

typedef struct rotary_job {
    const tn_call *call;
    tn_rotary_function function;
    tn_rotary_sizes sizes;
} rotary_job;

static tn_status read_heads(tn_call *call, tn_rotary_sizes *sizes) {
    const rotary_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, X, 3, 4));
    const tn_tensor *x = call->inputs[X];
    const int64_t last = x->shape[x->rank - 1];
    sizes->has_heads_first = x->rank == 4;
    sizes->heads = sizes->has_heads_first ? x->shape[1] : params->num_heads;
    sizes->positions = x->shape[sizes->has_heads_first ? 2 : 1];
    if (sizes->has_heads_first && params->num_heads > 0 && params->num_heads != sizes->heads)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'num_heads' is %lld, X has %lld heads",
                                (long long)params->num_heads, (long long)sizes->heads);
    if (!sizes->has_heads_first && (sizes->heads < 1 || last % sizes->heads != 0))
        return call->host->fail(call, TN_ERROR_RANGE,
                                "X of rank 3 needs field 'num_heads' to divide its %lld elements, "
                                "not %lld",
                                (long long)last, (long long)sizes->heads);
    sizes->depth = sizes->has_heads_first ? last : last / sizes->heads;
    const int64_t turned =
        params->rotary_embedding_dim == 0 ? sizes->depth : params->rotary_embedding_dim;
    if (turned < 0 || turned > sizes->depth || turned % 2 != 0)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "%lld elements of the %lld of a head cannot be turned in pairs",
                                (long long)turned, (long long)sizes->depth);
    sizes->half = turned / 2;
    return TN_OK;
}

/* [positions of a table, half], or [batch, positions, half]. */
static tn_status check_table(tn_call *call, const tn_rotary_sizes *sizes, uint32_t input) {
    const uint32_t rank = tn_infer_input(call, POSITIONS) ? 2 : 3;
    TN_TRY(tn_infer_require_rank(call, input, rank, rank));
    const int64_t *shape = call->inputs[input]->shape;
    const bool fits =
        shape[rank - 1] == sizes->half &&
        (rank == 2 ? shape[0] == call->inputs[COSINES]->shape[0]
                   : shape[0] == call->inputs[X]->shape[0] && shape[1] == sizes->positions);
    char text[TN_INFER_SHAPE_TEXT_BYTES];
    if (fits) return TN_OK;
    return call->host->fail(
        call, TN_ERROR_SHAPE, "input '%s' has the shape %s, which fits not %lld pairs of X%s",
        tn_infer_input_name(call, input), tn_infer_shape_text(rank, shape, text, sizeof(text)),
        (long long)sizes->half, rank == 2 ? "" : " at its positions");
}

tn_status tn_rotary_read(tn_call *call, tn_rotary_sizes *sizes) {
    TN_TRY(read_heads(call, sizes));
    TN_TRY(check_table(call, sizes, COSINES));
    TN_TRY(check_table(call, sizes, SINES));
    const int64_t batch = call->inputs[X]->shape[0];
    sizes->rows =
        tn_element_count(call->inputs[X]) == 0 ? 0 : batch * sizes->heads * sizes->positions;
    if (!tn_infer_input(call, POSITIONS)) return TN_OK;
    TN_TRY(tn_infer_require_rank(call, POSITIONS, 2, 2));
    const int64_t *shape = call->inputs[POSITIONS]->shape;
    if (shape[0] != batch || shape[1] != sizes->positions)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'position_ids' has the shape [%lld, %lld], expected [%lld, "
                                "%lld]",
                                (long long)shape[0], (long long)shape[1], (long long)batch,
                                (long long)sizes->positions);
    return TN_OK;
}

static tn_status rotary_embedding_infer(tn_call *call) {
    tn_rotary_sizes sizes;
    TN_TRY(tn_rotary_read(call, &sizes));
    return tn_infer_copy_shape(call, 0, X);
}

static tn_status check_positions(tn_call *call) {
    const tn_tensor *positions = tn_infer_input(call, POSITIONS);
    const int64_t count = positions ? tn_element_count(positions) : 0;
    const int64_t extent = call->inputs[COSINES]->shape[0];
    for (int64_t i = 0; i < count; i++) {
        const int64_t position = ((const int64_t *)positions->data)[i];
        if (position < 0 || position >= extent)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "element %lld of input 'position_ids' is %lld, of %lld "
                                    "positions",
                                    (long long)i, (long long)position, (long long)extent);
    }
    return TN_OK;
}

/* Where a row's cosines and sines begin. */
static int64_t angles_of(const rotary_job *job, int64_t row) {
    const tn_rotary_sizes *sizes = &job->sizes;
    const tn_tensor *positions = tn_infer_input(job->call, POSITIONS);
    const int64_t sample = row / (sizes->heads * sizes->positions);
    const int64_t at = sizes->has_heads_first ? sample * sizes->positions + row % sizes->positions
                                              : row / sizes->heads;
    return (positions ? ((const int64_t *)positions->data)[at] : at) * sizes->half;
}

/* Any types, in double precision. */
static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rotary_job *job = user;
    const tn_tensor *const *inputs = job->call->inputs;
    const tn_tensor *x = inputs[X], *y = job->call->outputs[0];
    const rotary_params *params = job->call->params;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const int64_t angles = angles_of(job, row), first = row * job->sizes.depth;
        for (int64_t i = 0; i < job->sizes.half; i++) {
            const int64_t at = first + (params->interleaved ? 2 * i : i);
            const int64_t other = params->interleaved ? at + 1 : at + job->sizes.half;
            const double a = tn_element_f64(x, at), b = tn_element_f64(x, other);
            const double cosine = tn_element_f64(inputs[COSINES], angles + i);
            const double sine = tn_element_f64(inputs[SINES], angles + i);
            tn_element_set_f64(y, at, cosine * a - sine * b);
            tn_element_set_f64(y, other, sine * a + cosine * b);
        }
        for (int64_t i = first + 2 * job->sizes.half; i < first + job->sizes.depth; i++)
            tn_element_set_f64(y, i, tn_element_f64(x, i));
    }
    return TN_OK;
}

static tn_status rotary_embedding_reference(tn_call *call) {
    rotary_job job = {.call = call};
    TN_TRY(tn_rotary_read(call, &job.sizes));
    TN_TRY(check_positions(call));
    return do_rows(&job, 0, job.sizes.rows, 0);
}

static tn_status do_float_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rotary_job *job = user;
    const rotary_params *params = job->call->params;
    const float *x = job->call->inputs[X]->data, *cosines = job->call->inputs[COSINES]->data;
    const float *sines = job->call->inputs[SINES]->data;
    float *y = job->call->outputs[0]->data;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const int64_t angles = angles_of(job, row), first = row * job->sizes.depth;
        job->function(job->sizes.half, params->interleaved != 0, x + first, cosines + angles,
                      sines + angles, y + first);
        for (int64_t i = first + 2 * job->sizes.half; x != y && i < first + job->sizes.depth; i++)
            y[i] = x[i];
    }
    return TN_OK;
}

static tn_status run_rows(tn_call *call, tn_body body) {
    enum { GRAIN = 8192 };
    rotary_job job = {.call = call};
    TN_TRY(tn_rotary_read(call, &job.sizes));
    TN_TRY(check_positions(call));
    job.function = (tn_rotary_function)(uintptr_t)call->user;
    return call->host->parallel_for(call, job.sizes.rows,
                                    tn_parallel_grain(GRAIN, job.sizes.depth + 1), body, &job);
}

static tn_status float_run(tn_call *call) {
    return run_rows(call, do_float_rows);
}
static tn_status rows_run(tn_call *call) {
    return run_rows(call, do_rows);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port rotary_embedding_inputs[] = {
    TN_PORT("X", "T:f32|f16|bf16", 0,
            "batch, heads, positions, elements; or batch, positions, elements of all heads"),
    TN_PORT("cos_cache", "T", 0, "cosines: batch, positions, pairs; with position_ids a table"),
    TN_PORT("sin_cache", "T", 0, "sines, as the cosines"),
    TN_PORT("position_ids", "i64", TN_PORT_OPTIONAL, "rows of the table: batch, positions"),
};
static const tn_port rotary_embedding_outputs[] = {TN_PORT("Y", "T", 0, "X with its pairs turned")};
static const char *const rotary_embedding_cases[] = {
    "| X=f32[2,3,4,8] cos_cache=f32[2,4,4] sin_cache=f32[2,4,4]",
    "num_heads=3 interleaved=1 | X=f32[2,4,18] cos_cache=f32[2,4,3] sin_cache=f32[2,4,3]",
    "| X=f32[1,2,3,36] cos_cache=f32[9,18] sin_cache=f32[9,18] position_ids=i64[1,3]{8,0,4}",
    "rotary_embedding_dim=4 | X=f32[1,2,3,7] cos_cache=f32[5,2] sin_cache=f32[5,2] "
    "position_ids=i64[1,3]{1,2,3}",
    "num_heads=2 rotary_embedding_dim=2 interleaved=1 | X=f16[2,2,8] cos_cache=f16[2,2,1] "
    "sin_cache=f16[2,2,1]",
    "| X=bf16[1,1,3,6] cos_cache=bf16[1,3,3] sin_cache=bf16[1,3,3]",
    "| X=f32[1,2,0,4] cos_cache=f32[1,0,2] sin_cache=f32[1,0,2]",
    "| X=f32[1,1,1,2]{3,4} cos_cache=f32[1,1,1]{0} sin_cache=f32[1,1,1]{1} | Y=f32[1,1,1,2]{-4,3}",
    "| X=f32[1,8,16,64] cos_cache=f32[64,32] sin_cache=f32[64,32] position_ids="
    "i64[1,16]{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,63}",
};

TN_OPERATOR(rotary_embedding, "", "RotaryEmbedding", 23,
            "Turns pairs of elements by angles of their position.",
            TN_FIELDS(rotary_params, rotary_embedding_fields));

static const char *const combinations[] = {"f32, f32, f32, i64? -> f32"};
TN_LEVEL_KERNELS(floats, tn_rotary, "RotaryEmbedding", "rows", "Heads by vectors, on all threads.",
                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE,
                 TN_COMBINATIONS(combinations), .run = float_run);
TN_CPU_KERNEL_OF(wide_rows, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE | TN_KERNEL_ANY_SHAPE, "",
                 "RotaryEmbedding", "wide_rows", "Heads on all threads, in double precision.",
                 .run = rows_run);

TN_LAYER(rotary_embedding, TN_OPERATORS(&rotary_embedding_23),
         TN_KERNELS(TN_LEVEL_LIST(floats), &wide_rows));
