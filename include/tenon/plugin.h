/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin.h: all that the author of a layer needs.
 *
 * A plugin library offers OPERATORS (what is computed: name, fields, ports, shape rule) and KERNELS
 * (how, on one device, for some element types and formats). It includes this header alone, links
 * nothing of Tenon and exports one symbol, made by TN_LIBRARY at the end of its source. The layers
 * that come with Tenon use nothing else.
 *
 * This is a contract between binaries built years apart:
 *  - Every table begins with `uint32_t size`, its own sizeof when it was compiled. A reader takes
 * what lies inside the size and treats the rest as zero; zero always means the old behaviour.
 * Members are only ever added at the end.
 *  - Arrays that cross the border are arrays of pointers, or have an item's size beside a count.
 *  - No C++ exception, longjmp or thread exit may leave a callback.
 *  - A callback has at least 256 KiB of stack; what grows with the data belongs into the workspace.
 *  - 64-bit little-endian hosts only.
 *
 * How to read a callback's comment: [thread: who may call it at once; called: in which stage; may
 * fail; what lives how long]. "node" means: one thread at a time for one node's state; other nodes
 * may run beside it.
 *
 * What only some authors need is in tenon/plugin/: device.h, a device's table and its services;
 * elementwise.h, layers that are an expression; rewrite.h, what stands for several nodes; view.h,
 * tensors that have the memory of others; counted.h, those with a count; output.h, outputs without
 * a bound; sequence.h, lists of tensors; string.h, tensors of strings; before.h, steps before an
 * input; body.h, graphs in fields; resource.h, what kernels share.
 *
 * It compiles as C11 and as C++17 (gcc, clang and nvcc accept the designated initialisers, in the
 * order of declaration).
 */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||                       \
    UINTPTR_MAX != UINT64_MAX
#error "Tenon runs on 64-bit little-endian hosts only"
#endif

