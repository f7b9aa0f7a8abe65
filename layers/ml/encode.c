/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders: LabelEncoder and CategoryMapper, which put a value instead of each key, and
 * OneHotEncoder, which makes a row of zeros and a one of it.
 */
#include "kit/operator/kernel_memory.h"
#include "ml/lookup.h"

#include <tenon/kit/parallel.h>

typedef struct encode_params {
    uint64_t present;
    tn_strings keys_strings, values_strings, classes_strings, cats_strings;
    tn_i64s keys_int64s, values_int64s, cats_int64s;
    tn_f32s keys_floats, values_floats;
    const tn_attribute *keys_tensor, *values_tensor, *default_tensor;
    const char *default_string;
    int64_t default_int64;
    float default_float;
    bool zeros;
} encode_params;

typedef struct encoder {
    tn_call *call;
    const uint32_t *order;   /* null: keys are tried one by one */
    tn_ml_list keys, values; /* values of type TN_NONE: the keys' indices */
    tn_ml_list fallback;     /* one value, of the values' type */
} encoder;

enum { GRAIN = 1024 };

static int64_t find(const encoder *e, int64_t element) {
    const tn_tensor *x = e->call->inputs[0];
    return e->order ? tn_ml_index_find(e->order, &e->keys, x, element)
                    : tn_ml_find(&e->keys, x, element);
}

static tn_status check_input(tn_call *call, const encoder *e) {
    const tn_type type = call->inputs[0]->type;
    if (type == e->keys.type) return TN_OK;
    return call->host->fail(call, TN_ERROR_TYPE,
                            "the keys are no values of the type of input 'X'%s",
                            e->keys.type == TN_STRING ? ": they are texts" : "");
}

/* ----------------------------------------------------------------------------------------------
 * what the fields of each operator say */

/* The value of all other keys. A tensor goes before the fields of one type. */
static tn_status read_default(tn_call *call, const encode_params *p, encoder *e) {
    if (p->default_tensor) {
        if (!tn_ml_list_of(p->default_tensor, &e->fallback) || e->fallback.count != 1 ||
            e->fallback.type != e->values.type)
            return call->host->fail(call, TN_ERROR_ARGUMENT,
                                    "field 'default_tensor' is not one value of the values' type");
        return TN_OK;
    }
    if (e->values.type == TN_STRING)
        e->fallback = (tn_ml_list){1, TN_STRING, &p->default_string};
    else if (e->values.type == TN_I64)
        e->fallback = (tn_ml_list){1, TN_I64, &p->default_int64};
    else if (e->values.type == TN_F32)
        e->fallback = (tn_ml_list){1, TN_F32, &p->default_float};
    else
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'default_tensor' is needed for values of this type");
    return TN_OK;
}

static tn_status read_lists(tn_call *call, encoder *e) {
    const encode_params *p = call->params;
    const tn_ml_choice keys = {&p->keys_strings, &p->keys_int64s, &p->keys_floats, p->keys_tensor};
    const tn_ml_choice values = {&p->values_strings, &p->values_int64s, &p->values_floats,
                                 p->values_tensor};
    TN_TRY(tn_ml_list_read(call, "keys", &keys, &e->keys));
    TN_TRY(tn_ml_list_read(call, "values", &values, &e->values));
    if (e->keys.count != e->values.count)
        return call->host->fail(call, TN_ERROR_ARGUMENT, "there are %llu keys and %llu values",
                                (unsigned long long)e->keys.count,
                                (unsigned long long)e->values.count);
    return read_default(call, p, e);
}

/* Texts and integers for each other, by the type of input 0; `integers` null: 0, 1, 2 and so on. */
static tn_status read_pair(tn_call *call, const tn_strings *texts, const tn_i64s *integers,
                           encoder *e) {
    const encode_params *p = call->params;
    const tn_ml_list list = {texts->count, TN_STRING, texts->items};
    const tn_ml_list numbers = {texts->count, TN_I64, integers ? integers->items : NULL};
    const bool is_text = call->inputs[0]->type == TN_STRING;
    if (texts->count == 0 || texts->count >= UINT32_MAX ||
        (integers && integers->count != texts->count))
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "the list of texts has %llu values, that of integers %llu",
                                (unsigned long long)texts->count,
                                (unsigned long long)(integers ? integers->count : texts->count));
    e->keys = is_text ? list : numbers;
    e->values = is_text ? numbers : list;
    return read_default(call, p, e);
}

