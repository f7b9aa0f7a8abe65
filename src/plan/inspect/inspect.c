/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a plan file, as JSON: sizes, manifest, graph and profiles; fields are in
 * inspect_fields.c, programs in inspect_programs.c. Libraries, programs and where the model comes
 * from are the description's (describe_plan.h), the rest is the plan's message. See inspect.h.
 */
#include "plan/inspect/inspect.h"

#include "base/status.h"
#include "plan/inspect/describe_plan.h"
#include "plan/layout.h"
#include "plugin/runtime.h"
#include "tensor/shape.h"
#include <tenon/builder.h>
#include <tenon/plugin/sequence.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void tn_inspect_tensor_name(tn_text *text, const Tenon__Plan__Plan *plan, uint64_t tensor) {
    if (tensor < plan->n_tensors)
        tn_text_add_json(text, plan->tensors[tensor]->name);
    else
        tn_text_add(text, "null");
}

void tn_inspect_type(tn_text *text, uint32_t type) {
    tn_text_add_format(text, "\"%s\"", tn_type_name(type));
}

void tn_inspect_shape(tn_text *text, size_t rank, const int64_t *extents) {
    tn_text_add(text, "[");
    for (size_t axis = 0; axis < rank; axis++)
        tn_text_add_format(text, "%s%" PRId64, axis > 0 ? ", " : "", extents[axis]);
    tn_text_add(text, "]");
}

static const char *between(size_t index) {
    return index > 0 ? ",\n    " : "\n    ";
}

