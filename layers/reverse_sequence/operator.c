/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ReverseSequence: the first elements of each sequence along the time axis in the opposite order,
 * the others as they are; how many is said for each index of the batch axis. One of both axes is
 * the first axis, the other one the second.
 */
#include "reverse_sequence/fields.h"
#include "kit/operator/moves.h"

enum { INPUT = 0, LENGTHS = 1 };

static tn_status reverse_infer(tn_call *call) {
    const tn_reverse_params *params = call->params;
    TN_TRY(tn_infer_require_rank(call, INPUT, 2, TN_MAX_RANK));
    TN_TRY(tn_infer_require_rank(call, LENGTHS, 1, 1));
    if (params->batch_axis == params->time_axis)
        return call->host->fail(call, TN_ERROR_RANGE,
                                "fields 'batch_axis' and 'time_axis' are both %lld",
                                (long long)params->time_axis);
    const int64_t sequences = call->inputs[INPUT]->shape[params->batch_axis];
    if (call->inputs[LENGTHS]->shape[0] != sequences)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'sequence_lens' must have %lld elements, it has %lld",
                                (long long)sequences, (long long)call->inputs[LENGTHS]->shape[0]);
    return tn_infer_copy_shape(call, 0, INPUT);
}

static tn_status check_lengths(tn_call *call) {
    const tn_reverse_params *params = call->params;
    const tn_tensor *lengths = call->inputs[LENGTHS];
    const int64_t extent = call->inputs[INPUT]->shape[params->time_axis];
    for (int64_t i = 0; i < lengths->shape[0]; i++) {
        const int64_t length = tn_element_i64(lengths, i);
        if (length < 0 || length > extent)
            return call->host->fail(call, TN_ERROR_RANGE,
                                    "sequence %lld has the length %lld of %lld elements",
                                    (long long)i, (long long)length, (long long)extent);
    }
    return TN_OK;
}

typedef struct reverse_job {
    const tn_call *call;
    int64_t rows; /* along the second axis */
    size_t row_bytes;
} reverse_job;

/* An item is what has one index of both axes. */
static tn_status move_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reverse_job *job = user;
    const tn_reverse_params *params = job->call->params;
    const tn_tensor *input = job->call->inputs[INPUT], *lengths = job->call->inputs[LENGTHS];
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t index[2] = {item / job->rows, item % job->rows};
        const int64_t sequence = index[params->batch_axis], time = index[params->time_axis];
        const int64_t length = tn_element_i64(lengths, sequence);
        const int64_t from = time < length ? length - 1 - time : time;
        const int64_t source =
            params->time_axis == 0 ? from * job->rows + sequence : sequence * job->rows + from;
        memcpy((char *)job->call->outputs[0]->data + (size_t)item * job->row_bytes,
               (const char *)input->data + (size_t)source * job->row_bytes, job->row_bytes);
    }
    return TN_OK;
}

static tn_status reverse(tn_call *call, bool is_parallel) {
    enum { GRAIN_BYTES = 65536 };
    const tn_tensor *input = call->inputs[INPUT];
    reverse_job job = {.call = call, .rows = input->shape[1]};
    TN_TRY(check_lengths(call));
    if (tn_element_count(input) == 0) return TN_OK;
    job.row_bytes =
        (size_t)tn_infer_product(input->shape, 2, input->rank) * tn_element_bytes(input->type);
    const int64_t items = input->shape[0] * job.rows;
    if (!is_parallel) return move_rows(&job, 0, items, 0);
    return call->host->parallel_for(call, items, GRAIN_BYTES / (int64_t)job.row_bytes + 1,
                                    move_rows, &job);
}

TN_MOVES_PARALLEL(reverse, reverse)

static const tn_port reverse_inputs[] = {
    TN_PORT("input", "T:any|string", 0, "two axes or more"),
    TN_PORT("sequence_lens", "i64", 0, "how many elements of each sequence are reversed"),
};
static const tn_port reverse_outputs[] = {TN_PORT("Y", "T", 0, "the sequences reversed")};
static const char *const reverse_cases[] = {
    ("| input=i32[4,2]{0,4,1,5,2,6,3,7} sequence_lens=i64[2]{4,2}"
     " | Y=i32[4,2]{3,5,2,4,1,6,0,7}"),
    "batch_axis=0 time_axis=1 | input=f32[2,4,3] sequence_lens=i64[2]{3,1}",
    "| input=f16[3,4] sequence_lens=i64[4]{0,1,2,3}",
    "| input=bool[3,2,2] sequence_lens=i64[2]{3,2}",
    ("| input=string[3,2]{a,b,c,d,e,f} sequence_lens=i64[2]{3,2}"
     " | Y=string[3,2]{e,d,c,b,a,f}"),
    "| input=u8[0,2] sequence_lens=i64[2]{0,0}",
    "| input=f64[3,0] sequence_lens=i64[0]",
    "| input=f32[64,3,96] sequence_lens=i64[3]{64,17,1}",
};

TN_OPERATOR(reverse, "", "ReverseSequence", 10, "The first elements of sequences reversed.",
            TN_FIELDS(tn_reverse_params, reverse_fields));
static const tn_kernel reverse_runs = TN_REGION_KERNEL("ReverseSequence", reverse_run);

TN_LAYER(reverse_sequence, TN_OPERATORS(&reverse_10), TN_KERNELS(&reverse_runs));
