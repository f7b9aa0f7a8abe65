/* SPDX-License-Identifier: Apache-2.0 */
/* Printing the source of a fused kernel; see fused_source.h. */
#include "common/cuda/fused_source.h"
#include "common/byte_table.h"
#include "common/expression.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Everything but what is computed. No headers: a machine that runs this may have none. */
static const char beginning[] =
    "typedef unsigned int u32;\n"
    "struct half { unsigned short bits; };\n"
    "struct bfloat { unsigned short bits; };\n"
    "struct byte { signed char bits; };\n"
    "struct truth { unsigned char bits; };\n"
    "struct divider { u32 divisor, multiplier, shift; };\n"
    "struct job {\n"
    "    const void *from[8];\n"
    "    void *to;\n"
    "    float scales[8];\n"
    "    float inverse;\n"
    "    u32 count, rank;\n"
    "    divider extents[8];\n"
    "    u32 strides[8][8];\n"
    "};\n"
    "#define HERE static __device__ __forceinline__\n"
    "HERE float load(float x, float) { return x; }\n"
    "HERE float load(half x, float) {\n"
    "    float y;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x.bits));\n"
    "    return y;\n"
    "}\n"
    "HERE float load(bfloat x, float) { return __uint_as_float((u32)x.bits << 16); }\n"
    "HERE float load(byte x, float scale) { return (float)x.bits * scale; }\n"
    "HERE float load(truth x, float) { return x.bits ? 1.0f : 0.0f; }\n"
    "HERE void store(float *to, float x, float) { *to = x; }\n"
    "HERE void store(half *to, float x, float) {\n"
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(to->bits) : \"f\"(x));\n"
    "}\n"
    "HERE void store(bfloat *to, float x, float) {\n"
    "    asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(to->bits) : \"f\"(x));\n"
    "}\n"
    "HERE void store(byte *to, float x, float inverse) {\n"
    "    to->bits = (signed char)rintf(fminf(fmaxf(x * inverse, -128.0f), 127.0f));\n"
    "}\n"
    "HERE void store(truth *to, float x, float) { to->bits = x != 0.0f; }\n"
    "template <class T, int N>\n"
    "struct __align__(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack { T items[N]; };\n"
    "template <class T, int N>\n"
    "HERE void load_row(const T *from, u32 stride, float scale, float (&to)[N]) {\n"
    "    if (stride == 0) {\n"
    "        const float x = load(*from, scale);\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < N; i++) to[i] = x;\n"
    "        return;\n"
    "    }\n"
    "    const pack<T, N> x = *(const pack<T, N> *)from;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < N; i++) to[i] = load(x.items[i], scale);\n"
    "}\n"
    "HERE void find(const job &j, u32 at, u32 (&places)[COUNT]) {\n"
    "#pragma unroll\n"
    "    for (int k = 0; k < COUNT; k++) places[k] = 0;\n"
    "#pragma unroll\n"
    "    for (int i = 7; i >= 0; i--) {\n"
    "        if (i >= (int)j.rank) continue;\n"
    "        u32 place = at;\n"
    "        if (i > 0) {\n"
    "            const divider d = j.extents[i];\n"
    "            at = (__umulhi(at, d.multiplier) + at) >> d.shift;\n"
    "            place -= at * d.divisor;\n"
    "        }\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < COUNT; k++) places[k] += place * j.strides[k][i];\n"
    "    }\n"
    "}\n";

