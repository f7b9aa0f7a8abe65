/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TfIdfVectorizer: how often each n-gram of a pool occurs in a row of words or numbers, whose
 * elements may lie some elements apart.
 */
#include "kit/operator/kernel_memory.h"
#include "strings/strings.h"

#include <stdlib.h>

#include <tenon/kit/parallel.h>

typedef struct tf_idf_params {
    uint64_t present;
    uint32_t mode;
    int64_t min_gram_length, max_gram_length, max_skip_count;
    tn_i64s ngram_counts, ngram_indexes, pool_int64s;
    tn_strings pool_strings;
    tn_f32s weights;
} tf_idf_params;

enum { MODE_TF = 0, MODE_IDF = 1, MODE_TFIDF = 2, MOST_COLUMNS = 1 << 28 };

static bool is_text(const tn_call *call) {
    return call->inputs[0]->type == TN_STRING;
}

static uint64_t pool_count(const tn_call *call) {
    const tf_idf_params *p = call->params;
    return is_text(call) ? p->pool_strings.count : p->pool_int64s.count;
}

/* Where the n-grams of length `length` end in the pool. */
static uint64_t pool_end(const tn_call *call, uint64_t length) {
    const tf_idf_params *p = call->params;
    return length < p->ngram_counts.count ? (uint64_t)p->ngram_counts.items[length]
                                          : pool_count(call);
}

/* ----------------------------------------------------------------------------------------------
 * checks */

static tn_status check_counts(tn_call *call, uint64_t *out_grams) {
    const tf_idf_params *p = call->params;
    uint64_t grams = 0;
    if (p->ngram_counts.count == 0 || p->ngram_counts.items[0] != 0)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "field 'ngram_counts' begins not with 0");
    for (uint64_t i = 0; i < p->ngram_counts.count; i++) {
        const int64_t begin = p->ngram_counts.items[i], end = (int64_t)pool_end(call, i + 1);
        if (begin < 0 || end < begin || (uint64_t)end > pool_count(call) ||
            (uint64_t)(end - begin) % (i + 1) != 0)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'ngram_counts': %lld to %lld are no %llu-grams of a "
                                    "pool of %llu",
                                    (long long)begin, (long long)end, (unsigned long long)i + 1,
                                    (unsigned long long)pool_count(call));
        grams += (uint64_t)(end - begin) / (i + 1);
    }
    *out_grams = grams;
    return TN_OK;
}

static tn_status check_indexes(tn_call *call, uint64_t grams, int64_t *out_columns) {
    const tf_idf_params *p = call->params;
    int64_t most = -1;
    if (p->ngram_indexes.count != grams || (p->weights.count > 0 && p->weights.count != grams))
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "the pool has %llu n-grams, field 'ngram_indexes' %llu values and "
                                "field 'weights' %llu",
                                (unsigned long long)grams,
                                (unsigned long long)p->ngram_indexes.count,
                                (unsigned long long)p->weights.count);
    for (uint64_t i = 0; i < grams; i++) {
        const int64_t index = p->ngram_indexes.items[i];
        if (index < 0 || index >= MOST_COLUMNS)
            return call->host->fail(call, TN_ERROR_RANGE, "field 'ngram_indexes': %lld",
                                    (long long)index);
        most = index > most ? index : most;
    }
    *out_columns = most + 1;
    return TN_OK;
}

static tn_status check(tn_call *call, int64_t *out_columns) {
    const tf_idf_params *p = call->params;
    uint64_t grams = 0;
    if ((p->pool_strings.count > 0) == (p->pool_int64s.count > 0))
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "fields 'pool_strings' and 'pool_int64s': expected one of them");
    if (pool_count(call) == 0 || pool_count(call) >= UINT32_MAX)
        return call->host->fail(call, TN_ERROR_TYPE, "the pool and input 'X' differ in type");
    if (p->max_gram_length < p->min_gram_length)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'max_gram_length' is below field 'min_gram_length'");
    TN_TRY(check_counts(call, &grams));
    return check_indexes(call, grams, out_columns);
}

static tn_status tf_idf_infer(tn_call *call) {
    int64_t columns = 0;
    TN_TRY(tn_infer_require_rank(call, 0, 0, 2));
    TN_TRY(check(call, &columns));
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 2) return tn_infer_set_shape(call, 0, 1, &columns);
    const int64_t shape[2] = {x->shape[0], columns};
    return tn_infer_set_shape(call, 0, 2, shape);
}

/* ----------------------------------------------------------------------------------------------
 * finding */

/* The n-grams of one length: their numbers, and where in the pool they begin. */
typedef struct gram_list {
    const tn_call *call;
    uint64_t length, first, count, begin;
} gram_list;

static uint64_t pool_of(const gram_list *list, uint64_t gram) {
    return list->begin + (gram - list->first) * list->length;
}

