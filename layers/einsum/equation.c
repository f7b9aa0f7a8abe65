/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Einsum's equation; see einsum.h. */
#include "einsum/einsum.h"
#include <tenon/kit/infer.h>
#include <tenon/kit/region.h>

#include <string.h>

/* A term as it is written: letters, and where among them an ellipsis stands. */
typedef struct written_term {
    tn_einsum_list letters;
    uint32_t ellipsis_at;
    bool has_ellipsis;
} written_term;

static tn_status refuse(tn_call *call, const char *why, const char *at) {
    const tn_einsum_params *params = call->params;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'equation', '%.200s', column %lld: %s",
                            params->equation, (long long)(at - params->equation) + 1, why);
}

bool tn_einsum_has(const tn_einsum_list *list, uint8_t label) {
    return memchr(list->labels, label, list->count) != NULL;
}

void tn_einsum_add(tn_einsum_list *list, uint8_t label) {
    list->labels[list->count++] = label;
}

int64_t tn_einsum_count(const tn_einsum *einsum, const tn_einsum_list *list) {
    int64_t count = 1;
    for (uint32_t i = 0; i < list->count; i++)
        if (!tn_infer_multiply(count, einsum->extents[list->labels[i]], &count)) return INT64_MAX;
    return count;
}

bool tn_einsum_step(const tn_einsum *einsum, const tn_einsum_list *list, int64_t *index,
                    const int64_t *strides, int64_t *inout_offset) {
    for (uint32_t i = list->count; i-- > 0;) {
        const uint8_t label = list->labels[i];
        *inout_offset += strides[label];
        if (++index[i] < einsum->extents[label]) return true;
        *inout_offset -= index[i] * strides[label];
        index[i] = 0;
    }
    return false;
}

/* ----------------------------------------------------------------------------------------------
 * the text */

static int label_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* Up to a comma, an arrow or the end. */
static tn_status read_term(tn_call *call, const char **inout_at, written_term *out_term) {
    const char *at = *inout_at;
    *out_term = (written_term){.has_ellipsis = false};
    for (; *at && *at != ',' && *at != '-'; at++) {
        const int label = label_of(*at);
        if (*at == ' ') continue;
        if (label >= 0) {
            if (out_term->letters.count == TN_MAX_RANK)
                return refuse(call, "a term has more letters than a tensor has axes", at);
            tn_einsum_add(&out_term->letters, (uint8_t)label);
        } else if (strncmp(at, "...", 3) == 0 && !out_term->has_ellipsis) {
            out_term->has_ellipsis = true;
            out_term->ellipsis_at = out_term->letters.count;
            at += 2;
        } else {
            return refuse(call, "expected letters, one '...', ',' or '->'", at);
        }
    }
    *inout_at = at;
    return TN_OK;
}

static tn_status add_axis(tn_call *call, tn_einsum *einsum, uint32_t input, uint8_t label) {
    const uint32_t axis = einsum->inputs[input].count;
    const int64_t extent = call->inputs[input]->shape[axis];
    int64_t *known = &einsum->extents[label];
    if (*known >= 0 && *known != 1 && extent != 1 && extent != *known)
        return call->host->fail(
            call, TN_ERROR_SHAPE,
            "axis %u of input %u has %lld elements, where another one of its label has %lld", axis,
            input, (long long)extent, (long long)*known);
    if (*known < 0 || *known == 1) *known = extent;
    tn_einsum_add(&einsum->inputs[input], label);
    return TN_OK;
}

/* Meets the term with the input's axes. */
static tn_status add_input(tn_call *call, tn_einsum *einsum, uint32_t input,
                           const written_term *term) {
    TN_TRY(tn_infer_require_rank(call, input, 0, TN_MAX_RANK));
    const uint32_t rank = call->inputs[input]->rank, letters = term->letters.count;
    if (rank < letters || (rank > letters && !term->has_ellipsis))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input %u has %u axes, its term in field 'equation' %u letters",
                                input, rank, letters);
    for (uint32_t i = 0; i <= letters; i++) {
        if (term->has_ellipsis && term->ellipsis_at == i)
            for (uint32_t k = rank - letters; k > 0; k--)
                TN_TRY(add_axis(call, einsum, input, (uint8_t)(TN_EINSUM_LABELS - k)));
        if (i < letters) TN_TRY(add_axis(call, einsum, input, term->letters.labels[i]));
    }
    return TN_OK;
}

