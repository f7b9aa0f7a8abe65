/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention a query at a time, in double precision and with all scores of the query at once: the
 * reference, and a kernel for what the others leave, the output qk_matmul_output among it.
 */
#include "attention/attention.h"
#include "kit/gemm/product.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/parallel.h>

typedef struct rows_job {
    const tn_call *call;
    tn_attention_sizes sizes;
    double *scratch;
    int64_t scratch_doubles; /* a thread */
} rows_job;

/* A query, and its part of the scratch memory. */
typedef struct query_row {
    int64_t batch, head, query;
    double *scores, *q, *row, *sums; /* keys, depth, the longer of both depths, v_depth */
} query_row;

static tn_status read_job(tn_call *call, rows_job *job) {
    job->call = call;
    TN_TRY(tn_attention_read(call, &job->sizes));
    const tn_attention_sizes *sizes = &job->sizes;
    const uint64_t doubles =
        (uint64_t)sizes->keys + 2 * (uint64_t)sizes->depth + 2 * (uint64_t)sizes->v_depth;
    if (doubles > INT64_MAX / sizeof(double))
        return call->host->fail(call, TN_ERROR_MEMORY, "the extents are too large");
    job->scratch_doubles = (int64_t)doubles;
    return TN_OK;
}

/* Row `index`, of batch * q_heads * queries, with the scratch memory of a thread. */
static query_row row_at(const rows_job *job, int64_t index, uint32_t thread) {
    const tn_attention_sizes *sizes = &job->sizes;
    const int64_t head = index / sizes->queries;
    query_row row = {.batch = head / sizes->q_heads,
                     .head = head % sizes->q_heads,
                     .query = index % sizes->queries,
                     .scores = job->scratch + (int64_t)thread * job->scratch_doubles};
    row.q = row.scores + sizes->keys;
    row.row = row.q + sizes->depth;
    row.sums = row.row + sizes->depth + sizes->v_depth;
    return row;
}

/* The elements of a key, or of its value. */
static void read_key(const rows_job *job, uint32_t input, const query_row *row, int64_t key,
                     int64_t depth, double *out_values) {
    const tn_attention_sizes *sizes = &job->sizes;
    const bool is_key = input == TN_ATTENTION_K;
    bool is_past = false;
    const int64_t at = tn_attention_key_offset(sizes, is_key ? &sizes->k : &sizes->v, depth,
                                               row->batch, row->head / sizes->group, key, &is_past);
    if (is_past) input = is_key ? TN_ATTENTION_PAST_KEY : TN_ATTENTION_PAST_VALUE;
    const tn_tensor *tensor = tn_attention_input(job->call, input);
    tn_element_read_f64(tensor->data, tensor->type, at, 1, depth, out_values);
}

static double dot(int64_t count, const double *a, const double *b) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Stores a score where the node's mode asks for it at this stage. */
static void store_score(const rows_job *job, const query_row *row, int64_t key, int64_t mode,
                        double value) {
    const tn_attention_params *params = job->call->params;
    const tn_tensor *scores = tn_infer_output(job->call, TN_ATTENTION_SCORES);
    const tn_attention_sizes *sizes = &job->sizes;
    if (!scores || params->qk_matmul_output_mode != mode) return;
    const int64_t index = (row->batch * sizes->q_heads + row->head) * sizes->queries + row->query;
    tn_element_set_f64(scores, index * sizes->keys + key, value);
}

enum { STORE_PRODUCT = 0, STORE_CAPPED = 1, STORE_MASKED = 2, STORE_SOFTMAX = 3 };

static void compute_score(const rows_job *job, const query_row *row, tn_attention_range range,
                          int64_t key) {
    const tn_attention_sizes *sizes = &job->sizes;
    const tn_tensor *mask = tn_attention_input(job->call, TN_ATTENTION_MASK);
    double bias = key < range.begin || key >= range.end ? -(double)INFINITY : 0;
    read_key(job, TN_ATTENTION_K, row, key, sizes->depth, row->row);
    double score = dot(sizes->depth, row->q, row->row) * sizes->scale;
    store_score(job, row, key, STORE_PRODUCT, score);
    if (sizes->softcap > 0) score = sizes->softcap * tanh(score / sizes->softcap);
    store_score(job, row, key, STORE_CAPPED, score);
    if (mask && bias == 0)
        bias = tn_attention_mask_value(
            mask, tn_attention_mask_row(sizes, row->batch, row->head, row->query) +
                      key * sizes->mask_strides[3]);
    row->scores[key] = bias == -(double)INFINITY ? bias : score + bias;
    store_score(job, row, key, STORE_MASKED, row->scores[key]);
}

