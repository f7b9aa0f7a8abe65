/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's file said of itself: see reader.h. Bounds and keys are checked by the graph. */
#include "plan/model_info.h"
#include "plan/read/reader.h"

/* More domains than a model imports opsets of. */
#define OPSETS_AT_MOST 4096u

tn_status tn_plan_read_model(tn_plan_reader *reader) {
    tn_model_info info;
    TN_TRY(tn_plan_model_info(reader->scratch, reader->plan, &info));
    if (info.opset_count > OPSETS_AT_MOST)
        return tn_plan_reader_fail("it imports %u opsets; at most %u are possible",
                                   info.opset_count, OPSETS_AT_MOST);
    for (uint32_t i = 0; i < info.opset_count; i++)
        TN_TRY(tn_graph_set_opset(reader->contents.graph, info.opsets[i].domain,
                                  info.opsets[i].version));
    info.graph_name = NULL; /* it has it, of whatever length */
    return tn_graph_set_model_info(reader->contents.graph, &info);
}