static const char ending[] =
    "HERE void do_one(const job &j, u32 at) {\n"
    "    u32 places[COUNT];\n"
    "    float a[COUNT][1];\n"
    "    find(j, at, places);\n"
    "    load_one(j, places, a);\n"
    "    store((result *)j.to + at, value(a, 0), j.inverse);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "tenon_narrow(const __grid_constant__ job j) {\n"
    "    for (u32 at = blockIdx.x * 256 + threadIdx.x; at < j.count; at += gridDim.x * 256)\n"
    "        do_one(j, at);\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(256)\n"
    "tenon_wide(const __grid_constant__ job j) {\n"
    "    for (u32 at = (blockIdx.x * 256 + threadIdx.x) * EACH; at < j.count;\n"
    "         at += gridDim.x * 256 * EACH) {\n"
    "        if (j.count - at < EACH) {\n"
    "            for (; at < j.count; at++) do_one(j, at);\n"
    "            return;\n"
    "        }\n"
    "        u32 places[COUNT];\n"
    "        float a[COUNT][EACH];\n"
    "        pack<result, EACH> y;\n"
    "        find(j, at, places);\n"
    "        load_rows(j, places, a);\n"
    "#pragma unroll\n"
    "        for (int i = 0; i < EACH; i++) store(&y.items[i], value(a, i), j.inverse);\n"
    "        *(pack<result, EACH> *)((result *)j.to + at) = y;\n"
    "    }\n"
    "}\n";

typedef struct source_text {
    const tn_host *host;
    char *data;
    size_t length, capacity;
    tn_status status;
    char *why;
    size_t why_bytes;
} source_text;

static bool fail(source_text *source, tn_status status, const char *format, ...) {
    va_list arguments;
    source->status = status;
    va_start(arguments, format);
    if (source->why_bytes > 0 && vsnprintf(source->why, source->why_bytes, format, arguments) < 0)
        source->why[0] = 0;
    va_end(arguments);
    return false;
}

static bool grow(source_text *source, size_t length) {
    if (source->length + length < source->capacity) return true;
    const size_t capacity = (source->length + length) * 2 + 8192;
    char *data = source->host->allocate(source->host, capacity, 64);
    if (!data) return fail(source, TN_ERROR_MEMORY, "no memory for the source of a kernel");
    if (source->data) memcpy(data, source->data, source->length);
    source->host->deallocate(source->host, source->data);
    source->data = data;
    source->capacity = capacity;
    return true;
}

static bool add_text(source_text *source, const char *text) {
    const size_t length = strlen(text);
    if (source->status != TN_OK || !grow(source, length)) return false;
    memcpy(source->data + source->length, text, length + 1);
    source->length += length;
    return true;
}

static bool add(source_text *source, const char *format, ...) {
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof(line))
        return fail(source, TN_ERROR_INTERNAL, "a line of a source is too long");
    return add_text(source, line);
}

/* ----------------------------------------------------------------------------------------------
 * expressions */

/* What a name stands for: CUDA text of a float. */
typedef struct bound_value {
    char text[40];
} bound_value;

/* By its bits: exact, also where it is not finite. */
static void print_number(double number, bound_value *out_value) {
    const float value = (float)number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    snprintf(out_value->text, sizeof(out_value->text), "__uint_as_float(0x%08xu)", bits);
}

typedef struct bindings {
    const tn_operator *op; /* null: the names are x, alpha, beta and b */
    const void *params;
    const bound_value *inputs; /* by port; an empty text: not there */
    uint32_t input_count;
} bindings;

