/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum: sums of products of tensors, by an equation of labels (Einstein's convention). A label is
 * an axis; one that the output lacks is summed over; one that an operand has twice is its diagonal.
 */
#include "einsum/einsum.h"
#include "kit/operator/layer.h"

static const tn_field einsum_fields[] = {
    TN_FIELD(tn_einsum_params, equation, TN_FIELD_STRING, TN_REQUIRED, NULL,
             "terms of letters and '...', one an input, then '->' and the output's; without: the "
             "letters that occur once"),
};

static tn_status einsum_infer(tn_call *call) {
    tn_einsum einsum;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_einsum_read(call, &einsum));
    for (uint32_t i = 0; i < einsum.output.count; i++)
        shape[i] = einsum.extents[einsum.output.labels[i]];
    return tn_infer_set_shape(call, 0, einsum.output.count, shape);
}

/* ----------------------------------------------------------------------------------------------
 * the reference, also on all threads */

typedef struct element_job {
    const tn_call *call;
    tn_einsum einsum;
    tn_einsum_list sums;
    int64_t strides[TN_EINSUM_MOST_INPUTS][TN_EINSUM_LABELS];
    bool has_none; /* a label that is summed has no elements */
} element_job;

static void set_offsets(const element_job *job, const tn_einsum_list *list, const int64_t *index,
                        const int64_t *first, int64_t *out_offsets) {
    for (uint32_t i = 0; i < job->einsum.input_count; i++) {
        out_offsets[i] = first ? first[i] : 0;
        for (uint32_t k = 0; k < list->count; k++)
            out_offsets[i] += index[k] * job->strides[i][list->labels[k]];
    }
}

static void add_product(const element_job *job, const int64_t *offsets, double *inout_real,
                        uint64_t *inout_whole) {
    double real = 1;
    uint64_t whole = 1;
    for (uint32_t i = 0; i < job->einsum.input_count; i++) {
        const tn_tensor *x = job->call->inputs[i];
        if (tn_element_is_real(x->type))
            real *= tn_element_f64(x, offsets[i]);
        else
            whole *= (uint64_t)tn_element_i64(x, offsets[i]);
    }
    *inout_real += real;
    *inout_whole += whole;
}

static void compute_element(const element_job *job, const int64_t *first, int64_t at) {
    static const int64_t still[TN_EINSUM_LABELS];
    const tn_tensor *y = job->call->outputs[0];
    int64_t index[TN_EINSUM_LABELS] = {0}, offsets[TN_EINSUM_MOST_INPUTS], unused = 0;
    double real = 0;
    uint64_t whole = 0;
    bool more = !job->has_none;
    while (more) {
        set_offsets(job, &job->sums, index, first, offsets);
        add_product(job, offsets, &real, &whole);
        more = tn_einsum_step(&job->einsum, &job->sums, index, still, &unused);
    }
    if (tn_element_is_real(y->type))
        tn_element_set_f64(y, at, real);
    else
        tn_element_set_i64(y, at, (int64_t)whole);
}

/* An item is an element of the output. */
static tn_status compute_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const element_job *job = user;
    const tn_tensor *y = job->call->outputs[0];
    (void)thread;
    for (int64_t at = begin; at < end; at++) {
        int64_t index[TN_MAX_RANK], first[TN_EINSUM_MOST_INPUTS], rest = at;
        for (uint32_t i = y->rank; i-- > 0; rest /= y->shape[i])
            index[i] = rest % y->shape[i];
        set_offsets(job, &job->einsum.output, index, NULL, first);
        compute_element(job, first, at);
    }
    return TN_OK;
}

static tn_status read_job(tn_call *call, element_job *job) {
    job->call = call;
    job->sums.count = 0;
    job->has_none = false;
    TN_TRY(tn_einsum_read(call, &job->einsum));
    for (uint32_t label = 0; label < TN_EINSUM_LABELS; label++) {
        if (job->einsum.extents[label] < 0 || tn_einsum_has(&job->einsum.output, (uint8_t)label))
            continue;
        tn_einsum_add(&job->sums, (uint8_t)label);
        job->has_none |= job->einsum.extents[label] == 0;
    }
    for (uint32_t i = 0; i < call->input_count; i++)
        tn_einsum_strides(call, &job->einsum, i, job->strides[i]);
    return TN_OK;
}

static tn_status einsum_reference(tn_call *call) {
    element_job job;
    TN_TRY(read_job(call, &job));
    return compute_elements(&job, 0, tn_element_count(call->outputs[0]), 0);
}

