/* SPDX-License-Identifier: Apache-2.0 */
/* The networks, and how their plans are made; see plans.h. MIGRATION_LIBRARIES is the folder of the
 * versions' folders. */
#include "plans.h"

#include <stdio.h>

#define ATTRIBUTE(field_name, field_type, ...)                                                     \
    &(const tn_attribute) {                                                                        \
        .size = sizeof(tn_attribute), .name = (field_name), .type = (field_type), __VA_ARGS__      \
    }
#define F32(name, value)    ATTRIBUTE(name, TN_FIELD_F32, .f = (value))
#define I64(name, value)    ATTRIBUTE(name, TN_FIELD_I64, .i = (value))
#define STRING(name, value) ATTRIBUTE(name, TN_FIELD_STRING, .s = (value))

static const float offset_items[] = {0.5f, 0.25f};
#define OFFSETS ATTRIBUTE("offsets", TN_FIELD_F32S, .count = 2, .items = offset_items)
static float table_items[] = {10, 20, 30};
static int64_t table_shape[] = {3};
static const int64_t table_strides[] = {1};
static const tn_tensor table_tensor = {.size = sizeof(tn_tensor),
                                       .type = TN_F32,
                                       .rank = 1,
                                       .data = table_items,
                                       .bytes = sizeof(table_items),
                                       .shape = table_shape,
                                       .strides = table_strides};
#define TABLE ATTRIBUTE("table", TN_FIELD_TENSOR, .tensor = &table_tensor)

const migration_plan migration_plans[] = {
    {"scale_1",
     1,
     "Scale",
     6,
     {F32("factor", 1.5), STRING("mode", "squared"), I64("steps", 3), OFFSETS, TABLE,
      STRING("label", "dropped in version 2")}},
    {"scale_defaults_1", 1, "Scale", 1, {F32("factor", 1.5)}},
    {"scale_negative_1", 1, "Scale", 1, {F32("factor", -2)}},
    {"codebook_1", 1, "Codebook", 1, {I64("seed", 7)}},
    {"sealed_1", 1, "Sealed", 1, {I64("seed", 7)}},
    {"shift_1", 1, "Shift", 1, {F32("amount", 4)}},
    {"round_1", 1, "Round", 0, {NULL}},
    {"gone_1", 1, "Gone", 0, {NULL}},
    {"round_2", 2, "Round", 0, {NULL}},
    {"scale_2",
     2,
     "Scale",
     6,
     {F32("numerator", 3), F32("denominator", 2), STRING("mode", "squared"), STRING("repeats", "3"),
      OFFSETS, TABLE}},
    {"codebook_2", 2, "Codebook", 1, {I64("start", 7)}},
    {"sealed_2", 2, "Sealed", 1, {I64("seed", 7)}},
    {"shift_2", 2, "Shift", 1, {F32("amount", 4)}},
    {"shift_limit_2", 2, "Shift", 2, {F32("amount", 4), F32("limit", 6.5)}},
};
const uint32_t migration_plan_count = TN_COUNT(migration_plans);

tn_runtime *migration_runtime(const char *version, tn_log_function log, void *user) {
    char folder[4096];
    const tn_runtime_options options = {
        .size = sizeof(options), .log = log, .log_user = user, .flags = TN_RUNTIME_NO_ENVIRONMENT};
    tn_runtime *runtime = NULL;
    snprintf(folder, sizeof(folder), "%s/%s", MIGRATION_LIBRARIES, version);
    if (tn_runtime_create(&options, &runtime) != TN_OK) return NULL;
    if (tn_runtime_add_search_path(runtime, folder) == TN_OK) return runtime;
    tn_runtime_release(runtime);
    return NULL;
}

static tn_status make_graph(const migration_plan *plan, tn_graph *graph) {
    const int64_t shape[] = {2, 3};
    tn_tensor_id input, output;
    tn_status status = tn_graph_add_input(graph, "x", TN_F32, 2, shape, NULL, &input);
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = "migration",
                                      .op = plan->op,
                                      .name = "layer",
                                      .input_count = 1,
                                      .output_count = 1,
                                      .inputs = &input,
                                      .attribute_count = plan->attribute_count,
                                      .attributes = plan->attributes};
    if (status == TN_OK) status = tn_graph_add_node(graph, &node, &output);
    return status == TN_OK ? tn_graph_add_output(graph, output, "y") : status;
}

static tn_status build(const migration_plan *plan, tn_runtime *runtime, const char *folder) {
    const tn_builder_options options = {
        .size = sizeof(options), .threads = 1, .flags = TN_BUILD_NO_TIMING};
    char library[4096], path[4096];
    tn_graph *graph = NULL;
    tn_plan *built = NULL;
    snprintf(library, sizeof(library), "%s/%d/libmigration.so", MIGRATION_LIBRARIES, plan->version);
    snprintf(path, sizeof(path), "%s/%s.plan", folder, plan->name);
    tn_status status = tn_runtime_load_library(runtime, library);
    if (status == TN_OK) status = tn_graph_create(runtime, plan->name, &graph);
    if (status == TN_OK) status = make_graph(plan, graph);
    if (status == TN_OK) status = tn_build(graph, &options, &built);
    if (status == TN_OK) status = tn_plan_save(built, path);
    tn_plan_destroy(built);
    tn_graph_destroy(graph);
    return status;
}

bool migration_plan_write(const migration_plan *plan, const char *folder) {
    tn_runtime *runtime = migration_runtime("none", NULL, NULL);
    if (!runtime) return false;
    const tn_status status = build(plan, runtime, folder);
    tn_runtime_release(runtime);
    return status == TN_OK;
}