#ifdef __cplusplus
#define TN_NOEXCEPT                          noexcept
#define TN_EXTERN_C                          extern "C"
#define TN_STATIC_ASSERT(condition, message) static_assert(condition, message)
extern "C" {
#else
#define TN_NOEXCEPT
#define TN_EXTERN_C
#define TN_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

#ifdef _WIN32
#define TN_EXPORT __declspec(dllexport)
#else
#define TN_EXPORT __attribute__((visibility("default")))
#endif
#define TN_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* Version of this contract. A library is refused when its major differs, or its minor is newer and
 * it asks so by TN_LIBRARY_NEEDS_ITS_MINOR; otherwise both work together by the tables' sizes. */
#define TN_ABI_MAJOR 1u
#define TN_ABI_MINOR 0u

/* The highest rank of a tensor. */
#define TN_MAX_RANK 8

/* -------------------------------------------------------------------------------------------------
 * status */

/* What a call answers. 0 is success; a reader treats any other number as failure, known or not. */
typedef int32_t tn_status;
enum {
    TN_OK = 0,
    TN_ERROR_ARGUMENT = 1,    /* a caller's argument is wrong */
    TN_ERROR_MEMORY = 2,      /* no memory, or a size beyond what can be addressed */
    TN_ERROR_IO = 3,          /* a file cannot be read or written */
    TN_ERROR_FORMAT = 4,      /* a file is damaged or not what it claims to be */
    TN_ERROR_NOT_FOUND = 5,   /* a name, operator, version, library that is not there */
    TN_ERROR_UNSUPPORTED = 6, /* sound input that asks for what is not there */
    TN_ERROR_SHAPE = 7,       /* shapes do not fit */
    TN_ERROR_TYPE = 8,        /* element types do not fit */
    TN_ERROR_RANGE = 9,       /* a value outside its range, a shape outside the profile */
    TN_ERROR_STATE = 10,      /* calls in the wrong order */
    TN_ERROR_PLUGIN = 11,     /* a library breaks the contract or failed without a reason */
    TN_ERROR_DEVICE = 12,     /* the device failed */
    TN_ERROR_CANCELLED = 13,  /* stopped by the caller, or for another failure */
    TN_ERROR_INTERNAL = 14    /* a mistake of Tenon's own */
};

/* -------------------------------------------------------------------------------------------------
 * tensors */

/* Element types. Numbers are append-only; a type that a library's text does not name is never
 * offered to it. Several elements of a packed type share a byte, the first in the lowest bits; the
 * bits behind the last element are zero; such a tensor is linear, and its strides count elements.
 * Conversion rounds to the nearest, ties to even; floats without infinities keep to ONNX's tables:
 * what is finite and too large becomes the largest number. */
typedef uint32_t tn_type;
enum {
    TN_NONE = 0,
    TN_F64 = 1,
    TN_F32 = 2,
    TN_F16 = 3,  /* IEEE 754 binary16 */
    TN_BF16 = 4, /* the upper half of a binary32 */
    TN_I64 = 5,
    TN_I32 = 6,
    TN_I16 = 7,
    TN_I8 = 8,
    TN_U64 = 9,
    TN_U32 = 10,
    TN_U16 = 11,
    TN_U8 = 12,
    TN_BOOL = 13,   /* one byte, 0 or 1 */
    TN_F8E4M3 = 14, /* 4 bits of exponent (bias 7), 3 of mantissa; no infinities, NaN is S1111111;
                       up to 448 (ONNX's E4M3FN) */
    TN_F8E4M3FNUZ = 15, /* bias 8; no infinities, no -0, NaN is 0x80; up to 240 */
    TN_F8E5M2 = 16,     /* bias 15; infinities and NaN as in binary16; up to 57344 */
    TN_F8E5M2FNUZ = 17, /* bias 16; no infinities, no -0, NaN is 0x80; up to 57344 */
    TN_F8E8M0 = 18,     /* 2^(byte - 127); 255 is NaN; no sign, no zero */
    TN_F4E2M1 = 19,     /* packed; 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives */
    TN_I4 = 20,         /* packed; -8..7 */
    TN_U4 = 21,         /* packed; 0..15 */
    TN_I2 = 22,         /* packed; -2..1 */
    TN_U2 = 23,         /* packed; 0..3 */
    TN_STRING = 24,     /* 16 bytes: tn_string of tenon/plugin/string.h; "cpu" alone */
    TN_TYPE_COUNT = 25
};

/* Memory format: how the elements of a tensor of logical shape (N, C, ...) lie in memory.
 * Bits 0-7: layout; bits 8-15: the axis that is blocked; bits 16-31: elements a block. */
typedef uint32_t tn_format;
enum { TN_LAYOUT_LINEAR = 0, TN_LAYOUT_CHANNELS_LAST = 1, TN_LAYOUT_BLOCKED = 2 };
#define TN_FORMAT(layout, axis, block)                                                             \
    ((uint32_t)(layout) | (uint32_t)(axis) << 8 | (uint32_t)(block) << 16)
#define TN_LINEAR 0u                                       /* row-major, last axis fastest: NCHW */
#define TN_NHWC   TN_FORMAT(TN_LAYOUT_CHANNELS_LAST, 1, 0) /* axis 1 fastest */
#define TN_C2     TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 2)
#define TN_C4     TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 4) /* N, ceil(C/4), H, W, 4 */
#define TN_C8     TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 8)
#define TN_C16    TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 16)
#define TN_C32    TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 32)
#define TN_C64    TN_FORMAT(TN_LAYOUT_BLOCKED, 1, 64)

/* Quantisation of a tensor: real = (stored - zero_point) * scale. One scale for the whole tensor
 * (`axis_count` 0), or one for each block of `blocks[k]` indices of `axes[k]` (1: for each index;
 * the last block may be shorter), in linear order of these axes. */
typedef struct tn_quantization {
    uint32_t size;
    tn_type scale_type;  /* TN_F32, TN_F16, TN_BF16 or TN_F8E8M0 */
    uint32_t axis_count; /* 0, 1 or 2 */
    uint32_t axes[2];    /* ascending */
    uint32_t reserved;
    int64_t blocks[2];
    uint64_t count; /* of scales, and of zero points */
    const void *scales;
    const void *zero_points; /* in the tensor's type; null: all zero */
} tn_quantization;

/* A tensor as a callback sees it. Frozen members are appended to, never changed.
 *
 * Pointers are aligned to 64 bytes on "cpu" and 256 on "cuda"; reading past the last element is not
 * allowed. `data` is null exactly at absent and shape-only ports, for outputs without a bound, and,
 * in `infer` and `prepare`, where the value is not known; a tensor with no elements has a pointer
 * all the same. Strides count elements. In a blocked format the stride of the blocked axis steps
 * over one whole block, and element c of it lies at (c / block) * stride + c % block; the lanes of
 * the last block past the axis's end are zero: who writes the tensor writes them so. */
typedef struct tn_tensor {
    uint32_t size;
    uint32_t kind; /* 0: dense; sequences and optionals: tenon/plugin/sequence.h */
    tn_type type;
    tn_format format;
    uint32_t rank;
    uint32_t reserved;
    void *data;
    uint64_t bytes; /* of `data`, padding of blocked formats included */
    int64_t *shape; /* `rank` extents; written by `infer` and, for ports sized by run, by `run`, on
                       outputs alone; outputs of `infer` have room for TN_MAX_RANK */
    const int64_t *strides;              /* `rank` strides, packed but at ports with `strided` */
    const tn_quantization *quantization; /* null: not quantised */
    const char *name;           /* the tensor's name in the graph, for messages; may be empty */
    struct tn_counted *counted; /* run: see tenon/plugin/counted.h; else null */
    struct tn_heap *heap;       /* of TN_STRING: see tenon/plugin/string.h; else null */
} tn_tensor;

/* -------------------------------------------------------------------------------------------------
 * fields */

typedef struct tn_i64s {
    uint64_t count;
    const int64_t *items;
} tn_i64s;
typedef struct tn_f32s {
    uint64_t count;
    const float *items;
} tn_f32s;
typedef struct tn_f64s {
    uint64_t count;
    const double *items;
} tn_f64s;
typedef struct tn_strings {
    uint64_t count;
    const char *const *items;
} tn_strings;
typedef struct tn_bytes {
    uint64_t count;
    const uint8_t *items;
} tn_bytes;

/* The types of a field, and the C type of the member that holds it. */
enum {
    TN_FIELD_BOOL = 1,     /* bool */
    TN_FIELD_I32 = 2,      /* int32_t */
    TN_FIELD_I64 = 3,      /* int64_t */
    TN_FIELD_F32 = 4,      /* float */
    TN_FIELD_F64 = 5,      /* double */
    TN_FIELD_STRING = 6,   /* const char *, null when absent */
    TN_FIELD_BYTES = 7,    /* tn_bytes */
    TN_FIELD_TYPE = 8,     /* tn_type; as an integer in ONNX's numbering when it comes from ONNX */
    TN_FIELD_ENUM = 9,     /* uint32_t; written as one of `choices` */
    TN_FIELD_TENSOR = 10,  /* const tn_tensor *, null when absent; its data lies in the plan's
                              weights, not copied */
    TN_FIELD_I64S = 11,    /* tn_i64s */
    TN_FIELD_F32S = 12,    /* tn_f32s */
    TN_FIELD_F64S = 13,    /* tn_f64s */
    TN_FIELD_STRINGS = 14, /* tn_strings */
    TN_FIELD_GRAPH = 15,   /* const tn_body_graph *, null when absent: tenon/plugin/body.h */
    TN_FIELD_ANY =
        16 /* const tn_attribute *: whatever was given, for adapters of foreign objects */
};

/* Flags of a field. */
enum { TN_REQUIRED = 1u, TN_OPTIONAL = 0u };

/* One field of an operator: a member of its parameter struct, whose first member is `uint64_t
 * present` (bit i: field i was given and did not come from its default; an operator has at most 64
 * fields). From this table Tenon derives parsing, checking, defaults, saving, equality, timing keys
 * and documentation. */
typedef struct tn_field {
    const char *name;
    const char *doc;
    const char *fallback; /* the default as text, like "1", "0.5", "[1, 1]", "cubic"; null: zero,
                             empty or absent */
    const char *choices;  /* "nearest|linear|cubic" (0, 1, 2) or "a=1|b=4"; for strings: the values
                             that are allowed */
    uint32_t type;        /* TN_FIELD_... */
    uint32_t flags;
    uint32_t offset;                       /* of the member */
    uint32_t bytes;                        /* of the member; checked against the type */
    uint32_t minimum_count, maximum_count; /* of a list; 0 and 0: any */
    double minimum, maximum;               /* of a number or of each in a list; 0 and 0: any */
} tn_field;

#define TN_FIELD_FULL(params, member, type, flags, fallback, choices, low, high, low_count,        \
                      high_count, doc)                                                             \
    {                                                                                              \
#member, doc, fallback, choices, type, flags, (uint32_t)offsetof(params, member),          \
            (uint32_t)sizeof(((params *)0)->member), low_count, high_count, low, high              \
    }
