/* SPDX-License-Identifier: Apache-2.0 */
/* A polynomial whose coefficients are text, lowest first: "1, -0.5, 2.5e-1". */
#include "sixteenth.h"
#if MISTAKE == 3
#include <locale.h>
#endif

TN_LAYER_PARAMS(params, const char *coefficients;);
static const tn_field fields[] = {
    TN_FIELD(params, coefficients, TN_FIELD_STRING, TN_OPTIONAL, "0, 1",
             "numbers between commas, lowest first, at most 16"),
};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

enum { MOST = 16 };
typedef struct state {
    double values[MOST];
    int count;
} state;

static const char *digits(const char *at, double *inout_value, int *out_count) {
    for (*out_count = 0; *at >= '0' && *at <= '9'; at++, ++*out_count)
        *inout_value = *inout_value * 10 + (*at - '0');
    return at;
}

/* One number, with '.' whatever the locale; null where there is none. */
static const char *number(const char *at, double *out_value) {
    double value = 0, power = 0;
    int whole, fraction = 0, length = 0;
    while (*at == ' ')
        at++;
    const bool is_negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    at = digits(at, &value, &whole);
    if (*at == '.') at = digits(at + 1, &value, &fraction);
    if (whole + fraction == 0) return NULL;
    if (*at == 'e' || *at == 'E') {
        const bool is_small = at[1] == '-';
        at = digits(at + 1 + (at[1] == '-' || at[1] == '+'), &power, &length);
        if (length == 0 || power > 300) return NULL;
        power = is_small ? -power : power;
    }
    value *= pow(10, power - fraction);
    *out_value = is_negative ? -value : value;
    while (*at == ' ')
        at++;
    return at;
}

/* Whether the text is coefficients. */
static bool parse(const char *text, state *out_state, bool is_kernel) {
    const bool is_wrong = is_kernel && (WRONG(1) || WRONG(3));
    out_state->count = 0;
    while (text && *text) {
        if (out_state->count == MOST) return false;
        char *end;
        double *value = &out_state->values[out_state->count];
        if (is_wrong) {
            *value = strtod(text, &end);
            text = *end == '.' ? end + 1 + strspn(end + 1, "0123456789") : end;
        } else {
            text = number(text, value);
        }
        if (!text || (*text != ',' && *text)) return false;
        out_state->count++;
        if (*text == ',' && !*++text) return false;
    }
    return true;
}

static tn_status infer(tn_call *call) {
    const params *p = call->params;
    state made;
    if (!parse(p->coefficients, &made, false))
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'coefficients' is '%.100s', expected at most %d numbers "
                                "between commas",
                                p->coefficients, MOST);
    return infer_same(call);
}

static double value_at(const state *s, double x) {
    double y = 0;
    for (int i = s->count; i-- > 0;)
        y = y * x + s->values[i];
    return y;
}

static tn_status reference(tn_call *call) {
    state made;
    parse(((const params *)call->params)->coefficients, &made, false);
    for (int64_t i = 0; i < tn_layer_count(call->inputs[0]); i++)
        tn_layer_store(call->outputs[0], i, value_at(&made, tn_layer_load(call->inputs[0], i)));
    return TN_OK;
}

#if MISTAKE == 2
/* What was parsed last, by where its text lay. */
static const char *last_text;
static state last;
#endif

static tn_status prepare(tn_call *call) {
    const char *text = ((const params *)call->params)->coefficients;
    state *made = call->host->allocate(call->host, sizeof(*made), 16);
    if (!made) return TN_ERROR_MEMORY;
#if MISTAKE == 3
    setlocale(LC_ALL, "C.utf8");
#endif
#if MISTAKE == 2
    if (text != last_text) parse(text, &last, true);
    last_text = text;
    *made = last;
#else
    parse(text, made, true);
#endif
    call->state = made;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] =
            (float)value_at(call->state, (double)((const float *)call->inputs[0]->data)[i]);
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->inputs[0]), 256)

static const char *const cases[] = {
    "coefficients=1,-0.5,2.5e-1 | x=f32[3,7]",
    "| x=f32[5]",
    "coefficients=0,0,0,1 | x=f32[2,2]",
};
TN_LAYER_LIBRARY("polynomial", "Sixteenth", "Polynomial", "A polynomial.", params, "f32 -> f32",
                 .prepare = prepare, .release = release, .run = run)
