/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Det: the determinant of each matrix of the last two axes, by elimination with the largest element
 * of each column as its pivot, in double precision.
 */
#include "kit/operator/layer.h"

#include <math.h>

static tn_status det_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 2, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    const int64_t height = x->shape[x->rank - 2], width = x->shape[x->rank - 1];
    if (height != width)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'X' has matrices of %lld x %lld, which are not square",
                                (long long)height, (long long)width);
    return tn_infer_set_shape(call, 0, x->rank - 2, x->shape);
}

/* Moves the row with the largest element of column `column` there; answers the sign. */
static double find_pivot(double *matrix, int64_t n, int64_t column) {
    int64_t best = column;
    for (int64_t row = column + 1; row < n; row++)
        if (!(fabs(matrix[row * n + column]) <= fabs(matrix[best * n + column]))) best = row;
    for (int64_t k = 0; best != column && k < n; k++) {
        const double other = matrix[best * n + k];
        matrix[best * n + k] = matrix[column * n + k];
        matrix[column * n + k] = other;
    }
    return best == column ? 1 : -1;
}

static double determinant(double *matrix, int64_t n) {
    double result = 1;
    for (int64_t column = 0; column < n; column++) {
        result *= find_pivot(matrix, n, column);
        const double pivot = matrix[column * n + column];
        result *= pivot;
        if (pivot == 0) return result;
        for (int64_t row = column + 1; row < n; row++) {
            const double factor = matrix[row * n + column] / pivot;
            for (int64_t k = column + 1; k < n; k++)
                matrix[row * n + k] -= factor * matrix[column * n + k];
        }
    }
    return result;
}

typedef struct det_job {
    const tn_call *call;
    int64_t n;
    double *blocks; /* of n * n elements, one a thread */
} det_job;

/* An item is a matrix. */
static tn_status do_matrices(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const det_job *job = user;
    const tn_tensor *x = job->call->inputs[0];
    const int64_t elements = job->n * job->n;
    double *matrix = job->blocks + thread * elements;
    for (int64_t item = begin; item < end; item++) {
        tn_element_read_f64(x->data, x->type, item * elements, 1, elements, matrix);
        tn_element_set_f64(job->call->outputs[0], item, determinant(matrix, job->n));
    }
    return TN_OK;
}

static det_job read_job(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    return (det_job){.call = call, .n = x->shape[x->rank - 1]};
}

static tn_status det_reference(tn_call *call) {
    det_job job = read_job(call);
    const int64_t matrices = tn_element_count(call->outputs[0]);
    if (matrices == 0) return TN_OK;
    const uint64_t bytes = (uint64_t)(job.n * job.n) * sizeof(double);
    job.blocks = call->host->allocate(call->host, bytes + sizeof(double), 64);
    if (!job.blocks) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a matrix");
    const tn_status status = do_matrices(&job, 0, matrices, 0);
    call->host->deallocate(call->host, job.blocks);
    return status;
}

static tn_status det_reshape(tn_call *call) {
    const det_job job = read_job(call);
    call->workspace_bytes = (uint64_t)(job.n * job.n) * sizeof(double) * call->threads;
    return TN_OK;
}

static tn_status det_run(tn_call *call) {
    enum { GRAIN = 16384 };
    det_job job = read_job(call);
    const int64_t matrices = tn_element_count(call->outputs[0]);
    if (matrices == 0) return TN_OK;
    job.blocks = call->workspace;
    const int64_t each = job.n < 64 ? job.n * job.n * job.n / 3 : GRAIN;
    return call->host->parallel_for(call, matrices, GRAIN / (each + 1) + 1, do_matrices, &job);
}

static const tn_port det_inputs[] = {TN_PORT("X", "T:float", 0, "square matrices")};
static const tn_port det_outputs[] = {TN_PORT("Y", "T", 0, "their determinants")};
static const char *const det_cases[] = {
    "| X=f32[2,2]{0,1,2,3} | Y=f32[]{-2}",
    "| X=f64[2,3,3]{2,0,1,1,3,2,1,1,4,1,2,3,2,4,6,7,8,9} | Y=f64[2]{18,0}",
    "| X=f32[3,1,1]",
    "| X=f16[2,2]{1,2,3,4}",
    "| X=bf16[1,2,2]{0,0,0,0}",
    "| X=f64[2,0,0] | Y=f64[2]{1,1}",
    "| X=f32[0,3,3]",
    "| X=f32[2,5,4,4]",
};

TN_OPERATOR(det, "", "Det", 11, "Determinants of matrices.", TN_NO_FIELDS);

TN_CPU_KERNEL(det_matrices, "", "Det", "matrices", "Matrices on all threads, in double precision.",
              .reshape = det_reshape, .run = det_run);

TN_LAYER(det, TN_OPERATORS(&det_11), TN_KERNELS(&det_matrices));