static bool read_field(const tn_field *field, const void *params, double *out_number) {
    const char *member = (const char *)params + field->offset;
    switch (field->type) {
    case TN_FIELD_BOOL: {
        bool value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    case TN_FIELD_I32: {
        int32_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    case TN_FIELD_I64: {
        int64_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = (double)value;
        return true;
    }
    case TN_FIELD_F32: {
        float value;
        memcpy(&value, member, sizeof(value));
        *out_number = (double)value;
        return true;
    }
    case TN_FIELD_F64:
        memcpy(out_number, member, sizeof(*out_number));
        return true;
    case TN_FIELD_ENUM: {
        uint32_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    default:
        return false;
    }
}

static bool bind_input(source_text *source, const tn_expression *expression, uint32_t step,
                       const bindings *names, bound_value *out_value) {
    static const char *const own[] = {"x", "alpha", "beta", "b"};
    for (uint32_t i = 0; i < names->input_count; i++) {
        const char *name = !names->op
                               ? own[i]
                               : ((const tn_port *)(const void *)((const char *)names->op->inputs +
                                                                  (size_t)i * names->op->port_size))
                                     ->name;
        if (!name || !tn_expression_is_name(expression, step, name)) continue;
        if (!names->inputs[i].text[0])
            return fail(source, TN_ERROR_UNSUPPORTED, "its input '%s' is not there", name);
        *out_value = names->inputs[i];
        return true;
    }
    return false;
}

static bool bind(source_text *source, const tn_expression *expression, uint32_t step,
                 const bindings *names, bound_value *out_value) {
    const tn_expression_step *s = &expression->steps[step];
    if (bind_input(source, expression, step, names, out_value)) return true;
    if (source->status != TN_OK) return false;
    for (uint32_t i = 0; names->op && names->params && i < names->op->field_count; i++) {
        const tn_field *field = (const tn_field *)(const void *)((const char *)names->op->fields +
                                                                 (size_t)i * names->op->field_size);
        double number;
        if (!tn_expression_is_name(expression, step, field->name)) continue;
        if (!read_field(field, names->params, &number))
            return fail(source, TN_ERROR_UNSUPPORTED, "its field '%s' is no number", field->name);
        print_number(number, out_value);
        return true;
    }
    return fail(source, TN_ERROR_UNSUPPORTED,
                "'%.*s' in its expression is neither an input nor a field",
                (int)(s->name_length < 40 ? s->name_length : 40), expression->text + s->name_at);
}

/* The right side of step `index` of link `link`. Its operands are e<link>_<step>. */
static bool add_operation(source_text *source, uint32_t link, const tn_expression_step *s) {
    static const char *const signs[] = {
        [TN_EXPRESSION_ADD] = "+",      [TN_EXPRESSION_SUBTRACT] = "-",
        [TN_EXPRESSION_MULTIPLY] = "*", [TN_EXPRESSION_DIVIDE] = "/",
        [TN_EXPRESSION_LESS] = "<",     [TN_EXPRESSION_LESS_EQUAL] = "<=",
        [TN_EXPRESSION_GREATER] = ">",  [TN_EXPRESSION_GREATER_EQUAL] = ">=",
        [TN_EXPRESSION_EQUAL] = "==",   [TN_EXPRESSION_NOT_EQUAL] = "!=",
        [TN_EXPRESSION_AND] = "&&",     [TN_EXPRESSION_OR] = "||"};
    const uint32_t *o = s->operands;
    switch (s->kind) {
    case TN_EXPRESSION_CALL:
        if (s->operand_count == 1)
            return add(source, "%sf((float)e%u_%u);\n", tn_expression_function_name(s->function),
                       link, o[0]);
        return add(source, "%sf((float)e%u_%u, (float)e%u_%u);\n",
                   tn_expression_function_name(s->function), link, o[0], link, o[1]);
    case TN_EXPRESSION_NEGATE:
        return add(source, "-(float)e%u_%u;\n", link, o[0]);
    case TN_EXPRESSION_NOT:
        return add(source, "e%u_%u == 0;\n", link, o[0]);
    case TN_EXPRESSION_CHOOSE:
        return add(source, "e%u_%u != 0 ? (float)e%u_%u : (float)e%u_%u;\n", link, o[0], link, o[1],
                   link, o[2]);
    case TN_EXPRESSION_AND:
    case TN_EXPRESSION_OR:
        return add(source, "(e%u_%u != 0) %s (e%u_%u != 0);\n", link, o[0], signs[s->kind], link,
                   o[1]);
    default:
        return add(source, "(float)e%u_%u %s (float)e%u_%u;\n", link, o[0], signs[s->kind], link,
                   o[1]);
    }
}

/* Lines that end in `const float r<link>`. */
static bool add_expression(source_text *source, uint32_t link, const char *text,
                           const bindings *names) {
    tn_expression expression;
    char why[200];
    if (!text) return fail(source, TN_ERROR_UNSUPPORTED, "it has no expression");
    if (!tn_expression_read(text, &expression, why, sizeof(why)))
        return fail(source, TN_ERROR_UNSUPPORTED, "its expression is none of the language: %s",
                    why);
    for (uint32_t i = 0; i < expression.count; i++) {
        const tn_expression_step *s = &expression.steps[i];
        bound_value value;
        add(source, "    const %s e%u_%u = ", tn_expression_is_truth(s->kind) ? "bool" : "float",
            link, i);
        if (s->kind == TN_EXPRESSION_NUMBER)
            print_number(s->number, &value);
        else if (s->kind == TN_EXPRESSION_NAME) {
            if (!bind(source, &expression, i, names, &value)) return false;
        } else {
            if (!add_operation(source, link, s)) return false;
            continue;
        }
        add(source, "%s;\n", value.text);
    }
    return add(source, "    const float r%u = (float)e%u_%u;\n", link, link, expression.count - 1);
}

/* ----------------------------------------------------------------------------------------------
 * the chain */

static const char *const activations[] = {
    [TN_ACTIVATION_RELU] = "x < 0 ? 0 : x",
    [TN_ACTIVATION_LEAKY_RELU] = "x < 0 ? alpha * x : x",
    [TN_ACTIVATION_CLIP] = "(x < alpha ? alpha : x) > beta ? beta : x < alpha ? alpha : x",
    [TN_ACTIVATION_SIGMOID] = "1 / (1 + exp(-x))",
    [TN_ACTIVATION_TANH] = "tanh(x)",
    [TN_ACTIVATION_HARD_SIGMOID] =
        "alpha * x + beta < 0 ? 0 : alpha * x + beta > 1 ? 1 : alpha * x + beta",
    [TN_ACTIVATION_HARD_SWISH] = "x * (x < -3 ? 0 : x > 3 ? 1 : x / 6 + 0.5)",
    [TN_ACTIVATION_GELU_ERF] = "0.5 * x * erfc(-0.7071067811865476 * x)",
    [TN_ACTIVATION_GELU_TANH] = "x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)))",
    [TN_ACTIVATION_SWISH] = "x / (1 + exp(-alpha * x))",
    [TN_ACTIVATION_ELU] = "x < 0 ? alpha * expm1(x) : x"};
enum { ACTIVATION_COUNT = sizeof(activations) / sizeof(activations[0]) };

static bool add_known(source_text *source, uint32_t link, const tn_epilogue *step, const char *text,
                      const bound_value *operand) {
    bound_value values[4] = {{""}, {""}, {""}, *operand};
    const bindings names = {.inputs = values, .input_count = 4};
    snprintf(values[0].text, sizeof(values[0].text), "r%u", link - 1);
    print_number((double)step->alpha, &values[1]);
    print_number((double)step->beta, &values[2]);
    return add_expression(source, link, text, &names);
}

/* An operator of its own: the value so far comes in at one of its ports, the operand at another. */
static bool add_declared(source_text *source, uint32_t link, const tn_epilogue *step,
                         const bound_value *operand) {
    bound_value values[TN_CUDA_FUSED_INPUTS] = {{""}};
    const tn_operator *op =
        step->size >= offsetof(tn_epilogue, input) + sizeof(step->input) ? step->op : NULL;
    if (!op || step->input >= op->input_count || op->input_count > TN_CUDA_FUSED_INPUTS)
        return fail(source, TN_ERROR_UNSUPPORTED, "an epilogue says not whose it is");
    snprintf(values[step->input].text, sizeof(values[0].text), "r%u", link - 1);
    if (step->kind == TN_EPILOGUE_COMBINE && op->input_count > 1)
        values[step->input == 0 ? 1 : 0] = *operand;
    const bindings names = {
        .op = op, .params = step->params, .inputs = values, .input_count = op->input_count};
    return add_expression(source, link, op->expression, &names);
}

static bool has_operand(uint32_t kind) {
    return kind == TN_EPILOGUE_BIAS || kind == TN_EPILOGUE_SCALE || kind == TN_EPILOGUE_ADD ||
           kind == TN_EPILOGUE_COMBINE;
}

static bool add_link(source_text *source, uint32_t link, const tn_epilogue *step,
                     uint32_t first_operand) {
    bound_value operand = {""};
    if (has_operand(step->kind))
        snprintf(operand.text, sizeof(operand.text), "a[%u][i]", first_operand + step->operand);
    switch (step->kind) {
    case TN_EPILOGUE_BIAS:
    case TN_EPILOGUE_ADD:
        return add_known(source, link, step, "x + b", &operand);
    case TN_EPILOGUE_SCALE:
        return add_known(source, link, step, "x * b", &operand);
    case TN_EPILOGUE_ACTIVATION:
        return add_known(source, link, step,
                         step->activation < ACTIVATION_COUNT ? activations[step->activation] : NULL,
                         &operand);
    case TN_EPILOGUE_ROW:
    case TN_EPILOGUE_EXPRESSION:
    case TN_EPILOGUE_COMBINE:
        return add_declared(source, link, step, &operand);
    default:
        return fail(source, TN_ERROR_UNSUPPORTED, "an epilogue of kind %u", step->kind);
    }
}

static bool add_value(source_text *source, const tn_call *call) {
    bound_value values[TN_CUDA_FUSED_INPUTS] = {{""}};
    const bindings names = {.op = call->op,
                            .params = call->params,
                            .inputs = values,
                            .input_count = call->op->input_count};
    uint32_t first_operand = 0;
    if (call->input_count > call->op->input_count || call->op->input_count > TN_CUDA_FUSED_INPUTS)
        return fail(source, TN_ERROR_UNSUPPORTED, "it has too many inputs");
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i])
            snprintf(values[i].text, sizeof(values[i].text), "a[%u][i]", first_operand++);
    add_text(source, "template <int N> HERE float value(const float (&a)[COUNT][N], int i) {\n");
    if (!add_expression(source, 0, call->op->expression, &names)) return false;
    for (uint32_t i = 0; i < call->epilogue_count; i++)
        if (!add_link(source, i + 1, call->epilogues[i], first_operand)) return false;
    return add(source, "    return r%u;\n}\n", call->epilogue_count);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

bool tn_cuda_fused_tensors(const tn_call *call, const tn_tensor **out_tensors,
                           uint32_t *out_count) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) continue;
        if (count == TN_CUDA_FUSED_INPUTS) return false;
        out_tensors[count++] = call->inputs[i];
    }
    for (uint32_t i = 0; i < call->operand_count; i++) {
        if (!call->operands[i] || count == TN_CUDA_FUSED_INPUTS) return false;
        out_tensors[count++] = call->operands[i];
    }
    *out_count = count;
    return count > 0;
}

