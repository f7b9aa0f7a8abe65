/* SPDX-License-Identifier: Apache-2.0 */
/*
 * StringNormalizer: leaves out stop words, and converts the others to one case. Without regard to
 * case words are compared in lower case.
 */
#include "strings/strings.h"

typedef struct normalizer_params {
    uint64_t present;
    tn_strings stopwords;
    const char *locale;
    bool is_case_sensitive;
    uint32_t case_change_action;
} normalizer_params;

enum { CASE_NONE = 0, CASE_LOWER = 1, CASE_UPPER = 2 };

/* Memory for a string in another case, which grows. */
typedef struct text_buffer {
    char *data;
    uint64_t bytes;
} text_buffer;

static tn_status reserve(tn_call *call, uint64_t bytes, text_buffer *inout_buffer) {
    uint64_t needed;
    if (__builtin_mul_overflow(bytes + 1, TN_LETTERS_GROWTH, &needed)) needed = UINT64_MAX;
    if (needed <= inout_buffer->bytes) return TN_OK;
    char *data = call->host->allocate(call->host, needed, 64);
    if (!data)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a string of %llu bytes",
                                (unsigned long long)bytes);
    call->host->deallocate(call->host, inout_buffer->data);
    *inout_buffer = (text_buffer){data, needed};
    return TN_OK;
}

/* The word in lower case is in `own`, that of each stop word goes to `other`. */
static tn_status find_ignoring_case(tn_call *call, const char *text, uint64_t bytes,
                                    text_buffer *own, text_buffer *other, bool *out_is_there) {
    const normalizer_params *params = call->params;
    TN_TRY(reserve(call, bytes, own));
    const uint64_t length = tn_letters_lower(text, bytes, own->data);
    for (uint64_t i = 0; i < params->stopwords.count && !*out_is_there; i++) {
        const char *word = params->stopwords.items[i];
        const uint64_t word_bytes = strlen(word);
        TN_TRY(reserve(call, word_bytes, other));
        *out_is_there = tn_letters_lower(word, word_bytes, other->data) == length &&
                        memcmp(own->data, other->data, length) == 0;
    }
    return TN_OK;
}

static tn_status is_stopword(tn_call *call, const char *text, uint64_t bytes, text_buffer *buffers,
                             bool *out_is_there) {
    const normalizer_params *params = call->params;
    *out_is_there = false;
    if (params->stopwords.count == 0) return TN_OK;
    if (!params->is_case_sensitive)
        return find_ignoring_case(call, text, bytes, &buffers[0], &buffers[1], out_is_there);
    for (uint64_t i = 0; i < params->stopwords.count && !*out_is_there; i++)
        *out_is_there = strlen(params->stopwords.items[i]) == bytes &&
                        memcmp(params->stopwords.items[i], text, bytes) == 0;
    return TN_OK;
}

static tn_status append_word(tn_call *call, const char *text, uint64_t bytes, text_buffer *buffers,
                             tn_string *element) {
    const normalizer_params *params = call->params;
    const char *from = text;
    element->bytes = bytes;
    if (params->case_change_action != CASE_NONE) {
        TN_TRY(reserve(call, bytes, buffers));
        element->bytes = params->case_change_action == CASE_LOWER
                             ? tn_letters_lower(text, bytes, buffers->data)
                             : tn_letters_upper(text, bytes, buffers->data);
        from = buffers->data;
    }
    return tn_strings_of(call)->append(call, 0, from, element->bytes, &element->offset);
}

static tn_status normalize(tn_call *call, text_buffer *buffers) {
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    tn_string *elements = y->data;
    int64_t count = 0;
    for (int64_t i = 0, end = tn_element_count(x); i < end; i++) {
        uint64_t bytes;
        bool is_out;
        const char *text = tn_string_at(x, (uint64_t)i, &bytes);
        TN_TRY(is_stopword(call, text, bytes, buffers, &is_out));
        if (!is_out) TN_TRY(append_word(call, text, bytes, buffers, &elements[count++]));
    }
    if (count == 0) elements[count++] = (tn_string){0, 0};
    y->shape[y->rank - 1] = count;
    return TN_OK;
}

static tn_status normalizer_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 1, 2));
    const tn_tensor *x = call->inputs[0];
    int64_t shape[2] = {x->shape[0], x->rank == 2 ? x->shape[1] : 0};
    if (x->rank == 2 && x->shape[0] != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'X' has %lld rows; expected 1",
                                (long long)x->shape[0]);
    if (shape[x->rank - 1] == 0) shape[x->rank - 1] = 1; /* where no word is left: an empty one */
    return tn_infer_set_shape(call, 0, x->rank, shape);
}

static tn_status normalizer_reference(tn_call *call) {
    text_buffer buffers[2] = {{0}};
    const tn_status status = normalize(call, buffers);
    call->host->deallocate(call->host, buffers[0].data);
    call->host->deallocate(call->host, buffers[1].data);
    return status;
}

static const tn_field normalizer_fields[] = {
    TN_FIELD(normalizer_params, stopwords, TN_FIELD_STRINGS, TN_OPTIONAL, NULL,
             "words that are left out"),
    TN_FIELD(normalizer_params, locale, TN_FIELD_STRING, TN_OPTIONAL, NULL,
             "whose letters; case is that of Unicode's simple mappings whatever it says"),
    TN_FIELD(normalizer_params, is_case_sensitive, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether stop words are held against words as they are"),
    TN_FIELD_CHOICE(normalizer_params, case_change_action, TN_FIELD_ENUM, TN_OPTIONAL, "NONE",
                    "NONE|LOWER|UPPER", "the case of what is left"),
};
static const tn_port normalizer_inputs[] = {TN_PORT("X", "string", 0, "[C] or [1, C]")};
static const tn_port normalizer_outputs[] = {
    TN_PORT("Y", "string", TN_PORT_SIZED_BY_RUN, "what is left, or one empty string")};
static const char *const normalizer_cases[] = {
    "| X=string[3]",
    "stopwords=[b] case_change_action=UPPER | X=string[3]{a,B,c} | Y=string[2]{A,C}",
    ("stopwords=[b] is_case_sensitive=1 case_change_action=LOWER | X=string[1,3]{A,B,b} | "
     "Y=string[1,2]{a,b}"),
    "stopwords=[a] | X=string[2]{a,A} | Y=string[1]{}",
    "case_change_action=UPPER | X=string[2]{äßя,ĳω} | Y=string[2]{ÄßЯ,ĲΩ}",
    "case_change_action=LOWER | X=string[9]",
    "| X=string[0]",
};
const tn_operator tn_string_normalizer_10 = TN_OPERATOR_TABLE(
    normalizer, "", "StringNormalizer", 10, "Words without stop words, in one case.",
    TN_FIELDS(normalizer_params, normalizer_fields));
