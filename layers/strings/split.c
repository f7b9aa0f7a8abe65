/* SPDX-License-Identifier: Apache-2.0 */
/* StringSplit: the parts of each string between delimiters, in rows as long as the longest needs;
 * they share the input's heap. */
#include "strings/strings.h"

#include <tenon/plugin/output.h>

typedef struct split_params {
    uint64_t present;
    const char *delimiter;
    int64_t maxsplit;
} split_params;

enum { SPLIT_HAS_MAXSPLIT = 2 }; /* bit of `present` */

/* What is left of a string, and how often it may still be cut. */
typedef struct rest {
    const char *text;
    uint64_t at, bytes;
    const char *delimiter; /* "": white space */
    uint64_t delimiter_bytes, cuts;
    bool has_ended;
} rest;

static bool is_space(char letter) {
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static void rest_init(const tn_call *call, const tn_tensor *x, int64_t element, rest *out_rest) {
    const split_params *params = call->params;
    const char *delimiter = params->delimiter ? params->delimiter : "";
    const bool is_limited = params->present & SPLIT_HAS_MAXSPLIT && params->maxsplit >= 0;
    *out_rest = (rest){.delimiter = delimiter,
                       .delimiter_bytes = strlen(delimiter),
                       .cuts = is_limited ? (uint64_t)params->maxsplit : UINT64_MAX};
    out_rest->text = tn_string_at(x, (uint64_t)element, &out_rest->bytes);
}

/* The end of the next part at a delimiter; the text's where there is none. */
static uint64_t find_delimiter(const rest *r) {
    for (uint64_t i = r->at; r->cuts > 0 && i + r->delimiter_bytes <= r->bytes; i++)
        if (memcmp(r->text + i, r->delimiter, r->delimiter_bytes) == 0) return i;
    return r->bytes;
}

static bool next_word(rest *r, uint64_t *out_begin, uint64_t *out_end) {
    while (r->at < r->bytes && is_space(r->text[r->at]))
        r->at++;
    if (r->at == r->bytes) return false;
    *out_begin = r->at;
    if (r->cuts == 0) r->at = r->bytes;
    while (r->at < r->bytes && !is_space(r->text[r->at]))
        r->at++;
    *out_end = r->at;
    r->cuts -= r->cuts > 0;
    return true;
}

static bool next_part(rest *r, uint64_t *out_begin, uint64_t *out_end) {
    if (r->delimiter_bytes == 0) return next_word(r, out_begin, out_end);
    if (r->has_ended) return false;
    *out_begin = r->at;
    *out_end = find_delimiter(r);
    r->has_ended = *out_end == r->bytes;
    r->at = *out_end + (r->has_ended ? 0 : r->delimiter_bytes);
    r->cuts -= r->cuts > 0;
    return true;
}

/* The parts of an element; into `to` where it is not null. */
static int64_t split_element(const tn_call *call, int64_t element, tn_string *to) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t offset = ((const tn_string *)x->data)[element].offset;
    rest r;
    int64_t count = 0;
    rest_init(call, x, element, &r);
    for (uint64_t begin, end; next_part(&r, &begin, &end); count++)
        if (to) to[count] = (tn_string){offset + begin, end - begin};
    return count;
}

static tn_status split_infer(tn_call *call) {
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK - 1));
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = tn_infer_output(call, 0);
    TN_TRY(tn_infer_copy_shape(call, 1, 0));
    if (!y) return TN_OK;
    TN_TRY(tn_infer_copy_shape(call, 0, 0));
    y->rank = x->rank + 1;
    y->shape[x->rank] = TN_UNBOUNDED;
    return TN_OK;
}

static tn_status split_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *z = tn_infer_output(call, 1);
    const int64_t count = tn_element_count(x);
    int64_t width = 0, shape[TN_MAX_RANK];
    for (int64_t i = 0; i < count; i++) {
        const int64_t parts = split_element(call, i, NULL);
        width = parts > width ? parts : width;
        if (z) ((int64_t *)z->data)[i] = parts;
    }
    if (!tn_infer_output(call, 0)) return TN_OK;
    const tn_output_memory *memory = call->host->extension(call->host, TN_OUTPUT_MEMORY);
    void *data = NULL;
    memcpy(shape, x->shape, x->rank * sizeof(*shape));
    shape[x->rank] = width;
    TN_TRY(memory->allocate(call, 0, x->rank + 1, shape, &data));
    for (int64_t i = 0; i < count; i++) {
        tn_string *row = (tn_string *)data + i * width;
        const int64_t parts = split_element(call, i, row);
        for (int64_t k = parts; k < width; k++)
            row[k] = (tn_string){0, 0};
    }
    return tn_strings_share(call, 0);
}

static const tn_field split_fields[] = {
    TN_FIELD(split_params, delimiter, TN_FIELD_STRING, TN_OPTIONAL, NULL,
             "what stands between parts; empty or absent: white space, however much"),
    TN_FIELD(split_params, maxsplit, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "how often a string is cut at most, from its beginning; absent or negative: always"),
};
static const tn_port split_inputs[] = {TN_PORT("X", "string", 0, "any tensor")};
static const tn_port split_outputs[] = {
    TN_PORT("Y", "string", TN_PORT_SIZED_BY_RUN,
            "X's shape and an axis of parts; rows are filled with empty strings"),
    TN_PORT("Z", "i64", 0, "how many parts each string has"),
};
static const char *const split_cases[] = {
    "| X=string[3]",
    "delimiter=. | X=string[2]{a.b,c} | Y=string[2,2]{a,b,c,} Z=i64[2]{2,1}",
    "delimiter=.. maxsplit=1 | X=string[1]{a..b..c} | Y=string[1,2]{a,b..c} Z=i64[1]{2}",
    "maxsplit=0 delimiter=. | X=string[]{a.b} | Y=string[1]{a.b} Z=i64[]{1}",
    "delimiter=- | X=string[2]{-,} | Y=string[2,2]{,,,} Z=i64[2]{2,1}",
    "| X=string[0]",
};
const tn_operator tn_string_split_20 =
    TN_OPERATOR_TABLE(split, "", "StringSplit", 20, "Strings cut at a delimiter or at white space.",
                      TN_FIELDS(split_params, split_fields));