static tn_status read_encoder(tn_call *call, encoder *out_encoder) {
    const encode_params *p = call->params;
    *out_encoder = (encoder){.call = call};
    if (strcmp(call->op->name, "CategoryMapper") == 0)
        TN_TRY(read_pair(call, &p->cats_strings, &p->cats_int64s, out_encoder));
    else if (call->op->since_version == 1)
        TN_TRY(read_pair(call, &p->classes_strings, NULL, out_encoder));
    else
        TN_TRY(read_lists(call, out_encoder));
    return check_input(call, out_encoder);
}

/* ----------------------------------------------------------------------------------------------
 * LabelEncoder and CategoryMapper */

/* A key that is an index. */
static int64_t find_index(const encoder *e, int64_t element) {
    if (e->keys.items) return find(e, element);
    const int64_t index = tn_element_i64(e->call->inputs[0], element);
    return index >= 0 && (uint64_t)index < e->keys.count ? index : -1;
}

/* Texts are appended afterwards: their elements have the index here. */
static tn_status encode_elements(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const encoder *e = user;
    const tn_tensor *y = e->call->outputs[0];
    const size_t bytes = tn_element_bytes(y->type);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t index = find_index(e, i);
        const tn_ml_list *list = index < 0 ? &e->fallback : &e->values;
        const int64_t at = index < 0 ? 0 : index;
        if (y->type == TN_STRING)
            ((tn_string *)y->data)[i] = (tn_string){(uint64_t)(index + 1), 0};
        else if (!list->items)
            tn_element_set_i64(y, i, at);
        else
            memcpy((char *)y->data + (size_t)i * bytes,
                   (const char *)list->items + (size_t)at * bytes, bytes);
    }
    return TN_OK;
}

static tn_status append_texts(const encoder *e) {
    tn_call *call = e->call;
    const tn_string_services *strings = call->host->extension(call->host, TN_STRINGS);
    tn_string *y = call->outputs[0]->data;
    for (int64_t i = 0, end = tn_element_count(call->outputs[0]); i < end; i++) {
        const tn_ml_list *list = y[i].offset == 0 ? &e->fallback : &e->values;
        const uint64_t at = y[i].offset == 0 ? 0 : y[i].offset - 1;
        const char *text = ((const char *const *)list->items)[at];
        y[i].bytes = strlen(text);
        TN_TRY(strings->append(call, 0, text, y[i].bytes, &y[i].offset));
    }
    return TN_OK;
}

static tn_status encode(tn_call *call, bool is_parallel) {
    encoder e;
    const int64_t count = tn_element_count(call->inputs[0]);
    TN_TRY(read_encoder(call, &e));
    e.order = is_parallel ? call->state : NULL;
    if (count == 0) return TN_OK;
    if (is_parallel)
        TN_TRY(call->host->parallel_for(call, count, GRAIN, encode_elements, &e));
    else
        TN_TRY(encode_elements(&e, 0, count, 0));
    return e.values.type == TN_STRING ? append_texts(&e) : TN_OK;
}

static tn_status encode_infer(tn_call *call) {
    encoder e;
    TN_TRY(read_encoder(call, &e));
    tn_infer_set_type(call, 0, e.values.type);
    return tn_infer_copy_shape(call, 0, 0);
}

TN_SERIAL_AND_PARALLEL(encode, encode)

static tn_status encode_prepare(tn_call *call) {
    encoder e;
    TN_TRY(read_encoder(call, &e));
    const tn_ml_list none = {0, TN_I64, NULL};
    return tn_ml_index_create(call, e.keys.items ? &e.keys : &none);
}