/* A field of any type without bounds. `type` is one of TN_FIELD_BOOL ... above. */
#define TN_FIELD(params, member, type, flags, fallback, doc)                                       \
    TN_FIELD_FULL(params, member, type, flags, fallback, NULL, 0, 0, 0, 0, doc)
/* A number, or a list of numbers, each within low..high. */
#define TN_FIELD_RANGE(params, member, type, flags, fallback, low, high, doc)                      \
    TN_FIELD_FULL(params, member, type, flags, fallback, NULL, low, high, 0, 0, doc)
/* A named choice (uint32_t), or, of TN_FIELD_STRING, a string that is one of `choices`. */
#define TN_FIELD_CHOICE(params, member, type, flags, fallback, choices, doc)                       \
    TN_FIELD_FULL(params, member, type, flags, fallback, choices, 0, 0, 0, 0, doc)
/* A list with bounds on its length and on its numbers (low = high = 0: no bound on the numbers). */
#define TN_FIELD_LIST(params, member, type, flags, fallback, low_count, high_count, low, high,     \
                      doc)                                                                         \
    TN_FIELD_FULL(params, member, type, flags, fallback, NULL, low, high, low_count, high_count,   \
                  doc)

/* A value for a field as it comes from a file or a caller, not matched with a table yet. */
typedef struct tn_attribute {
    uint32_t size;
    uint32_t type; /* TN_FIELD_I64, F32, F64, STRING, BYTES, TENSOR, I64S, F32S, F64S, STRINGS,
                      GRAPH or 0: untyped bytes */
    const char *name;
    int64_t i;
    double f;
    const char *s;
    uint64_t count;    /* of a list, or of bytes */
    const void *items; /* of the list: const int64_t *, const float *, const double *, const char
                        *const *, bytes */
    const tn_tensor *tensor;
    const void *graph;
} tn_attribute;

/* -------------------------------------------------------------------------------------------------
 * ports */

enum {
    TN_PORT_OPTIONAL = 1u,   /* may be absent: its tensor is null */
    TN_PORT_VARIADIC = 2u,   /* the last port: any number of tensors, at least `minimum_count` */
    TN_PORT_SHAPE_ONLY = 4u, /* input: only the shape is read; data is null */
    TN_PORT_VALUE_NEEDED =
        8u, /* input: `infer` and `reshape` see its value, in host memory, linear */
    TN_PORT_SIZED_BY_RUN = 16u, /* output: `infer` gives an upper bound, or none
                                   (tenon/plugin/output.h); `run` writes the true shape */
    TN_PORT_VIEW = 32u,  /* output: the same elements in the same linear order as input `alias - 1`,
                            only the shape differs; the engine lends it that input's memory and
                            calls no kernel when all outputs are views */
    TN_PORT_ALIAS = 64u, /* output: state that is updated: it may have the memory of input
                            `alias - 1`, which is then overwritten (tenon/plugin/view.h) */
    TN_PORT_HETEROGENEOUS = 128u, /* variadic: the tensors may differ in type */
    TN_PORT_VALUE_WANTED = 256u   /* input: `infer` sees its value, where known so early */
};

/* One input or output slot.
 * `types` is text: element types joined by '|' ("f32|f16"), or a type variable with its types
 * ("T:f32|f16", then "T" at every port that has the same type). Names: f64 f32 f16 bf16 i64 i32 i16
 * i8 u64 u32 u16 u8 bool f8e4m3 f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1 i4 u4 i2 u2 string, and
 * groups any, number (all but bool), float, integer, signed, which hold what they held in the minor
 * version that the library was compiled with: in 1.0 the types up to TN_BOOL. An output whose type
 * is neither a bound variable nor a single type is set by `infer`. */
typedef struct tn_port {
    const char *name;
    const char *types;
    const char *doc;
    uint32_t flags;
    uint32_t alias;         /* 1 + the input that TN_PORT_VIEW and TN_PORT_ALIAS speak of */
    uint32_t minimum_count; /* of a variadic port */
    uint32_t reserved;      /* 0 */
} tn_port;

#define TN_PORT(name, types, flags, doc)                                                           \
    { name, types, doc, flags, 0, 0, 0 }
#define TN_PORT_VIEW_OF(name, types, input, doc)                                                   \
    { name, types, doc, TN_PORT_VIEW, (input) + 1, 0, 0 }

/* -------------------------------------------------------------------------------------------------
 * facets */

/* A facet is what a node declares itself to be, in a struct that anybody may publish under a name
 * with a version ("acme.clamp/1"). A kernel lists the facets that it computes before it stores its
 * first output, in place of a node of its own (tn_kernel.absorbs), and gets a chain of steps. Names
 * in "tn." are this header's. The host compares names alone, but folds scale, bias, affine and
 * linear into constants and answers row and expression itself. Structs begin with their size and
 * have no padding: they are compared as bytes. x is the chained tensor, y the result; steps compute
 * in the accumulator's type. */
#define TN_FACET_BIAS       "tn.bias/1"       /* y = x + operand, a vector along an axis */
#define TN_FACET_SCALE      "tn.scale/1"      /* y = x * operand, a vector along an axis */
#define TN_FACET_RESIDUAL   "tn.residual/1"   /* y = x + operand, of y's shape */
#define TN_FACET_ACTIVATION "tn.activation/1" /* y = function(x): its variants */
#define TN_FACET_ROW        "tn.row/1"        /* y = row(x): elementwise, by its row function */
#define TN_FACET_EXPRESSION "tn.expression/1" /* y = the operator's expression */
#define TN_FACET_WINDOW_MAX "tn.window_max/1" /* y = the largest element of each window */
#define TN_FACET_SOFTMAX    "tn.softmax/1"    /* y = exp(x - largest) / their sum, along an axis */
#define TN_FACET_AFFINE     "tn.affine/1"     /* y = factor[c] * x + shift[c]: tn_affine */
#define TN_FACET_LINEAR     "tn.linear/1"     /* y is linear in a constant input: tn_linear */

