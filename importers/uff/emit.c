/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that make values, called as the file's nodes are, and Reshape; see uff.h. */
#include "base/status.h"
#include "importers/uff/uff.h"

tn_import_tensor tn_uff_emit_as(tn_uff_reader *reader, const char *name, const char *op,
                                const tn_emit_fields *fields, tn_emit_tensors inputs) {
    tn_import_tensor output = TN_IMPORT_NO_TENSOR;
    const char *tensor = tn_import_free_name(reader->graph, name);
    (void)tn_emit_node(&reader->emit, name, op, fields, inputs, 1, &tensor, &output);
    return output;
}

tn_status tn_uff_emit(tn_uff_call *call, const char *op, const tn_emit_fields *fields,
                      tn_emit_tensors inputs) {
    call->output->tensor = tn_uff_emit_as(call->reader, call->output->name, op, fields, inputs);
    return call->reader->emit.status;
}

/* Extents as Reshape takes them: 0 copies the extent at the same position, -1 is what is left. */
static tn_status write_target(uint32_t from_rank, const int64_t *from, uint32_t rank,
                              const int64_t *extents, int64_t *out_target) {
    bool is_left = false;
    for (uint32_t i = 0; i < rank; i++) {
        out_target[i] = extents[i];
        if (extents[i] == 0 && !(i < from_rank && from[i] == 0))
            return tn_fail(TN_ERROR_UNSUPPORTED, "tensors without elements cannot be reshaped");
        if (!tn_uff_is_open(extents[i])) continue;
        if (i < from_rank && from[i] == extents[i]) {
            out_target[i] = 0;
        } else if (!is_left) {
            out_target[i] = -1;
            is_left = true;
        } else {
            return tn_fail(TN_ERROR_UNSUPPORTED,
                           "more than one extent of the shape is not known; give the input's shape "
                           "(--shape NAME=1x3x224x224)");
        }
    }
    return TN_OK;
}

tn_import_tensor tn_uff_emit_reshape(tn_uff_reader *reader, const char *name,
                                     tn_import_tensor tensor, uint32_t from_rank,
                                     const int64_t *from, uint32_t rank, const int64_t *extents) {
    tn_emitter *emit = &reader->emit;
    int64_t target[TN_MAX_RANK];
    if (emit->status != TN_OK) return TN_IMPORT_NO_TENSOR;
    emit->status = write_target(from_rank, from, rank, extents, target);
    const char *outer = tn_emit_enter(emit, name);
    const tn_import_tensor list = tn_emit_list(emit, "extents", rank, target);
    emit->name = outer;
    return tn_uff_emit_as(reader, name, "Reshape", NULL, TN_TENSORS(tensor, list));
}