/* The scores become what the softmax has of them; all zero where no key is seen. */
static void compute_softmax(const rows_job *job, const query_row *row) {
    double largest = -(double)INFINITY, sum = 0;
    for (int64_t key = 0; key < job->sizes.keys; key++)
        largest = fmax(largest, row->scores[key]);
    if (largest == -(double)INFINITY) largest = 0;
    for (int64_t key = 0; key < job->sizes.keys; key++) {
        row->scores[key] = exp(row->scores[key] - largest);
        sum += row->scores[key];
    }
    for (int64_t key = 0; key < job->sizes.keys; key++) {
        row->scores[key] /= sum == 0 ? 1 : sum;
        store_score(job, row, key, STORE_SOFTMAX, row->scores[key]);
    }
}

static void compute_row(const rows_job *job, const query_row *row) {
    const tn_attention_sizes *sizes = &job->sizes;
    const tn_tensor *q = job->call->inputs[TN_ATTENTION_Q];
    const tn_tensor *y = tn_infer_output(job->call, TN_ATTENTION_Y);
    const tn_attention_range range =
        tn_attention_range_of(job->call, sizes, row->batch, row->query);
    tn_element_read_f64(q->data, q->type,
                        tn_attention_at(&sizes->q, row->batch, row->head, row->query), 1,
                        sizes->depth, row->q);
    for (int64_t key = 0; key < sizes->keys; key++)
        compute_score(job, row, range, key);
    compute_softmax(job, row);
    if (!y) return;
    for (int64_t i = 0; i < sizes->v_depth; i++)
        row->sums[i] = 0;
    for (int64_t key = range.begin; key < range.end; key++) {
        read_key(job, TN_ATTENTION_V, row, key, sizes->v_depth, row->row);
        for (int64_t i = 0; i < sizes->v_depth; i++)
            row->sums[i] += row->scores[key] * row->row[i];
    }
    tn_element_write_f64(y->data, y->type,
                         tn_attention_at(&sizes->y, row->batch, row->head, row->query),
                         sizes->v_depth, row->sums);
}

static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const rows_job *job = user;
    for (int64_t index = begin; index < end; index++) {
        const query_row row = row_at(job, index, thread);
        compute_row(job, &row);
    }
    return TN_OK;
}

/* Rows of queries; none where there is nothing to compute. */
static int64_t count_rows(const rows_job *job) {
    const tn_tensor *y = tn_infer_output(job->call, TN_ATTENTION_Y);
    const tn_tensor *scores = tn_infer_output(job->call, TN_ATTENTION_SCORES);
    if (!(y && y->bytes > 0) && !(scores && scores->bytes > 0)) return 0;
    return job->sizes.batch * job->sizes.q_heads * job->sizes.queries;
}

static void write_present(const rows_job *job) {
    const tn_attention_sizes *sizes = &job->sizes;
    const tn_tensor *keys = tn_infer_output(job->call, TN_ATTENTION_PRESENT_KEY);
    const tn_tensor *values = tn_infer_output(job->call, TN_ATTENTION_PRESENT_VALUE);
    if ((keys && keys->bytes > 0) || (values && values->bytes > 0))
        tn_attention_write_present(job->call, sizes, 0,
                                   sizes->batch * sizes->kv_heads * sizes->keys);
}

tn_status tn_attention_reference(tn_call *call) {
    rows_job job;
    void *scratch = NULL;
    TN_TRY(read_job(call, &job));
    TN_TRY(tn_attention_check_lengths(call, &job.sizes));
    write_present(&job);
    TN_TRY(tn_product_allocate(call, job.scratch_doubles, sizeof(double), &scratch));
    job.scratch = scratch;
    const tn_status status = do_rows(&job, 0, count_rows(&job), 0);
    call->host->deallocate(call->host, scratch);
    return status;
}

tn_status tn_attention_rows_reshape(tn_call *call) {
    rows_job job;
    TN_TRY(read_job(call, &job));
    call->workspace_bytes = (uint64_t)job.scratch_doubles * sizeof(double) * call->threads;
    return TN_OK;
}

tn_status tn_attention_rows_run(tn_call *call) {
    enum { GRAIN = 65536 }; /* multiplications */
    rows_job job;
    TN_TRY(read_job(call, &job));
    const tn_attention_sizes *sizes = &job.sizes;
    TN_TRY(tn_attention_check_lengths(call, sizes));
    write_present(&job);
    job.scratch = call->workspace;
    const int64_t each = sizes->keys * (sizes->depth + sizes->v_depth) + 1;
    return call->host->parallel_for(call, count_rows(&job), tn_parallel_grain(GRAIN, each), do_rows,
                                    &job);
}
