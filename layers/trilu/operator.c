/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trilu: the upper or lower triangle of each matrix of the last two axes, zero elsewhere. The
 * diagonal that bounds it is k columns to the right of the main one and belongs to it.
 */
#include "trilu/fields.h"
#include "kit/operator/layer.h"
#include <tenon/kit/parallel.h>

enum { TRILU_INPUT = 0, TRILU_K = 1 };

static tn_status trilu_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, TRILU_INPUT, 2, TN_MAX_RANK));
    const tn_tensor *k = tn_infer_input(call, TRILU_K);
    if (k && tn_element_count(k) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'k' must be one number");
    return tn_infer_copy_shape(call, 0, TRILU_INPUT);
}

/* Within 0..width: the column where row `row` meets the diagonal k, plus `more`. */
static int64_t find_column(int64_t row, int64_t k, int64_t more, int64_t width) {
    if (k < -row - more) return 0;
    if (k > width - row - more) return width;
    return row + k + more;
}

typedef struct trilu_job {
    const char *x;
    char *y;
    int64_t height, width, k;
    size_t bytes; /* of an element */
    bool is_upper;
} trilu_job;

/* An item is a row. */
static tn_status keep_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const trilu_job *job = user;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const int64_t at = row % job->height, width = job->width;
        const int64_t first = job->is_upper ? 0 : find_column(at, job->k, 1, width);
        const int64_t stop = job->is_upper ? find_column(at, job->k, 0, width) : width;
        char *to = job->y + (size_t)(row * width) * job->bytes;
        const char *from = job->x + (size_t)(row * width) * job->bytes;
        if (to != from) memcpy(to, from, (size_t)width * job->bytes);
        memset(to + (size_t)first * job->bytes, 0, (size_t)(stop - first) * job->bytes);
    }
    return TN_OK;
}

static tn_status trilu(tn_call *call, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const tn_trilu_params *params = call->params;
    const tn_tensor *x = call->inputs[TRILU_INPUT];
    const tn_tensor *given = tn_infer_input(call, TRILU_K);
    trilu_job job = {.x = x->data,
                     .y = call->outputs[0]->data,
                     .height = x->shape[x->rank - 2],
                     .width = x->shape[x->rank - 1],
                     .k = given ? tn_element_i64(given, 0) : 0,
                     .bytes = tn_element_bytes(x->type),
                     .is_upper = params->upper};
    if (tn_element_count(x) == 0) return TN_OK;
    const int64_t rows = tn_infer_product(x->shape, 0, x->rank - 1);
    if (!is_parallel) return keep_rows(&job, 0, rows, 0);
    return call->host->parallel_for(call, rows,
                                    tn_parallel_grain(GRAIN_BYTES, job.width * (int64_t)job.bytes),
                                    keep_rows, &job);
}

TN_SERIAL_AND_PARALLEL(trilu, trilu)

static const tn_port trilu_inputs[] = {
    TN_PORT("input", "T:any", 0, "any tensor of two axes or more"),
    TN_PORT("k", "i64", TN_PORT_OPTIONAL, "which diagonal bounds the triangle; absent: 0"),
};
static const tn_port trilu_outputs[] = {TN_PORT("output", "T", 0, "the triangles")};
static const char *const trilu_cases[] = {
    "| input=f32[4,5]",
    "upper=0 | input=f32[2,4,5]",
    "| input=i64[3,3] k=i64[]{1}",
    "upper=0 | input=f16[3,3] k=i64[1]{-1}",
    "| input=u8[2,3] k=i64[]{-9}",
    "upper=0 | input=bool[2,3] k=i64[]{9223372036854775807}",
    "| input=f32[2,3] k=i64[]{-9223372036854775808}",
    "| input=f32[0,3]",
};

TN_OPERATOR(trilu, "", "Trilu", 14, "Triangles of matrices.",
            TN_FIELDS(tn_trilu_params, trilu_fields));

TN_CPU_KERNEL_OF(trilu_rows, TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE, "", "Trilu", "rows",
                 "Rows on all threads.", .run = trilu_run);

TN_LAYER(trilu, TN_OPERATORS(&trilu_14), TN_KERNELS(&trilu_rows));