#define LIST(member, type, doc)                                                                    \
    TN_FIELD(encode_params, member, TN_FIELD_##type, TN_OPTIONAL, NULL, doc)
#define DEFAULTS                                                                                   \
    TN_FIELD(encode_params, default_string, TN_FIELD_STRING, TN_OPTIONAL, "_Unused",               \
             "the text for all others"),                                                           \
        TN_FIELD(encode_params, default_int64, TN_FIELD_I64, TN_OPTIONAL, "-1",                    \
                 "the integer for all others")
#define LISTS                                                                                      \
    DEFAULTS,                                                                                      \
        TN_FIELD(encode_params, default_float, TN_FIELD_F32, TN_OPTIONAL, "-0.0",                  \
                 "the floating-point number for all others"),                                      \
        LIST(keys_strings, STRINGS, "keys that are texts"),                                        \
        LIST(keys_int64s, I64S, "keys that are integers"),                                         \
        LIST(keys_floats, F32S, "keys that are floating-point numbers"),                           \
        LIST(values_strings, STRINGS, "values that are texts"),                                    \
        LIST(values_int64s, I64S, "values that are integers"),                                     \
        LIST(values_floats, F32S, "values that are floating-point numbers")
static const tn_field encoder_1_fields[] = {LIST(classes_strings, STRINGS, "texts by index"),
                                            DEFAULTS};
static const tn_field encoder_2_fields[] = {LISTS};
static const tn_field encoder_4_fields[] = {
    LISTS, LIST(keys_tensor, ANY, "keys of any type: a tensor, or texts"),
    LIST(values_tensor, ANY, "values of any type"),
    LIST(default_tensor, ANY, "the value for all others, of the values' type")};

#define PAIR_TYPES "string|i64"
#define TYPES_2    "string|i64|f32"
#define TYPES_4    "string|i64|f32|i32|i16|f64"
#define PORTS(version, types)                                                                      \
    static const tn_port encoder_##version##_inputs[] = {TN_PORT("X", types, 0, "any tensor")};    \
    static const tn_port encoder_##version##_outputs[] = {                                         \
        TN_PORT("Y", types, 0, "the values, of X's shape")}
PORTS(1, PAIR_TYPES);
PORTS(2, TYPES_2);
PORTS(4, TYPES_4);

static const char *const encoder_1_cases[] = {
    "classes_strings=[a,b,cd] | X=string[4]{cd,a,x,b} | Y=i64[4]{2,0,-1,1}",
    "classes_strings=[a,b] default_string=no | X=i64[2,2]{1,0,2,-1} | Y=string[2,2]{b,a,no,no}",
    "classes_strings=[a,b] | X=string[]",
};
static const char *const encoder_2_cases[] = {
    "keys_strings=[a,b,a] values_int64s=[5,6,7] | X=string[3]{b,a,c} | Y=i64[3]{6,5,-1}",
    "keys_int64s=[3,-1] values_strings=[x,yz] | X=i64[3]{-1,3,0} | Y=string[3]{yz,x,_Unused}",
    ("keys_floats=[nan,0.5] values_floats=[1,2] default_float=9 | X=f32[3]{0.5,nan,7} | "
     "Y=f32[3]{2,1,9}"),
    "keys_strings=[a,b] values_strings=[c,d] | X=string[2,3]",
    "keys_int64s=[1,2,3] values_floats=[0.1,0.2,0.3] | X=i64[500]",
    "keys_int64s=[1] values_int64s=[2] | X=i64[0]",
    "keys_strings=[a,b] values_floats=[0.5,2] default_float=9 | X=string[3]{b,a,c} | "
    "Y=f32[3]{2,0.5,9}",
    "keys_floats=[0.5,2] values_strings=[a,b] | X=f32[3]{2,0.5,7} | Y=string[3]{b,a,_Unused}",
    "keys_floats=[0.5,2] values_int64s=[3,-4] | X=f32[3]{2,0.5,7} | Y=i64[3]{-4,3,-1}",
    "keys_int64s=[3,-1] values_int64s=[8,9] | X=i64[3]{-1,3,0} | Y=i64[3]{9,8,-1}",
};
static const char *const encoder_4_cases[] = {
    "keys_strings=[a,b] values_int64s=[5,6] | X=string[3]{b,a,c} | Y=i64[3]{6,5,-1}",
    "keys_int64s=[3,-1] values_strings=[x,yz] | X=i64[3]{-1,3,0} | Y=string[3]{yz,x,_Unused}",
    "keys_int64s=[3,-1] values_tensor=[0.5,2.25] default_tensor=[-1.5] | X=i64[3]{-1,3,0} | "
    "Y=f64[3]{2.25,0.5,-1.5}",
    "keys_tensor=[a,b] values_tensor=[0.5,2.25] default_tensor=[-1.5] | X=string[3]{b,a,c} | "
    "Y=f64[3]{2.25,0.5,-1.5}",
};