enum {
    TN_ACTIVATION_RELU = 1,
    TN_ACTIVATION_LEAKY_RELU = 2, /* x < 0 ? alpha * x : x */
    TN_ACTIVATION_CLIP = 3,       /* min(max(x, alpha), beta) */
    TN_ACTIVATION_SIGMOID = 4,
    TN_ACTIVATION_TANH = 5,
    TN_ACTIVATION_HARD_SIGMOID = 6, /* clip(alpha * x + beta, 0, 1) */
    TN_ACTIVATION_HARD_SWISH = 7,   /* x * clip(x / 6 + 0.5, 0, 1) */
    TN_ACTIVATION_GELU_ERF = 8,
    TN_ACTIVATION_GELU_TANH = 9,
    TN_ACTIVATION_SWISH = 10, /* x * sigmoid(alpha * x) */
    TN_ACTIVATION_ELU = 11    /* x < 0 ? alpha * (exp(x) - 1) : x */
};
/* The variants of version 1.0, by these numbers: TN_FACET_ACTIVATION "(" TN_ACTIVATIONS_1_0 ")". */
#define TN_ACTIVATIONS_1_0                                                                         \
    "relu|leaky_relu|clip|sigmoid|tanh|hard_sigmoid|hard_swish|gelu_erf|gelu_tanh|swish|elu"

/* Computes `count` elements of an elementwise operator: inputs and output are contiguous rows of
 * 32-bit floats; an input whose stride is 0 is one element, repeated. [thread: any; called: run;
 * cannot fail] */
typedef void (*tn_row_function)(const void *params, uint64_t count, const float *const *inputs,
                                const uint64_t *strides, float *output) TN_NOEXCEPT;

typedef struct tn_operator tn_operator;

typedef struct tn_facet_axis { /* BIAS, SCALE, SOFTMAX */
    uint32_t size;
    int32_t axis; /* of y; may count from the end */
} tn_facet_axis;
typedef struct tn_facet_activation {
    uint32_t size;
    uint32_t function; /* TN_ACTIVATION_..., the one that the variant names */
    float alpha, beta;
} tn_facet_activation;
/* ROW, EXPRESSION. The step's inputs are parallel to the operator's, an operand is BROADCAST. */
typedef struct tn_facet_expression {
    uint32_t size, reserved;
    const char *text;    /* in the names of the operator's ports and fields; ROW: null when none */
    tn_row_function row; /* ROW */
    const tn_operator *op;
    const void *params;
} tn_facet_expression;
/* Windows of window[0] x window[1] elements of the last two axes lie side by side from their
 * beginnings. What is left at an end is a smaller window where y has an element for it, and left
 * out where not. NaN where a window has one. */
typedef struct tn_facet_window_max {
    uint32_t size;
    uint32_t window[2]; /* at least 1 */
} tn_facet_window_max;
/* c: the index along `axis` of output 0; x is input 0. */
typedef struct tn_affine {
    uint32_t size;
    int32_t axis;
    uint64_t count; /* before the call: capacity of the arrays; after it: the extent of the axis */
    double *factors, *shifts; /* the host's, to be filled */
} tn_affine;
typedef struct tn_linear {
    uint32_t size;
    int32_t axis;         /* of output 0 */
    uint32_t weights;     /* input: a factor on its slice c along `weights_axis` is one on */
    int32_t weights_axis; /* index c of output 0 along `axis` */
    uint32_t bias;        /* input, optional: a number for each index along `axis`, added */
} tn_linear;

/* Forms of an operand. */
enum {
    TN_OPERAND_VECTOR = 1,    /* a constant, linear: one element for each index of `axis` of y */
    TN_OPERAND_WHOLE = 2,     /* of y's shape and type, stored as y; before RESHAPES, as input 0 */
    TN_OPERAND_BROADCAST = 3, /* of y's type, stored as y is, or linear: broadcast to y */
    TN_OPERAND_CONSTANT = 4   /* a constant, linear, of the shape that the facet has for it */
};
typedef struct tn_facet_operand {
    uint32_t input, form; /* of the node; TN_OPERAND_... */
    int32_t axis;
    uint32_t reserved;
} tn_facet_operand;

enum {
    TN_FACET_RESHAPES = 1u,   /* y's shape is not x's: fused where the answers for all agree */
    TN_FACET_POINTERS = 2u,   /* `what` holds pointers: timings are kept by operator and fields */
    TN_FACET_NODE_INPUTS = 4u /* the step's inputs are parallel to the node's */
};

/* What an operator answers: see tn_operator.facet. */
typedef struct tn_facet {
    uint32_t size;
    uint32_t flags;      /* TN_FACET_... */
    const char *variant; /* null, or which of the facet's kinds: "relu" */
    void *what; /* the host's memory, zeroed, aligned to 16: the facet's struct goes there */
    uint64_t what_bytes; /* of that: at least 128 */
    uint32_t operand_count, reserved;
    tn_facet_operand operands[3];
} tn_facet;

/* One of a step's inputs: an index in call->operands, the kernel's result before any step, an
 * absent one, or (another number) the result of an earlier step. */
#define TN_STEP_OPERAND 0x80000000u /* | index */
#define TN_STEP_VALUE   0x7FFFFFFFu
#define TN_STEP_ABSENT  0xFFFFFFFFu

/* A facet in a chain, as a kernel sees it. All of it has the lifetime of the node. */
typedef struct tn_step {
    uint32_t size;
    uint32_t port;       /* 0: after the kernel, on its first output; k: before input k - 1 */
    const char *facet;   /* one of the names in the kernel's `absorbs` */
    const char *variant; /* null, or one of those listed there */
    const void *what;    /* the facet's struct */
    uint32_t input_count, reserved;
    const uint32_t *inputs;  /* x, then the operands in the facet's order; else NODE_INPUTS */
    const tn_tensor *output; /* y's type, and its shape at the profile's optimum; what is stored at
                                the end is call->outputs[0] */
} tn_step;