static const char *type_of(const tn_tensor *tensor, uint32_t *out_bytes) {
    switch (tensor->type) {
    case TN_F32:
        *out_bytes = 4;
        return "float";
    case TN_F16:
        *out_bytes = 2;
        return "half";
    case TN_BF16:
        *out_bytes = 2;
        return "bfloat";
    case TN_I8:
        *out_bytes = 1;
        return tn_byte_scale(tensor) != 0 ? "byte" : NULL;
    case TN_BOOL:
        *out_bytes = 1;
        return "truth";
    default:
        return NULL;
    }
}

/* 16 bytes of the output, or of the first tensor where its elements are larger. */
uint32_t tn_cuda_fused_each(const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0, bytes = 0, first = 0;
    if (!tn_cuda_fused_tensors(call, tensors, &count) || !type_of(call->outputs[0], &bytes) ||
        !type_of(tensors[0], &first))
        return 0;
    return 16 / (first > bytes ? first : bytes);
}

static bool add_loads(source_text *source, uint32_t count) {
    add_text(source, "HERE void load_one(const job &j, const u32 (&places)[COUNT], float "
                     "(&a)[COUNT][1]) {\n");
    for (uint32_t i = 0; i < count; i++)
        add(source,
            "    a[%u][0] = load(((const type_%u *)j.from[%u])[places[%u]], j.scales[%u]);\n", i, i,
            i, i, i);
    add_text(source, "}\nHERE void load_rows(const job &j, const u32 (&places)[COUNT], float "
                     "(&a)[COUNT][EACH]) {\n");
    for (uint32_t i = 0; i < count; i++)
        add(source,
            "    load_row((const type_%u *)j.from[%u] + places[%u], j.strides[%u][j.rank - 1], "
            "j.scales[%u], a[%u]);\n",
            i, i, i, i, i, i);
    return add_text(source, "}\n");
}

