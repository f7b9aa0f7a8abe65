/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A test case of an operator, read from its text: fields, '|', inputs. "kernel=[2,2] mode=max |
 * x=f32[1,3,8,8] sizes=i64[2]{4,4}": NAME=TYPE[EXTENTS], then the values in braces where they
 * matter; all others are drawn at random, the same ones every time. Behind a second '|' may stand
 * what comes out: outputs, with values or without. The items of a sequence, and of an optional, are
 * tensors that repeat its name, "list=f32[2,3] list=f32[1,3]"; "list=f32": it has none. Of maps
 * they are the keys, each once, and the values in turn: "map=string[2]{a,b} map=f32[2]".
 */
#ifndef TN_CONFORMANCE_CASES_CASE_H
#define TN_CONFORMANCE_CASES_CASE_H

#include "base/memory.h"
#include "tensor/shape.h"

typedef struct tn_case_input {
    uint32_t port; /* of the operator; a variadic one may come several times */
    tn_type type;
    tn_shape shape;
    void *data; /* linear, 64-byte aligned */
    size_t bytes;
    bool has_values;
    bool is_none;  /* of a sequence, an optional or maps: it has no item, of this type */
    bool is_empty; /* the same, but of an optional of a sequence, which has one without items */
} tn_case_input;

typedef struct tn_case {
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
    uint32_t input_count;
    tn_case_input *inputs;
    uint32_t expected_count;
    tn_case_input *expected; /* outputs, by the operator's ports */
} tn_case;

/* How many elements of a tensor lie in its first `bytes`: of a packed type none behind the shape's
 * last one. */
size_t tn_case_elements(tn_type type, const tn_shape *shape, size_t bytes);
size_t tn_case_input_elements(const tn_case_input *input);
/* Whether one of the input's elements is element `index` of `data`, of the same type: the same
 * bits, or of a packed type the same number. */
bool tn_case_has_element(const tn_case_input *input, const void *data, size_t index);

/* Everything lies in `arena`. TN_ERROR_ARGUMENT says what cannot be read. */
tn_status tn_case_read(tn_arena *arena, const tn_operator *op, const char *text, tn_case *out_case);

/* What a rewrite's case gives by name: a tensor, as above, or the text of a value ("1e-5",
 * "[0,2,1]", "tanh"). */
typedef struct tn_case_value {
    const char *name, *text; /* text null: a tensor */
    tn_case_input tensor;
} tn_case_value;
tn_status tn_case_read_values(tn_arena *arena, const char *text, uint32_t *out_count,
                              tn_case_value **out_values);
/* Makes the tensor one of this shape, with other drawn elements. */
tn_status tn_case_redraw(tn_arena *arena, tn_case_input *tensor, const tn_shape *shape);

#endif