/* -------------------------------------------------------------------------------------------------
 * calls */

typedef struct tn_host tn_host;
typedef struct tn_device tn_device;
typedef struct tn_call tn_call;
typedef struct tn_kernel tn_kernel;
typedef struct tn_library tn_library;
typedef struct tn_rewrite tn_rewrite;

/* What every callback gets: one node, as far as it is known at that stage. The host fills it and
 * owns all of it; all pointers live until the callback returns, except where said. Members that a
 * stage does not know are zero. What is known of the inputs and outputs, and what is to be written:
 *
 *  - infer: the inputs' shapes and types, and their values where needed; writes the outputs' types,
 *    ranks and shapes. May be asked with examples of shapes for types alone (docs/bodies.md).
 *  - facet: shapes and types of both, constants' values; writes its argument.
 *  - accepts, tactics: the same; writes nothing, and `tactic_count`.
 *  - prepare: those of the profile's optimum (and its ends), constants' values; writes `state`.
 *  - open: none; writes `context`.
 *  - reshape: shapes and types of both, constants' values and values where needed; writes
 *    `workspace_bytes`.
 *  - run, reference: everything; writes the outputs' data.
 */
struct tn_call {
    uint32_t size;
    uint32_t input_count, output_count, operand_count, step_count;
    uint32_t threads;      /* that parallel_for will use */
    uint32_t tactic;       /* which of the kernel's tactics, from 0 */
    uint32_t flags;        /* TN_CALL_... */
    uint32_t tactic_count; /* set by tactics */
    uint32_t reserved;
    const tn_host *host;
    const tn_operator *op;
    const void *params; /* the operator's parameter struct; constant for the life of the node */
    void *user;         /* of the kernel, or of the operator in its own callbacks */
    const tn_tensor *const *inputs;   /* null for absent optional ones */
    tn_tensor *const *outputs;        /* null for outputs that nobody asked for */
    const tn_tensor *const *operands; /* of the steps */
    const tn_step *const *steps;      /* what the kernel does to its first output before it stores
                                         it, in this order */
    const tn_tensor *const
        *minimum_inputs; /* prepare: shapes (and values where needed) at the profile's ends */
    const tn_tensor *const *maximum_inputs;
    void *state;     /* set by prepare: an engine's, shared by threads from then on */
    void *context;   /* set by open: one thread's at a time */
    void *workspace; /* run: `workspace_bytes` of scratch, 64-byte aligned, contents undefined */
    uint64_t workspace_bytes;
    const tn_device *device;
    void *stream; /* the device's; null on cpu; another one at each run where the caller says so.
                     What prepare and open do on theirs is waited for before the first run */
    const char *node;                 /* the node's name, for messages */
    const tn_attribute *const *saved; /* upgrade: the fields as an older version saved them */
    uint64_t saved_count;
    void *new_params; /* upgrade: fields of the same name and type are there already, others hold
                         their defaults */
    void *host_private;
    const void *kernel_params; /* the kernel's own fields; as long as params */
};

enum { TN_CALL_REFERENCE = 1u /* the caller wants the operator's reference, not speed */ };

/* A callback that can fail: host->fail gives the reason; TN_ERROR_MEMORY needs none. */
typedef tn_status (*tn_callback)(tn_call *call) TN_NOEXCEPT;
/* One that cannot. */
typedef void (*tn_release_callback)(tn_call *call) TN_NOEXCEPT;
/* The body of parallel_for: does items begin..end-1; `thread` is below call->threads. The first
 * failure wins. */
typedef tn_status (*tn_body)(void *user, int64_t begin, int64_t end, uint32_t thread) TN_NOEXCEPT;
/* Fills a packed blob of weights. */
typedef tn_status (*tn_fill)(void *user, void *data, uint64_t bytes) TN_NOEXCEPT;

/* -------------------------------------------------------------------------------------------------
 * host */

enum { TN_LOG_ERROR = 1, TN_LOG_WARNING = 2, TN_LOG_INFO = 3, TN_LOG_DEBUG = 4 };

/* The services that the host lends. [thread: any; lives longer than the library] */
struct tn_host {
    uint32_t size;
    uint32_t abi_major, abi_minor;
    uint32_t reserved;
    /* A named table of further services, like "tn.draft.x/1", or null. */
    const void *(*extension)(const tn_host *host, const char *name)TN_NOEXCEPT;
    /* Records why this call fails and returns `status`: `return host->fail(call, TN_ERROR_SHAPE,
     * "...", ...)`. The host adds node, operator and library. Text is cut at 1,000 bytes. */
    tn_status (*fail)(tn_call *call, tn_status status, const char *format, ...) TN_NOEXCEPT
        TN_PRINTF(3, 4);
    /* One line for the log, no newline. */
    void (*log)(const tn_host *host, uint32_t level, const char *text) TN_NOEXCEPT;
    /* Memory from the engine's allocator: null when there is none. `alignment` is a power of two,
     * at most 4096. */
    void *(*allocate)(const tn_host *host, uint64_t bytes, uint64_t alignment)TN_NOEXCEPT;
    void (*deallocate)(const tn_host *host, void *memory) TN_NOEXCEPT; /* null is fine */
    /* Splits 0..count-1 into ranges of at least `grain` items and does them on the engine's
     * threads; returns when all are done, with the first failure. With one thread it calls `body`
     * once. Bodies leave their threads as they were and never call this. [called: prepare, run] */
    tn_status (*parallel_for)(tn_call *call, int64_t count, int64_t grain, tn_body body,
                              void *user) TN_NOEXCEPT;
    /* Weights in a kernel's own layout: 64-byte aligned, read-only, shared by all that pack the
     * same constant input (`input`, an index) with this kernel's revision and `key`, and kept in
     * plans: numbers alone, no pointers, nor indices that run trusts (docs/plans.md). `fill` is
     * called when they are not there yet. Its lifetime is the node's state's. [called: prepare] */
    tn_status (*packed)(tn_call *call, uint32_t input, const char *key, uint64_t bytes,
                        tn_fill fill, void *user, const void **out_data) TN_NOEXCEPT;
    /* Registers an operator or a kernel made at run time; the tables' strings and arrays are
     * copied, `user` is not. The same (domain, name, since_version, variant) twice is
     * TN_ERROR_ARGUMENT. [called: the library's load] */
    tn_status (*register_operator)(const tn_host *host, tn_library *library,
                                   const tn_operator *op) TN_NOEXCEPT;
    tn_status (*register_kernel)(const tn_host *host, tn_library *library,
                                 const tn_kernel *kernel) TN_NOEXCEPT;
};