static tn_status einsum_run(tn_call *call) {
    enum { GRAIN = 2048 };
    element_job job;
    TN_TRY(read_job(call, &job));
    const int64_t elements = tn_element_count(call->outputs[0]);
    const int64_t sums = tn_einsum_count(&job.einsum, &job.sums);
    if (elements == 0) return TN_OK;
    return call->host->parallel_for(call, elements, sums < GRAIN ? GRAIN / (sums + 1) + 1 : 1,
                                    compute_elements, &job);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port einsum_inputs[] = {
    {"Inputs", "T:number", "the operands", TN_PORT_VARIADIC, 0, 1, 0},
};
static const tn_port einsum_outputs[] = {TN_PORT("Output", "T", 0, "the sums of products")};
static const char *const einsum_cases[] = {
    "equation=ij->ji | Inputs=f32[3,4]",
    "equation=ij->i | Inputs=f32[3,40]",
    "equation=ii->i | Inputs=f32[5,5]",
    "equation=ii | Inputs=f64[3,3]{1,2,3,4,5,6,7,8,9} | Output=f64[]{15}",
    "equation=ij,jk | Inputs=f32[3,5] Inputs=f32[5,33]",
    "equation=ij,jk->ki | Inputs=f32[7,5] Inputs=f32[5,70]",
    "equation=bij,bjk->bik | Inputs=f32[5,2,3] Inputs=f32[5,3,4]",
    "equation=...ij,...jk->...ik | Inputs=f32[2,1,3,4] Inputs=f32[5,4,2]",
    "equation=...ii->...i | Inputs=f32[3,5,5]",
    "equation=b...,b... | Inputs=f32[3,4,2] Inputs=f32[3,1,2]",
    "equation=i,i-> | Inputs=f32[9] Inputs=f32[9]",
    "equation=i,j->ij | Inputs=f32[5] Inputs=f32[6]",
    "equation=ij,kj->k | Inputs=f32[4,5] Inputs=f32[3,5]",
    "equation=ia,ib->ab | Inputs=f32[4,5] Inputs=f32[4,3]",
    "equation=bij,bjk,bkl->bli | Inputs=f32[2,3,4] Inputs=f32[2,4,5] Inputs=f32[2,5,3]",
    "equation=a,b,a->b | Inputs=f32[4] Inputs=f32[3] Inputs=f32[4]",
    "equation=bhid,bhjd->bhij | Inputs=f32[2,4,9,16] Inputs=f32[2,4,17,16]",
    "equation=aab,b->a | Inputs=f32[3,3,4] Inputs=f32[4]",
    ("equation=ij,jk | Inputs=i32[2,2]{1,2,3,4} Inputs=i32[2,2]{5,6,7,8}"
     " | Output=i32[2,2]{19,22,43,50}"),
    "equation=bA,aB->Bb | Inputs=f16[2,3] Inputs=f16[4,2]",
    "equation=i,i-> | Inputs=u8[3]{200,100,7} Inputs=u8[3]{2,3,4}",
    "equation=ij,jk->ik | Inputs=f32[2,0] Inputs=f32[0,3] | Output=f32[2,3]{0,0,0,0,0,0}",
    "equation=ij->i | Inputs=f32[2,0]",
    "equation=,-> | Inputs=f32[] Inputs=f32[]",
    "equation=bij,bkj->bki | Inputs=f64[3,5,37] Inputs=f64[3,19,37]",
    "equation=ij,j->i | Inputs=f64[9,17] Inputs=f64[17]",
    "equation=i,j->ji | Inputs=i64[5] Inputs=i64[6]",
    "equation=ijk->ki | Inputs=i32[3,4,5]",
    "equation=ji->ij | Inputs=u64[7,9]",
    "equation=bhqd,bhkd->bhqk | Inputs=i64[2,3,5,7] Inputs=i64[2,3,4,7]",
    "equation=aij,ajk->aik | Inputs=u32[2,5,6] Inputs=u32[2,6,20]",
    "equation=ij,jk->ik | Inputs=f64[2,0] Inputs=f64[0,3] | Output=f64[2,3]{0,0,0,0,0,0}",
    "equation=bij,bjk->bik | Inputs=bf16[2,5,17] Inputs=bf16[2,17,9]",
    "equation=ij->j | Inputs=f16[8,19]",
    "equation=ij,jk->ik | Inputs=f32[64,96] Inputs=f32[96,80]",
};

TN_OPERATOR(einsum, "", "Einsum", 12, "Sums of products of tensors by an equation.",
            TN_FIELDS(tn_einsum_params, einsum_fields));

const tn_kernel tn_einsum_elements = {
    TN_KERNEL_BEGIN("cpu", "", "Einsum", "elements", 1,
                    "Elements on all threads, in double precision."),
    .traits = TN_KERNEL_DETERMINISTIC, .run = einsum_run};

TN_LAYER(einsum, TN_OPERATORS(&einsum_12), tn_einsum_kernels);