static int compare_integers(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* An element of the pool with one of the input. */
static int compare_element(const tn_call *call, uint64_t pool, int64_t element) {
    const tf_idf_params *p = call->params;
    if (!is_text(call))
        return compare_integers(p->pool_int64s.items[pool],
                                tn_element_i64(call->inputs[0], element));
    uint64_t bytes;
    const char *text = tn_string_at(call->inputs[0], (uint64_t)element, &bytes);
    const char *word = p->pool_strings.items[pool];
    const uint64_t word_bytes = strlen(word), least = word_bytes < bytes ? word_bytes : bytes;
    const int order = memcmp(word, text, least);
    return order != 0 ? order : compare_integers((int64_t)word_bytes, (int64_t)bytes);
}

/* An n-gram of the pool with the elements first, first + step and so on. */
static int compare_gram(const gram_list *list, uint64_t gram, int64_t first, int64_t step) {
    int order = 0;
    for (uint64_t k = 0; k < list->length && order == 0; k++)
        order = compare_element(list->call, pool_of(list, gram) + k, first + (int64_t)k * step);
    return order;
}

static int compare_sorted(const void *left, const void *right, void *user) {
    const gram_list *list = user;
    const tf_idf_params *p = list->call->params;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const uint64_t at = pool_of(list, a), other = pool_of(list, b);
    int order = 0;
    for (uint64_t k = 0; k < list->length && order == 0; k++)
        order =
            is_text(list->call)
                ? strcmp(p->pool_strings.items[at + k], p->pool_strings.items[other + k])
                : compare_integers(p->pool_int64s.items[at + k], p->pool_int64s.items[other + k]);
    return order != 0 ? order : compare_integers(a, b);
}

/* Of equal ones the first; -1: there is none. `order`: the numbers sorted, or null. */
static int64_t find_gram(const gram_list *list, const uint32_t *order, int64_t first,
                         int64_t step) {
    if (!order) {
        for (uint64_t gram = list->first; gram < list->first + list->count; gram++)
            if (compare_gram(list, gram, first, step) == 0) return (int64_t)gram;
        return -1;
    }
    uint64_t begin = list->first, end = list->first + list->count;
    const uint64_t last = end;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (compare_gram(list, order[middle], first, step) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin < last && compare_gram(list, order[begin], first, step) == 0
               ? (int64_t)order[begin]
               : -1;
}

/* The list of the next length; begins with `list->length` 0. */
static bool next_list(gram_list *list) {
    const tf_idf_params *p = list->call->params;
    if (list->length == p->ngram_counts.count) return false;
    list->first += list->count;
    list->length++;
    list->begin = (uint64_t)p->ngram_counts.items[list->length - 1];
    list->count = (pool_end(list->call, list->length) - list->begin) / list->length;
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * counting */

typedef struct gram_rows {
    const tn_call *call;
    const uint32_t *order;
    int64_t columns, length; /* of the output's rows; of the input's */
} gram_rows;

/* All n-grams of one length in a row; single elements are not counted again for each step. */
static void count_length(const gram_rows *rows, const gram_list *list, int64_t begin, float *y) {
    const tf_idf_params *p = rows->call->params;
    const int64_t steps = list->length == 1 ? 1 : p->max_skip_count + 1;
    for (int64_t step = 1; step <= steps; step++) {
        int64_t reach;
        if (!tn_infer_multiply(step, (int64_t)list->length - 1, &reach) || reach >= rows->length)
            break;
        for (int64_t i = 0; i + reach < rows->length; i++) {
            const int64_t gram = find_gram(list, rows->order, begin + i, step);
            if (gram >= 0) y[p->ngram_indexes.items[gram]] += 1;
        }
    }
}

static void weigh(const gram_rows *rows, float *y) {
    const tf_idf_params *p = rows->call->params;
    if (p->mode == MODE_TF) return;
    for (int64_t i = 0; p->mode == MODE_IDF && i < rows->columns; i++)
        y[i] = y[i] > 0 ? 1 : 0;
    for (uint64_t i = 0; i < p->weights.count; i++) {
        float *column = &y[p->ngram_indexes.items[i]];
        if (*column > 0) *column *= p->weights.items[i];
    }
}

static tn_status do_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const gram_rows *rows = user;
    const tf_idf_params *p = rows->call->params;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        float *y = (float *)rows->call->outputs[0]->data + row * rows->columns;
        gram_list list = {.call = rows->call};
        memset(y, 0, (size_t)rows->columns * sizeof(*y));
        while (next_list(&list))
            if ((int64_t)list.length >= p->min_gram_length &&
                (int64_t)list.length <= p->max_gram_length)
                count_length(rows, &list, row * rows->length, y);
        weigh(rows, y);
    }
    return TN_OK;
}

static tn_status compute(tn_call *call, bool is_parallel) {
    const tn_tensor *x = call->inputs[0];
    gram_rows rows = {.call = call, .length = x->rank > 0 ? x->shape[x->rank - 1] : 1};
    const int64_t count = x->rank == 2 ? x->shape[0] : 1;
    TN_TRY(check(call, &rows.columns));
    if (count == 0 || rows.columns == 0) return TN_OK;
    rows.order = is_parallel ? call->state : NULL;
    if (!is_parallel) return do_rows(&rows, 0, count, 0);
    return call->host->parallel_for(call, count, 1, do_rows, &rows);
}

TN_SERIAL_AND_PARALLEL(tf_idf, compute)

static tn_status tf_idf_prepare(tn_call *call) {
    const tf_idf_params *p = call->params;
    gram_list list = {.call = call};
    int64_t columns = 0;
    TN_TRY(check(call, &columns));
    TN_TRY(tn_kernel_state_create(call, (p->ngram_indexes.count + 1) * sizeof(uint32_t)));
    uint32_t *order = call->state;
    for (uint32_t i = 0; i < p->ngram_indexes.count; i++)
        order[i] = i;
    while (next_list(&list))
        qsort_r(order + list.first, list.count, sizeof(*order), compare_sorted, &list);
    return TN_OK;
}

#define LENGTH(member, doc)                                                                        \
    TN_FIELD_RANGE(tf_idf_params, member, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 1 << 20, doc)
static const tn_field tf_idf_fields[] = {
    TN_FIELD_CHOICE(tf_idf_params, mode, TN_FIELD_ENUM, TN_REQUIRED, NULL, "TF|IDF|TFIDF",
                    "counts; 1 for those that occur; counts, both times a weight"),
    LENGTH(min_gram_length, "the least length of n-grams that count"),
    LENGTH(max_gram_length, "the greatest"),
    TN_FIELD_RANGE(tf_idf_params, max_skip_count, TN_FIELD_I64, TN_REQUIRED, NULL, 0, 1 << 20,
                   "how many elements may lie between two of an n-gram, always as many"),
    TN_FIELD(tf_idf_params, ngram_counts, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "where in the pool those of length 1, 2 and so on begin"),
    TN_FIELD(tf_idf_params, ngram_indexes, TN_FIELD_I64S, TN_REQUIRED, NULL,
             "the output's column of each n-gram"),
    TN_FIELD(tf_idf_params, pool_int64s, TN_FIELD_I64S, TN_OPTIONAL, NULL, "n-grams of integers"),
    TN_FIELD(tf_idf_params, pool_strings, TN_FIELD_STRINGS, TN_OPTIONAL, NULL, "n-grams of texts"),
    TN_FIELD(tf_idf_params, weights, TN_FIELD_F32S, TN_OPTIONAL, NULL,
             "the weight of each n-gram; absent: 1"),
};
static const tn_port tf_idf_inputs[] = {TN_PORT("X", "string|i64|i32", 0, "[C], or [N, C]")};
static const tn_port tf_idf_outputs[] = {TN_PORT("Y", "f32", 0, "[columns], or [N, columns]")};
#define POOL                                                                                       \
    "ngram_counts=[0,4] ngram_indexes=[0,1,2,3,4,5,6] "                                            \
    "pool_int64s=[2,3,5,4,5,6,7,8,6,7] min_gram_length=1 max_gram_length=2 "
static const char *const tf_idf_cases[] = {
    POOL "mode=TF max_skip_count=0 | X=i32[12]{1,1,3,3,3,7,8,6,7,5,6,8} | "
         "Y=f32[7]{0,3,1,0,1,1,1}",
    POOL "mode=TF max_skip_count=5 | X=i64[2,6]{1,1,3,3,3,7,8,6,7,5,6,8}",
    POOL "mode=IDF max_skip_count=0 weights=[1,2,3,4,5,6,7] | X=i64[6]{3,3,3,7,8,6}",
    POOL "mode=TFIDF max_skip_count=1 weights=[1,2,3,4,5,6,7] | X=i32[3,4]",
    "ngram_counts=[0,2] ngram_indexes=[1,0,2] pool_strings=[a,b,a,b] min_gram_length=1 "
    "max_gram_length=2 mode=TF max_skip_count=0 | X=string[4]{a,b,c,a} | Y=f32[3]{1,2,1}",
    "ngram_counts=[0,0] ngram_indexes=[0] pool_strings=[a,b] min_gram_length=2 max_gram_length=2 "
    "mode=TF max_skip_count=3 | X=string[2,1]{a,b} | Y=f32[2,1]{0,0}",
    POOL "mode=TF max_skip_count=0 | X=i64[0]",
};
const tn_operator tn_tf_idf_vectorizer_9 =
    TN_OPERATOR_TABLE(tf_idf, "", "TfIdfVectorizer", 9, "How often n-grams occur in each row.",
                      TN_FIELDS(tf_idf_params, tf_idf_fields));

static const char *const combinations[] = {"string|i64|i32 -> f32"};
const tn_kernel tn_tf_idf_sorted = {
    TN_KERNEL_BEGIN("cpu", "", "TfIdfVectorizer", "sorted", 1,
                    "N-grams sorted and bisected; rows on all threads."),
    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
    TN_COMBINATIONS(combinations),
    .prepare = tf_idf_prepare,
    .release = tn_kernel_state_destroy,
    .run = tf_idf_run,
};