#define ENCODER(version)                                                                           \
    static const tn_operator encoder_##version = {                                                 \
        TN_OPERATOR_BEGIN(TN_ML, "LabelEncoder", version, "The value of each key, by a table."),   \
        TN_FIELDS(encode_params, encoder_##version##_fields),                                      \
        TN_INPUTS(encoder_##version##_inputs),                                                     \
        TN_OUTPUTS(encoder_##version##_outputs),                                                   \
        .infer = encode_infer,                                                                     \
        .reference = encode_reference,                                                             \
        TN_CASES(encoder_##version##_cases),                                                       \
    }
ENCODER(1);
ENCODER(2);
ENCODER(4);

static const tn_field mapper_fields[] = {LIST(cats_strings, STRINGS, "the texts"),
                                         LIST(cats_int64s, I64S, "their integers"), DEFAULTS};
static const char *const mapper_cases[] = {
    "cats_strings=[a,b,cd] cats_int64s=[7,-8,9] | X=string[4]{cd,a,x,b} | Y=i64[4]{9,7,-1,-8}",
    "cats_strings=[a,b] cats_int64s=[7,8] default_string=no | X=i64[3]{8,7,0} | "
    "Y=string[3]{b,a,no}",
};
static const tn_operator mapper_1 = {
    TN_OPERATOR_BEGIN(TN_ML, "CategoryMapper", 1, "Texts for integers, or integers for texts."),
    TN_FIELDS(encode_params, mapper_fields),
    TN_INPUTS(encoder_1_inputs),
    TN_OUTPUTS(encoder_1_outputs),
    .infer = encode_infer,
    .reference = encode_reference,
    TN_CASES(mapper_cases),
};

#define SORTED(kernel, operator_name, prefix, types)                                               \
    TN_CPU_KERNEL_OF(kernel##_sorted, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, TN_ML,        \
                     operator_name, "sorted",                                                      \
                     "Keys sorted and bisected; elements on all threads.",                         \
                     TN_COMBINATIONS(types##_combinations), .prepare = prefix##_prepare,           \
                     .release = tn_kernel_state_destroy, .run = prefix##_run)
static const char *const encode_combinations[] = {
    "string -> string", "string -> i64", "string -> f32",
    "string -> i16",    "string -> f64", "i64|f32|i32|i16|f64 -> string",
    "i64 -> i64",       "i64 -> f32",    "i64 -> i16",
    "i64 -> f64",       "f32 -> f32",    "f32 -> i64"};
static const char *const map_combinations[] = {"string -> i64", "i64 -> string"};
SORTED(encoder, "LabelEncoder", encode, encode);
SORTED(mapper, "CategoryMapper", encode, map);

/* ----------------------------------------------------------------------------------------------
 * OneHotEncoder */

static tn_status read_categories(tn_call *call, encoder *out_encoder) {
    const encode_params *p = call->params;
    const tn_ml_choice choice = {&p->cats_strings, &p->cats_int64s, NULL, NULL};
    *out_encoder = (encoder){.call = call};
    TN_TRY(tn_ml_list_read(call, "categories", &choice, &out_encoder->keys));
    if ((out_encoder->keys.type == TN_STRING) == (call->inputs[0]->type == TN_STRING)) return TN_OK;
    return call->host->fail(call, TN_ERROR_TYPE, "the categories are %s, input 'X' is not of them",
                            out_encoder->keys.type == TN_STRING ? "texts" : "integers");
}

static tn_status one_hot_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK + 1];
    encoder e;
    TN_TRY(read_categories(call, &e));
    TN_TRY(tn_infer_require_rank(call, 0, 0, TN_MAX_RANK - 1));
    const tn_tensor *x = call->inputs[0];
    memcpy(shape, x->shape, x->rank * sizeof(*shape));
    shape[x->rank] = (int64_t)e.keys.count;
    return tn_infer_set_shape(call, 0, x->rank + 1, shape);
}

static tn_status encode_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const encoder *e = user;
    const int64_t width = (int64_t)e->keys.count;
    const bool needs_one = !((const encode_params *)e->call->params)->zeros;
    float *y = e->call->outputs[0]->data;
    (void)thread;
    memset(y + begin * width, 0, (size_t)((end - begin) * width) * sizeof(*y));
    for (int64_t i = begin; i < end; i++) {
        const int64_t index = find(e, i);
        if (index >= 0)
            y[i * width + index] = 1;
        else if (needs_one)
            return e->call->host->fail(e->call, TN_ERROR_RANGE,
                                       "element %lld of input 'X' is no category", (long long)i);
    }
    return TN_OK;
}

static tn_status one_hot(tn_call *call, bool is_parallel) {
    encoder e;
    const int64_t count = tn_element_count(call->inputs[0]);
    TN_TRY(read_categories(call, &e));
    e.order = is_parallel ? call->state : NULL;
    if (count == 0) return TN_OK;
    if (!is_parallel) return encode_rows(&e, 0, count, 0);
    return call->host->parallel_for(call, count, tn_parallel_grain(GRAIN, (int64_t)e.keys.count),
                                    encode_rows, &e);
}

TN_SERIAL_AND_PARALLEL(one_hot, one_hot)

static tn_status one_hot_prepare(tn_call *call) {
    encoder e;
    TN_TRY(read_categories(call, &e));
    return tn_ml_index_create(call, &e.keys);
}

static const tn_field one_hot_fields[] = {
    LIST(cats_strings, STRINGS, "categories that are texts"),
    LIST(cats_int64s, I64S, "categories that are integers"),
    TN_FIELD(encode_params, zeros, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether what is no category is a row of zeros, not an error"),
};
static const tn_port one_hot_inputs[] = {
    TN_PORT("X", "string|i64|i32|f32|f64", 0, "any tensor; what is behind the point is dropped")};
static const tn_port one_hot_outputs[] = {
    TN_PORT("Y", "f32", 0, "X's shape with the number of categories behind it")};
static const char *const one_hot_cases[] = {
    "cats_int64s=[3,1,7] | X=i64[4]{1,7,3,0} | Y=f32[4,3]{0,1,0,0,0,1,1,0,0,0,0,0}",
    "cats_strings=[a,bc] | X=string[2,2]{bc,a,x,a} | Y=f32[2,2,2]{0,1,1,0,0,0,1,0}",
    "cats_int64s=[0,1] zeros=0 | X=f32[3]{1,0.5,-0.5} | Y=f32[3,2]{0,1,1,0,1,0}",
    "cats_int64s=[0,1] | X=f64[2,3]",
    "cats_int64s=[0,1,2,3] | X=i32[600]",
    "cats_int64s=[0,1] | X=i64[0]",
};
TN_OPERATOR(one_hot, TN_ML, "OneHotEncoder", 1, "Each element as a row with a one.",
            TN_FIELDS(encode_params, one_hot_fields));

static const char *const one_hot_combinations[] = {"string -> f32", "i64|i32|f32|f64 -> f32"};
SORTED(one_hot, "OneHotEncoder", one_hot, one_hot);

TN_LAYER(ml_encode, TN_OPERATORS(&encoder_1, &encoder_2, &encoder_4, &mapper_1, &one_hot_1),
         TN_KERNELS(&encoder_sorted, &mapper_sorted, &one_hot_sorted));