/* host->extension(host, TN_ENVIRONMENT): the variables of the environment, for libraries that keep
 * files or choose by them. Null where the program runs Tenon without its environment. */
#define TN_ENVIRONMENT "tn.draft.environment/1"
typedef struct tn_environment {
    uint32_t size;
    /* The variable's value, or null. [thread: any] */
    const char *(*get)(const tn_host *host, const char *name)TN_NOEXCEPT;
} tn_environment;

/* -------------------------------------------------------------------------------------------------
 * operators */

/* Traits of an operator. */
enum {
    TN_OPERATOR_ELEMENTWISE = 1u, /* every output element depends on the input elements at its
                                     (broadcast) position alone */
    TN_OPERATOR_NO_FOLD = 2u,  /* equal inputs do not produce equal outputs (random, state): neither
                                  folded, nor computed once for several nodes that are the same */
    TN_OPERATOR_IDENTITY = 4u, /* output 0 is input 0, in this node's use: it may be removed */
    TN_OPERATOR_CONSTANT = 8u, /* no inputs; outputs depend on fields alone */
    TN_OPERATOR_SELECTS = 16u, /* every element of output 0 (variadic: of all of them) is an element
                                 of input 0 (variadic: of any of them), unchanged: what is stored in
                                 8 bits has one scale then on both sides */
    TN_OPERATOR_COMMUTATIVE = 32u, /* inputs 0 and 1 may be swapped */
    TN_OPERATOR_EXACT = 64u /* what `infer` answers of outputs sized by run are sizes, not bounds */
};

/* What is computed. A table, constant for the life of the library; registered ones are copied. */
struct tn_operator {
    uint32_t size;
    uint32_t since_version; /* the opset of `domain` in which this meaning began; an importer takes
                               the highest that is not above the model's import. At least 1 */
    uint32_t state_version; /* of the fields, from 1; see upgrade */
    uint32_t traits;
    const char *domain; /* "" is ONNX's own */
    const char *name;
    const char *variant; /* null, or a name that tells foreign registries' entries apart */
    const char *doc;
    uint64_t params_bytes; /* of the parameter struct, its `present` included; 0: no fields */
    uint32_t field_size, field_count;
    const tn_field *fields;
    uint32_t port_size, input_count;
    const tn_port *inputs;
    uint32_t reserved, output_count;
    const tn_port *outputs;

    /* The shape rule: a pure function from input shapes and types (and values, at VALUE_NEEDED
     * ports) and fields to the outputs' types, ranks and shapes. Types bound by variables are set
     * before the call. [thread: any; called: build, load, reshape; may fail] */
    tn_callback infer;
    /* Computes the outputs from linear host tensors, with double precision inside: what every
     * kernel is checked against, and the fallback where no kernel fits. No workspace; threads: 1.
     * [thread: any; called: build, run; may fail] */
    tn_callback reference;
    /* Says whether this node, in its use here, is an identity (with TN_OPERATOR_IDENTITY): TN_OK
     * yes. Null: always. Here and in the other callbacks that describe a node (epilogue, affine,
     * linear, operations) any input may be no constant: its data is null. [thread: any; called:
     * build] */
    tn_callback is_identity;
    /* Whether this node, with the chained tensor at its input `input`, is a `name`: TN_OK, and
     * *out_facet filled (size, what and what_bytes are set); any other status: no. For affine and
     * linear `what` is the struct with its arrays. Null: never. [thread: any; called: build, load;
     * with RESHAPES also reshape] */
    tn_status (*facet)(tn_call *call, uint32_t input, const char *name,
                       tn_facet *out_facet) TN_NOEXCEPT;
    /* Elementwise operators: the value as an expression in the C subset of docs/expressions.md over
     * the input ports' names and the fields' names, and the same as a row function on the CPU. Both
     * optional. */
    const char *expression;
    tn_row_function row;
    /* Turns the fields that state version `from` saved (call->saved) into call->new_params.
     * [thread: any; called: load; may fail; null: only the same state_version loads] */
    tn_status (*upgrade)(tn_call *call, uint32_t from) TN_NOEXCEPT;
    /* For operators whose state no field table can describe: the state as bytes, and back. `save`
     * is called twice, first with null data to learn the length. Both or neither. `load` answers in
     * call->new_params, which is otherwise params_bytes long and zero. [thread: one at a time;
     * called: build, load; may fail] */
    tn_status (*save)(tn_call *call, void *data, uint64_t *inout_bytes) TN_NOEXCEPT;
    tn_status (*load)(tn_call *call, const void *data, uint64_t bytes) TN_NOEXCEPT;
    /* Frees what `load` or run-time creation hung into the parameters. [thread: one at a time;
     * exactly once a node] */
    void (*destroy_params)(void *user, void *params) TN_NOEXCEPT;
    void *user;
    /* Test cases, each a line: fields, then '|', then input tensors by port, like
     * "kernel=[2,2] stride=[2,2] | x=f32[1,3,8,8]". Words are separated by spaces, so lists hold
     * none. A tensor is TYPE[extents], a scalar f32[]; the tensors of a variadic port repeat its
     * name. Inputs whose values matter, all VALUE_NEEDED ones among them, have them in braces, in
     * linear order: "sizes=i64[4]{1,3,17,5}"; the others are filled by the test. Behind a second
     * '|' may stand what comes out, with values or without: "... | y=f32[1,3,4,4]". See
     * docs/conformance.md. */
    uint64_t case_count;
    const char *const *cases;
    /* How many operations the node's result takes on these types and shapes, whatever the kernel; a
     * multiplication and an addition are two: what `tenon plugin bench` holds against the machine's
     * limit. TN_OK, or any other status: not known. Optional. [thread: any; called: bench] */
    tn_status (*operations)(tn_call *call, double *out_operations) TN_NOEXCEPT;
};

