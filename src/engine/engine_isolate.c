/* SPDX-License-Identifier: Apache-2.0 */
/* Which steps of an engine run in a helper process: those whose code comes from a file that does
 * not come with Tenon. Declared in engine_private.h. */
#include "base/status.h"
#include "engine/engine_private.h"
#include "plugin/library_private.h"

static bool is_plugins(const tn_engine *engine, const tn_engine_step *step) {
    const tn_graph_node *node = &engine->graph->nodes[step->step->node];
    const tn_loaded_library *library = step->entry ? step->entry->library : node->entry->library;
    return library->path[0] && !tn_library_is_own(engine->runtime, library->path);
}

tn_status tn_engine_mark_isolated(tn_engine *engine) {
    if (!engine->is_isolated && !engine->is_serving) return TN_OK;
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        tn_engine_step *step = &engine->steps[i];
        step->is_isolated = step->step->kind == TN_STEP_KERNEL && !step->step->is_host &&
                            !step->step->is_device && is_plugins(engine, step);
        if (step->is_isolated && tn_graph_node_has_kinds(&engine->graph->nodes[step->step->node]))
            return tn_error_in(
                tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                                      "what runs in a helper process has dense tensors alone, and "
                                      "this node has a sequence or an optional"),
                              ": ",
                              "load the plan "
                              "without isolation"),
                .node = engine->graph->nodes[step->step->node].name);
    }
    return TN_OK;
}