static bool add_all(source_text *source, const tn_call *call) {
    const tn_tensor *tensors[TN_CUDA_FUSED_INPUTS];
    uint32_t count = 0, bytes = 0;
    if (!tn_cuda_fused_tensors(call, tensors, &count) || tn_cuda_fused_each(call) == 0)
        return fail(source, TN_ERROR_UNSUPPORTED, "its types or the number of its tensors");
    add(source, "#define COUNT %u\n#define EACH %u\n", count, tn_cuda_fused_each(call));
    add_text(source, beginning);
    for (uint32_t i = 0; i < count; i++) {
        const char *type = type_of(tensors[i], &bytes);
        if (!type) return fail(source, TN_ERROR_UNSUPPORTED, "an input's type");
        add(source, "typedef %s type_%u;\n", type, i);
    }
    add(source, "typedef %s result;\n", type_of(call->outputs[0], &bytes));
    return add_loads(source, count) && add_value(source, call) && add_text(source, ending);
}

char *tn_cuda_fused_source(const tn_call *call, tn_status *out_status, char *out_why,
                           size_t why_bytes) {
    source_text source = {.host = call->host, .why = out_why, .why_bytes = why_bytes};
    if (add_all(&source, call) && source.status == TN_OK) return source.data;
    *out_status = source.status;
    call->host->deallocate(call->host, source.data);
    return NULL;
}