#define TN_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define TN_FIELDS(params, table)                                                                   \
    .params_bytes = sizeof(params), .field_size = sizeof(tn_field),                                \
    .field_count = TN_COUNT(table), .fields = (table)
#define TN_NO_FIELDS                                                                               \
    .params_bytes = 0, .field_size = sizeof(tn_field), .field_count = 0, .fields = NULL
#define TN_INPUTS(table)                                                                           \
    .port_size = sizeof(tn_port), .input_count = TN_COUNT(table), .inputs = (table)
#define TN_NO_INPUTS      .port_size = sizeof(tn_port), .input_count = 0, .inputs = NULL
#define TN_OUTPUTS(table) .reserved = 0, .output_count = TN_COUNT(table), .outputs = (table)
#define TN_CASES(table)   .case_count = TN_COUNT(table), .cases = (table)

/* -------------------------------------------------------------------------------------------------
 * kernels */

/* Traits of a kernel. */
enum {
    TN_KERNEL_DETERMINISTIC = 1u, /* the same inputs produce the same bits, whatever the threads */
    TN_KERNEL_CAPTURABLE = 2u,    /* may run while its stream is captured; an output may then lie in
                                     the host's memory (TN_DEVICE_REACHES_HOST) */
    TN_KERNEL_IN_PLACE = 4u,      /* output 0 may lie on input 0 when both have the same bytes */
    TN_KERNEL_FALLBACK = 8u,      /* chosen only where nothing else fits */
    TN_KERNEL_TF32 = 16u,      /* drops bits of 32-bit floats' mantissas, where a build allows it */
    TN_KERNEL_ANY_SHAPE = 32u, /* runs nodes whose extents only a run knows: accepts, tactics and
                                  prepare see -1 for these and their strides, and then 0 bytes;
                                  ranks, types, formats and constants are as ever */
    TN_KERNEL_OPENMP = 64u,    /* uses OpenMP (libgomp): parallel_for then has its threads, too */
    TN_KERNEL_CONCURRENT = 128u /* may run beside another node's kernel (plugin/device.h) */
};

/* How an operator is computed on one device. Any library may add kernels to any operator. All
 * callbacks but `run` are optional. Each `prepare` that returned TN_OK is followed by one
 * `release`, each `open` by one `close`.
 *
 * A combination is text: types and formats of the inputs, "->", those of the outputs, like
 * "f32:c16, f32, f32 -> f32:c16". A port is TYPE[:FORMAT][:strided][:counted]; TYPE may join
 * several by '|' or be '*' (those of the group any that the operator allows) or "*|string"
 * (strings, too); FORMAT joins some of linear (the default), nhwc, c2, c4 ... c64; `strided`: its
 * rows may lie apart (tenon/plugin/view.h); `counted`: counted.h; '?' lets a port be absent; "..."
 * after the last port of a side repeats it. Of several types (f32|f16), or formats (f32:nhwc|c8), a
 * node has the same one at every port that lists the same. No combinations: all types that the
 * operator allows, linear.
 *
 * Where the operator has 32-bit floats and the build's precision allows less, a port may name a
 * lower type: f16, bf16, or qi8 and qu8, which are 8-bit integers that stand for floats. Such
 * a tensor has type TN_I8 or TN_U8 and `quantization` set, one f32 scale for the whole tensor:
 * real = (stored - zero_point) * scale; stored = clamp(round_half_even(real / scale) + zero_point).
 * The build provides the scales and inserts the conversions around the kernel. Constants stay in
 * 32-bit floats: the kernel converts them in `prepare`. Steps compute in floats; what is
 * stored is rounded after the last one, and a WHOLE operand is stored as the output is, with a
 * scale of its own. A plain i8 is ONNX's integer type and never has a scale from the
 * build; '*' and no combinations never get a lower type. */
struct tn_kernel {
    uint32_t size;
    uint32_t revision; /* raise it when the speed may have changed: timings are remembered by it.
                          From 1 */
    const char *domain, *op; /* the operator that it computes; both "*": every elementwise operator
                                with an expression, whoever provides it */
    uint32_t minimum_version, maximum_version; /* of its since_version; 0 and 0: every one */
    const char *device;                        /* "cpu", "cuda" */
    const char *name;
    const char *doc;
    const char *requires_features; /* processor features, like "avx512f,avx512bw"; null: none */
    /* The facets that it computes after its own result, in any order that `accepts` lets through:
     * "tn.bias/1, tn.residual/1, tn.activation/1(relu|clip)"; null: none. A facet with a variant is
     * absorbed only where the variant is listed. Of a node that has several the first one of the
     * list counts. "@1 tn.convert/1": before input 0 (tenon/plugin/before.h). */
    const char *absorbs;
    uint32_t traits;
    uint32_t combination_count;
    const char *const *combinations;
    /* Says no (any status but TN_OK, no reason needed) to a node that the tables let through. Asked
     * at the profile's ends and its optimum; what lies between has other extents along any axis but
     * a blocked one, which has the same in all of the profile.
     * [thread: any; called: build, load] */
    tn_callback accepts;
    /* How many tactics there are for this node (in call->tactic_count), at least 1. Null: 1.
     * [thread: any; called: build] */
    tn_callback tactics;
    /* Prepares for a node in an engine: packs weights, plans. On every device the data of
     * constant inputs is host memory here, and memory of the device in run. [thread: one at a time;
     * called: build, load; may fail; the state is immutable afterwards] */
    tn_callback prepare;
    tn_release_callback release;
    /* Makes what one context needs: handles, scratch. [thread: one at a time; called: a context's
     * creation; may fail] */
    tn_callback open;
    tn_release_callback close;
    /* New shapes: answers workspace_bytes. [thread: node; called: reshape; may fail] */
    tn_callback reshape;
    /* Computes. Allocates nothing that reshape could have asked for. [thread: node; called: run;
     * may fail] */
    tn_callback run;
    void *user;
    /* Fields of its own (TN_FIELDS): the host fills call->kernel_params from the operator's fields
     * of the same names and types (32-bit numbers widen, choices go by name, TN_FIELD_ANY holds
     * all); `present`: those that the node was given. What the operator lacks has its fallback. Not
     * offered where the operator lacks a TN_REQUIRED one, or type, bounds or choices differ. */
    uint64_t params_bytes;
    uint32_t field_size, field_count;
    const tn_field *fields;
    /* What `prepare` made, as bytes for the plan, and back: where a plan has them, `load` is called
     * in place of `prepare`, with the same call. `save` is called twice after `prepare`, first with
     * null data for the length. Where `load` fails (bytes may be damaged), `prepare` is called.
     * Both or neither. [thread: one at a time; called: build, load; may fail] */
    tn_status (*save)(tn_call *call, void *data, uint64_t *inout_bytes) TN_NOEXCEPT;
    tn_status (*load)(tn_call *call, const void *data, uint64_t bytes) TN_NOEXCEPT;
    /* As text, what the time depends on beside fields, shapes and types. Any status but TN_OK, and
     * null in a kernel with `save`: timings of the node are not remembered. [called: build] */
    tn_status (*timing_key)(tn_call *call, char *text, uint32_t bytes) TN_NOEXCEPT;
    /* Combination `index` of this node, from 0 and beside the table's, as text; any status but
     * TN_OK: no more. The call has the tensors linear, in their own types. [called: build, load] */
    tn_status (*combination)(tn_call *call, uint32_t index, char *text, uint32_t bytes) TN_NOEXCEPT;
    tn_callback verify; /* of kernels on devices: see tenon/plugin/device.h */
};
enum { TN_KERNEL_TEXT_BYTES = 512, TN_MAX_COMBINATIONS = 100 /* of a node by callback */ };
#define TN_COMBINATIONS(table) .combination_count = TN_COUNT(table), .combinations = (table)