/* The axes of ellipses that any input has. */
static void add_ellipsis(const tn_einsum *einsum, tn_einsum_list *list) {
    for (uint32_t label = TN_EINSUM_LETTERS; label < TN_EINSUM_LABELS; label++)
        if (einsum->extents[label] >= 0) tn_einsum_add(list, (uint8_t)label);
}

static tn_status read_output(tn_call *call, const char *at, tn_einsum *einsum) {
    const char *const begin = at;
    written_term term;
    TN_TRY(read_term(call, &at, &term));
    if (*at) return refuse(call, "expected the end after one term of the output", at);
    for (uint32_t i = 0; i <= term.letters.count; i++) {
        if (term.has_ellipsis && term.ellipsis_at == i) add_ellipsis(einsum, &einsum->output);
        if (i == term.letters.count) break;
        const uint8_t label = term.letters.labels[i];
        if (einsum->extents[label] < 0 || tn_einsum_has(&einsum->output, label))
            return refuse(call, "the output has a letter twice, or one that no input has", begin);
        tn_einsum_add(&einsum->output, label);
    }
    return TN_OK;
}

/* Without an arrow: the ellipses, then the letters that occur once. */
static void make_output(tn_einsum *einsum) {
    add_ellipsis(einsum, &einsum->output);
    for (uint32_t label = 0; label < TN_EINSUM_LETTERS; label++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < einsum->input_count; i++)
            for (uint32_t k = 0; k < einsum->inputs[i].count; k++)
                count += einsum->inputs[i].labels[k] == label;
        if (count == 1) tn_einsum_add(&einsum->output, (uint8_t)label);
    }
}

tn_status tn_einsum_read(tn_call *call, tn_einsum *out_einsum) {
    const tn_einsum_params *params = call->params;
    const char *at = params->equation;
    memset(out_einsum, 0, sizeof(*out_einsum));
    for (uint32_t i = 0; i < TN_EINSUM_LABELS; i++)
        out_einsum->extents[i] = -1;
    if (call->input_count > TN_EINSUM_MOST_INPUTS)
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "%u inputs; at most %d are computed",
                                call->input_count, TN_EINSUM_MOST_INPUTS);
    for (uint32_t i = 0; i < call->input_count; i++) {
        written_term term;
        if (i > 0 && *at++ != ',') return refuse(call, "expected ',': a term for each input", --at);
        TN_TRY(read_term(call, &at, &term));
        TN_TRY(add_input(call, out_einsum, i, &term));
    }
    out_einsum->input_count = call->input_count;
    if (*at == '-' && at[1] == '>')
        TN_TRY(read_output(call, at + 2, out_einsum));
    else if (*at)
        return refuse(call, "expected '->' or the end after the terms of all inputs", at);
    else
        make_output(out_einsum);
    if (out_einsum->output.count > TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_SHAPE, "the output has %u axes; at most %d may be",
                                out_einsum->output.count, TN_MAX_RANK);
    return TN_OK;
}

void tn_einsum_strides(const tn_call *call, const tn_einsum *einsum, uint32_t input,
                       int64_t *out_strides) {
    const tn_tensor *x = call->inputs[input];
    int64_t strides[TN_MAX_RANK];
    tn_region_strides(x->rank, x->shape, strides);
    memset(out_strides, 0, TN_EINSUM_LABELS * sizeof(*out_strides));
    for (uint32_t i = 0; i < x->rank; i++)
        if (x->shape[i] != 1) out_strides[einsum->inputs[input].labels[i]] += strides[i];
}