static void add_libraries(tn_text *text, const tn_plan_description *description) {
    tn_text_add(text, "  \"libraries\": [");
    for (uint32_t i = 0; i < description->library_count; i++) {
        const tn_described_library *library = description->libraries[i];
        tn_text_add_format(text, "%s{\"name\": ", between(i));
        tn_text_add_json(text, library->name);
        tn_text_add_member(text, "version", library->version);
        tn_text_add(text, ", \"file\": ");
        if (library->file)
            tn_text_add_json(text, library->file);
        else
            tn_text_add(text, "null");
        tn_text_add_format(text, ", \"hash\": \"%016" PRIx64 "\", \"linked_in\": %s", library->hash,
                           library->is_linked_in ? "true" : "false");
        if (*library->domain) tn_text_add_member(text, "domain", library->domain);
        if (library->sha256)
            tn_text_add_format(text, ", \"sha256\": \"%s\", \"embedded_bytes\": %" PRIu64,
                               library->sha256, library->embedded_bytes);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_operators(tn_text *text, const Tenon__Plan__Plan *plan) {
    tn_text_add(text, "  \"operators\": [");
    for (size_t i = 0; i < plan->n_operators; i++) {
        const Tenon__Plan__Operator *op = plan->operators[i];
        tn_text_add_format(text, "%s{\"domain\": ", between(i));
        tn_text_add_json(text, op->domain);
        tn_text_add_member(text, "name", op->name);
        tn_text_add_format(
            text, ", \"version\": %" PRIu32 ", \"state_version\": %" PRIu32 ", \"library\": ",
            op->since_version, op->state_version);
        if (op->library < plan->n_libraries)
            tn_text_add_json(text, plan->libraries[op->library]->name);
        else
            tn_text_add(text, "null");
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_extent_names(tn_text *text, size_t count, char *const *names) {
    tn_text_add(text, ", \"extent_names\": [");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, names[i]);
    }
    tn_text_add(text, "]");
}

/* "f32", "seq(map(i64,f32))". */
static void add_value_type(tn_text *text, uint32_t kind, tn_type key_type, tn_type type) {
    const char *name = tn_type_is_valid(type) ? tn_type_name(type) : "none";
    const char *key = tn_type_is_valid(key_type) ? tn_type_name(key_type) : "none";
    switch (kind) {
    case TN_KIND_SEQUENCE:
        tn_text_add_format(text, "\"seq(%s)\"", name);
        break;
    case TN_KIND_OPTIONAL:
        tn_text_add_format(text, "\"opt(%s)\"", name);
        break;
    case TN_KIND_OPTIONAL_SEQUENCE:
        tn_text_add_format(text, "\"opt(seq(%s))\"", name);
        break;
    case TN_KIND_MAP:
        tn_text_add_format(text, "\"map(%s,%s)\"", key, name);
        break;
    case TN_KIND_MAPS:
        tn_text_add_format(text, "\"seq(map(%s,%s))\"", key, name);
        break;
    default:
        tn_inspect_type(text, type);
    }
}

static void add_declaration(tn_text *text, const Tenon__Plan__Tensor *tensor) {
    tn_text_add_json(text, tensor->name);
    tn_text_add(text, ", \"type\": ");
    add_value_type(text, tensor->value_kind, tensor->key_type, tensor->type);
    tn_text_add(text, ", \"shape\": ");
    if (tensor->has_shape)
        tn_inspect_shape(text, tensor->n_shape, tensor->shape);
    else
        tn_text_add(text, "null");
}

static void add_point(tn_text *text, const char *name, const Tenon__Plan__Point *point) {
    tn_text_add_format(text, ", \"%s\": ", name);
    if (point)
        tn_inspect_shape(text, point->n_shape, point->shape);
    else
        tn_text_add(text, "null");
}

static void add_range(tn_text *text, const Tenon__Plan__Profile *profile) {
    tn_text_add_format(text, ", \"free\": %s", profile->is_free ? "true" : "false");
    add_point(text, "min", profile->minimum);
    add_point(text, "opt", profile->optimum);
    add_point(text, "max", profile->maximum);
}

static void add_profile(tn_text *text, const Tenon__Plan__Plan *plan, size_t count,
                        Tenon__Plan__Profile *const *ranges) {
    size_t written = 0;
    tn_text_add(text, "[");
    for (size_t i = 0; i < plan->n_inputs && i < count; i++) {
        if (plan->inputs[i] >= plan->n_tensors) continue;
        tn_text_add(text, written++ > 0 ? ", {\"name\": " : "{\"name\": ");
        tn_text_add_json(text, plan->tensors[plan->inputs[i]]->name);
        add_range(text, ranges[i]);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]");
}

/* All of them, where there are several: the inputs show the first one. */
static void add_profiles(tn_text *text, const Tenon__Plan__Plan *plan) {
    if (plan->n_further_profiles == 0) return;
    tn_text_add(text, "  \"profiles\": [\n    ");
    add_profile(text, plan, plan->n_profiles, plan->profiles);
    for (size_t p = 0; p < plan->n_further_profiles; p++) {
        tn_text_add(text, ",\n    ");
        add_profile(text, plan, plan->further_profiles[p]->n_inputs,
                    plan->further_profiles[p]->inputs);
    }
    tn_text_add(text, "],\n");
}

static void add_inputs(tn_text *text, const Tenon__Plan__Plan *plan) {
    size_t written = 0;
    tn_text_add(text, "  \"inputs\": [");
    for (size_t i = 0; i < plan->n_inputs; i++) {
        if (plan->inputs[i] >= plan->n_tensors) continue;
        const Tenon__Plan__Tensor *tensor = plan->tensors[plan->inputs[i]];
        tn_text_add_format(text, "%s{\"name\": ", between(written++));
        add_declaration(text, tensor);
        add_extent_names(text, tensor->n_extent_names, tensor->extent_names);
        if (i < plan->n_profiles) add_range(text, plan->profiles[i]);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

/* Null where it is known at a run only, or the plan is older than these. */
static void add_output_facts(tn_text *text, const Tenon__Plan__Output *output) {
    tn_text_add(text, ", \"type\": ");
    if (output->type == TN_NONE)
        tn_text_add(text, "null");
    else
        add_value_type(text, output->value_kind, output->key_type, output->type);
    tn_text_add(text, ", \"shape\": ");
    if (output->has_shape)
        tn_inspect_shape(text, output->n_shape, output->shape);
    else
        tn_text_add(text, "null");
}

static void add_outputs(tn_text *text, const Tenon__Plan__Plan *plan) {
    tn_text_add(text, "  \"outputs\": [");
    for (size_t i = 0; i < plan->n_outputs; i++) {
        tn_text_add_format(text, "%s{\"name\": ", between(i));
        tn_text_add_json(text, plan->outputs[i]->name);
        tn_text_add(text, ", \"tensor\": ");
        tn_inspect_tensor_name(text, plan, plan->outputs[i]->tensor);
        add_output_facts(text, plan->outputs[i]);
        add_extent_names(text, plan->outputs[i]->n_extent_names, plan->outputs[i]->extent_names);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_constants(tn_text *text, const Tenon__Plan__Plan *plan) {
    size_t written = 0;
    tn_text_add(text, "  \"constants\": [");
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const Tenon__Plan__Tensor *tensor = plan->tensors[i];
        if (tensor->kind != 2) continue;
        tn_text_add_format(text, "%s{\"name\": ", between(written++));
        add_declaration(text, tensor);
        tn_text_add_format(text, ", \"bytes\": %" PRIu64, tensor->bytes);
        if (*tensor->refit_name) tn_text_add_member(text, "refit", tensor->refit_name);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_ports(tn_text *text, const Tenon__Plan__Plan *plan, const char *name, size_t count,
                      const uint32_t *indices) {
    tn_text_add_format(text, ", \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_inspect_tensor_name(text, plan, (uint64_t)indices[i] + UINT64_MAX);
    }
    tn_text_add(text, "]");
}

static void add_node(tn_text *text, const Tenon__Plan__Plan *plan, const Tenon__Plan__Node *node) {
    static const Tenon__Plan__Operator none = TENON__PLAN__OPERATOR__INIT;
    const Tenon__Plan__Operator *op =
        node->operator_index < plan->n_operators ? plan->operators[node->operator_index] : &none;
    tn_text_add_json(text, node->name);
    tn_text_add_member(text, "op", op->name);
    tn_text_add_member(text, "domain", op->domain);
    tn_text_add_format(text, ", \"version\": %" PRIu32, op->since_version);
    add_ports(text, plan, "inputs", node->n_inputs, node->inputs);
    add_ports(text, plan, "outputs", node->n_outputs, node->outputs);
    tn_inspect_fields(text, node);
    tn_text_add_format(text, ", \"state_bytes\": %zu", node->state.len);
    if (*node->rewrite) tn_text_add_member(text, "rewrite", node->rewrite);
    tn_text_add(text, "}");
}

static void add_nodes(tn_text *text, const Tenon__Plan__Plan *plan) {
    tn_text_add(text, "  \"nodes\": [");
    for (size_t i = 0; i < plan->n_nodes; i++) {
        tn_text_add_format(text, "%s{\"name\": ", between(i));
        add_node(text, plan, plan->nodes[i]);
    }
    tn_text_add(text, "],\n");
}

static tn_status write_json(const tn_description *description, const Tenon__Plan__Plan *plan,
                            const tn_plan_sizes *sizes, char **out_json) {
    tn_text text;
    tn_text_init(&text, description->allocator);
    tn_text_add(&text, "{\n  \"graph\": ");
    tn_text_add_json(&text, plan->name);
    tn_text_add(&text, ",\n  \"producer\": ");
    tn_text_add_json(&text, plan->producer);
    tn_text_add_format(&text,
                       ",\n  \"format_version\": %u,\n  \"bytes\": {\"file\": %zu, "
                       "\"description\": %zu, \"weights\": %zu, \"packed\": %zu},\n",
                       TN_PLAN_VERSION, sizes->file, sizes->description, sizes->weights,
                       sizes->packed);
    tn_inspect_model(&text, &description->model);
    add_libraries(&text, &description->view);
    add_operators(&text, plan);
    add_inputs(&text, plan);
    add_profiles(&text, plan);
    add_outputs(&text, plan);
    add_constants(&text, plan);
    add_nodes(&text, plan);
    tn_inspect_programs(&text, &description->view);
    tn_text_add(&text, "}\n");
    tn_status status = tn_text_take(&text, out_json);
    tn_text_deinit(&text);
    return status;
}

static tn_status inspect(tn_runtime *runtime, const tn_file *file, char **out_json) {
    tn_description *description;
    const Tenon__Plan__Plan *plan;
    tn_plan_sizes sizes;
    TN_TRY(tn_describe_plan(runtime, file->data, file->bytes, &description, &plan, &sizes));
    const tn_status status = write_json(description, plan, &sizes, out_json);
    tn_plan_description_destroy(&description->view);
    return status;
}

tn_status tn_plan_inspect(tn_runtime *runtime, const char *path, char **out_json) {
    tn_file file;
    if (!runtime || !path || !out_json)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_inspect needs a runtime, a path and out_json");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    tn_status status = inspect(runtime, &file, out_json);
    tn_file_unmap(&file);
    return tn_error_in(status, .file = path);
}
