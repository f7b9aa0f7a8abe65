/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on strings: StringConcat here, the others in files of their own. Appending is for one
 * thread, so that the references are all there is. */
#include "strings/strings.h"

#include <tenon/kit/broadcast.h>

static tn_status append_pair(tn_call *call, int64_t to, int64_t x, int64_t y) {
    const tn_string_services *strings = tn_strings_of(call);
    tn_string *element = (tn_string *)call->outputs[0]->data + to;
    uint64_t bytes, more, end;
    const char *first = tn_string_at(call->inputs[0], (uint64_t)x, &bytes);
    const char *second = tn_string_at(call->inputs[1], (uint64_t)y, &more);
    TN_TRY(strings->append(call, 0, first, bytes, &element->offset));
    TN_TRY(strings->append(call, 0, second, more, &end));
    element->bytes = bytes + more;
    return TN_OK;
}

static tn_status concat_infer(tn_call *call) {
    return tn_broadcast_infer_binary(call);
}

static tn_status concat_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->inputs[1], *z = call->outputs[0];
    tn_broadcast_rows rows;
    tn_broadcast_init(&rows, z->rank, z->shape);
    tn_broadcast_add(&rows, x->rank, x->shape);
    tn_broadcast_add(&rows, y->rank, y->shape);
    for (bool more = tn_broadcast_begin(&rows); more; more = tn_broadcast_next(&rows))
        for (int64_t i = 0; i < rows.count; i++)
            TN_TRY(append_pair(call, rows.output_offset + i, rows.offset[0] + i * rows.stride[0],
                               rows.offset[1] + i * rows.stride[1]));
    return TN_OK;
}

static const tn_port concat_inputs[] = {TN_PORT("X", "string", 0, "first parts"),
                                        TN_PORT("Y", "string", 0, "second parts")};
static const tn_port concat_outputs[] = {TN_PORT("Z", "string", 0, "both parts joined")};
static const char *const concat_cases[] = {
    "| X=string[3] Y=string[3]",   "| X=string[2]{ab,c} Y=string[2]{d,ef} | Z=string[2]{abd,cef}",
    "| X=string[2,3] Y=string[3]", "| X=string[2,1] Y=string[1,3]",
    "| X=string[] Y=string[2]",    "| X=string[0] Y=string[1]",
};
TN_OPERATOR(concat, "", "StringConcat", 20, "Strings joined, broadcast with each other.",
            TN_NO_FIELDS);

TN_LAYER(strings,
         TN_OPERATORS(&concat_20, &tn_string_normalizer_10, &tn_string_split_20,
                      &tn_tf_idf_vectorizer_9),
         TN_KERNELS(&tn_tf_idf_rows));