/* -------------------------------------------------------------------------------------------------
 * libraries */

struct tn_library {
    uint32_t size;
    uint32_t abi_major, abi_minor;
    uint32_t flags;      /* TN_LIBRARY_... */
    const char *name;    /* letters, digits, '_' and '-' */
    const char *version; /* for people: shown, never compared */
    uint64_t operator_count;
    const tn_operator *const *operators;
    uint64_t kernel_count;
    const tn_kernel *const *kernels;
    /* Called once after the tables were taken, and once before they are given up; both optional. A
     * load that fails says why by host->log; TN_ERROR_MEMORY needs no reason.
     * [thread: one at a time; called: load and unload of the library] */
    tn_status (*load)(const tn_host *host, tn_library *library) TN_NOEXCEPT;
    void (*unload)(const tn_host *host, tn_library *library) TN_NOEXCEPT;
    void *user;
    /* Devices that the library provides. */
    uint64_t device_count;
    const tn_device *const *devices;
    /* Rewrites: tenon/plugin/rewrite.h. */
    uint64_t rewrite_count;
    const tn_rewrite *const *rewrites;
};

enum {
    TN_LIBRARY_NEEDS_ITS_MINOR = 1u /* refuse to load under a host with an older TN_ABI_MINOR */
};

/* The one symbol that a library exports: answers its table, or null after host->log with the
 * reason. `host` may be older or newer than the library. */
typedef tn_library *(*tn_library_entry)(const tn_host *host)TN_NOEXCEPT;
#define TN_LIBRARY_SYMBOL "tenon_library_1"

/* Defines the exported symbol for arrays of pointers to operators and kernels. */
#define TN_LIBRARY(library_name, library_version, operator_table, kernel_table)                    \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;            \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {           \
        static tn_library table = {sizeof(tn_library),                                             \
                                   TN_ABI_MAJOR,                                                   \
                                   TN_ABI_MINOR,                                                   \
                                   0,                                                              \
                                   library_name,                                                   \
                                   library_version,                                                \
                                   TN_COUNT(operator_table),                                       \
                                   operator_table,                                                 \
                                   TN_COUNT(kernel_table),                                         \
                                   kernel_table,                                                   \
                                   NULL,                                                           \
                                   NULL,                                                           \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL};                                                          \
        (void)host;                                                                                \
        return &table;                                                                             \
    }

#ifdef __cplusplus
}
#endif

/* -------------------------------------------------------------------------------------------------
 * frozen offsets */

#define TN_FROZEN(type, member, at)                                                                \
    TN_STATIC_ASSERT(offsetof(type, member) == (at), #type "." #member " moved")
TN_FROZEN(tn_tensor, type, 8);
TN_FROZEN(tn_tensor, data, 24);
TN_FROZEN(tn_tensor, shape, 40);
TN_FROZEN(tn_tensor, name, 64);
TN_FROZEN(tn_field, type, 32);
TN_FROZEN(tn_field, minimum, 56);
TN_FROZEN(tn_port, flags, 24);
TN_FROZEN(tn_facet, what, 16);
TN_FROZEN(tn_facet, operands, 40);
TN_FROZEN(tn_step, what, 24);
TN_FROZEN(tn_step, output, 48);
TN_FROZEN(tn_call, host, 40);
TN_FROZEN(tn_call, params, 56);
TN_FROZEN(tn_call, inputs, 72);
TN_FROZEN(tn_call, state, 120);
TN_FROZEN(tn_call, workspace_bytes, 144);
TN_FROZEN(tn_call, new_params, 192);
TN_FROZEN(tn_operator, domain, 16);
TN_FROZEN(tn_operator, fields, 64);
TN_FROZEN(tn_operator, inputs, 80);
TN_FROZEN(tn_operator, infer, 104);
TN_FROZEN(tn_operator, cases, 200);
TN_FROZEN(tn_kernel, domain, 8);
TN_FROZEN(tn_kernel, combinations, 80);
TN_FROZEN(tn_kernel, run, 144);
TN_FROZEN(tn_host, fail, 24);
TN_FROZEN(tn_host, register_kernel, 80);
TN_FROZEN(tn_library, name, 16);
TN_FROZEN(tn_library, kernels, 56);
TN_FROZEN(tn_attribute, items, 48);
#endif
