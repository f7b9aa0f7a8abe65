/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a plan but its programs as structs, and the public calls. See describe_plan.h. */
#include "plan/inspect/describe_plan.h"

#include "base/code_cache/sha256.h"
#include "base/status.h"
#include "base/wire.h"
#include "plan/layout.h"
#include "plan/model_info.h"
#include "plan/plan.h"

const char *tn_describe_tensor_name(const Tenon__Plan__Plan *plan, uint64_t tensor) {
    return tensor < plan->n_tensors ? plan->tensors[tensor]->name : NULL;
}

/* Of a damaged plan that is shown all the same there may be none. */
static tn_status describe_embedded(tn_description *description, const Tenon__Plan__Library *from,
                                   tn_described_library *library) {
    if (from->embedded_bytes == 0 || from->sha256.len != TN_SHA256_BYTES) return TN_OK;
    char *text = tn_arena_allocate(description->arena, TN_SHA256_TEXT_BYTES, 1);
    if (!text) return tn_fail_memory("a description");
    library->sha256 = tn_sha256_print(from->sha256.data, text);
    library->embedded_bytes = from->embedded_bytes;
    return TN_OK;
}

static tn_status describe_libraries(tn_description *description, const Tenon__Plan__Plan *plan) {
    tn_described_library **libraries =
        tn_description_list(description, plan->n_libraries, sizeof(tn_described_library));
    if (!libraries) return tn_fail_memory("a description");
    for (size_t i = 0; i < plan->n_libraries; i++) {
        const Tenon__Plan__Library *from = plan->libraries[i];
        libraries[i]->is_linked_in = !*from->file_name;
        libraries[i]->name = from->name;
        libraries[i]->version = from->version;
        libraries[i]->file = *from->file_name ? from->file_name : NULL;
        libraries[i]->hash = from->hash;
        libraries[i]->domain = from->domain;
        TN_TRY(describe_embedded(description, from, libraries[i]));
    }
    description->view.library_count = (uint32_t)plan->n_libraries;
    description->view.libraries = (const tn_described_library *const *)libraries;
    return TN_OK;
}

static tn_status describe_nodes(tn_description *description, const Tenon__Plan__Plan *plan) {
    static const Tenon__Plan__Operator none = TENON__PLAN__OPERATOR__INIT;
    tn_described_node **nodes =
        tn_description_list(description, plan->n_nodes, sizeof(tn_described_node));
    if (!nodes) return tn_fail_memory("a description");
    for (size_t i = 0; i < plan->n_nodes; i++) {
        const Tenon__Plan__Node *from = plan->nodes[i];
        const bool is_there = from->operator_index < plan->n_operators;
        const Tenon__Plan__Operator *op = is_there ? plan->operators[from->operator_index] : &none;
        nodes[i]->name = from->name;
        nodes[i]->domain = op->domain;
        nodes[i]->op = op->name;
        nodes[i]->version = op->since_version;
        if (is_there && op->library < plan->n_libraries)
            nodes[i]->library = plan->libraries[op->library]->name;
        nodes[i]->rewrite = *from->rewrite ? from->rewrite : NULL;
    }
    description->view.node_count = (uint32_t)plan->n_nodes;
    description->view.nodes = (const tn_described_node *const *)nodes;
    return TN_OK;
}

static tn_status set_extent_names(tn_description *description, size_t count, char *const *texts,
                                  tn_port_info *port) {
    const uint32_t rank = port->rank == UINT32_MAX ? 0 : port->rank;
    const char **names = tn_arena_allocate(description->arena, rank, sizeof(*names));
    if (!names) return tn_fail_memory("a description");
    for (uint32_t i = 0; i < rank && i < count; i++)
        if (*texts[i]) names[i] = texts[i];
    port->names = names;
    return TN_OK;
}

static void set_shape(tn_port_info *port, bool has_shape, size_t rank, const int64_t *extents) {
    port->rank = has_shape && rank <= TN_MAX_RANK ? (uint32_t)rank : UINT32_MAX;
    port->extents = extents;
}

static bool is_point_sound(const Tenon__Plan__Point *point, size_t rank) {
    return point && point->n_shape == rank && rank <= TN_MAX_RANK;
}

static const void *value_of(const Tenon__Plan__Point *point) {
    return point->has_value ? point->value.data : NULL;
}

static tn_status describe_profile(tn_description *description, const char *name,
                                  const Tenon__Plan__Profile *from,
                                  const tn_profile_input **out_profile) {
    if (from->is_free || !from->minimum || !is_point_sound(from->minimum, from->minimum->n_shape) ||
        !is_point_sound(from->optimum, from->minimum->n_shape) ||
        !is_point_sound(from->maximum, from->minimum->n_shape))
        return TN_OK;
    tn_profile_input *profile = tn_arena_allocate(description->arena, 1, sizeof(*profile));
    if (!profile) return tn_fail_memory("a description");
    *profile = (tn_profile_input){.size = sizeof(*profile),
                                  .rank = (uint32_t)from->minimum->n_shape,
                                  .name = name,
                                  .minimum = from->minimum->shape,
                                  .optimum = from->optimum->shape,
                                  .maximum = from->maximum->shape,
                                  .minimum_value = value_of(from->minimum),
                                  .optimum_value = value_of(from->optimum),
                                  .maximum_value = value_of(from->maximum)};
    *out_profile = profile;
    return TN_OK;
}

static tn_status describe_inputs(tn_description *description, const Tenon__Plan__Plan *plan) {
    tn_port_info **ports = tn_description_list(description, plan->n_inputs, sizeof(tn_port_info));
    const size_t sets = 1 + plan->n_further_profiles;
    const tn_profile_input **profiles =
        tn_arena_allocate(description->arena, sets * plan->n_inputs, sizeof(*profiles));
    if (!ports || !profiles) return tn_fail_memory("a description");
    uint32_t count = 0, known = 0;
    for (size_t i = 0; i < plan->n_inputs; i++)
        known += plan->inputs[i] < plan->n_tensors;
    for (size_t i = 0; i < plan->n_inputs; i++) {
        if (plan->inputs[i] >= plan->n_tensors) continue;
        const Tenon__Plan__Tensor *tensor = plan->tensors[plan->inputs[i]];
        const Tenon__Plan__Profile *profile = i < plan->n_profiles ? plan->profiles[i] : NULL;
        tn_port_info *port = ports[count];
        port->type = tensor->type;
        port->kind = tensor->value_kind;
        port->key_type = tensor->key_type;
        port->name = tensor->name;
        port->is_value = profile && profile->optimum && profile->optimum->has_value;
        set_shape(port, tensor->has_shape, tensor->n_shape, tensor->shape);
        TN_TRY(set_extent_names(description, tensor->n_extent_names, tensor->extent_names, port));
        if (profile) TN_TRY(describe_profile(description, tensor->name, profile, &profiles[count]));
        for (size_t p = 1; p < sets; p++) {
            const Tenon__Plan__ProfileSet *set = plan->further_profiles[p - 1];
            if (i < set->n_inputs)
                TN_TRY(describe_profile(description, tensor->name, set->inputs[i],
                                        &profiles[p * known + count]));
        }
        count++;
    }
    description->view.profile_count = (uint32_t)sets;
    description->view.input_count = count;
    description->view.inputs = (const tn_port_info *const *)ports;
    description->view.profiles = profiles;
    return TN_OK;
}

static tn_status describe_outputs(tn_description *description, const Tenon__Plan__Plan *plan) {
    tn_port_info **ports = tn_description_list(description, plan->n_outputs, sizeof(tn_port_info));
    if (!ports) return tn_fail_memory("a description");
    for (size_t i = 0; i < plan->n_outputs; i++) {
        const Tenon__Plan__Output *output = plan->outputs[i];
        ports[i]->type = output->type;
        ports[i]->kind = output->value_kind;
        ports[i]->key_type = output->key_type;
        ports[i]->name = output->name;
        set_shape(ports[i], output->has_shape, output->n_shape, output->shape);
        TN_TRY(
            set_extent_names(description, output->n_extent_names, output->extent_names, ports[i]));
    }
    description->view.output_count = (uint32_t)plan->n_outputs;
    description->view.outputs = (const tn_port_info *const *)ports;
    return TN_OK;
}

static tn_status describe_plan(tn_description *description, const Tenon__Plan__Plan *plan) {
    description->view.producer = plan->producer;
    TN_TRY(tn_plan_model_info(description->arena, plan, &description->model));
    for (size_t i = 0; i < plan->n_tensors; i++)
        if (plan->tensors[i]->kind == 2)
            description->view.constant_bytes += plan->tensors[i]->bytes;
    TN_TRY(describe_libraries(description, plan));
    TN_TRY(describe_nodes(description, plan));
    TN_TRY(describe_inputs(description, plan));
    TN_TRY(describe_outputs(description, plan));
    return tn_describe_programs(description, plan);
}

static void release_message(void *message, const tn_allocator *allocator) {
    tn_wire_free(allocator, message);
}

static tn_status unpack(tn_description *description, const void *data, size_t bytes,
                        tn_plan_sizes *sizes) {
    tn_plan_layout layout;
    ProtobufCMessage *message;
    TN_TRY(tn_plan_layout_read(data, bytes, &layout));
    for (uint32_t i = 0; i < layout.section_count; i++)
        TN_TRY(tn_plan_layout_verify(data, &layout, &layout.sections[i]));
    const tn_plan_section *text = tn_plan_layout_find(&layout, TN_SECTION_DESCRIPTION);
    const tn_plan_section *weights = tn_plan_layout_find(&layout, TN_SECTION_WEIGHTS);
    const tn_plan_section *packed = tn_plan_layout_find(&layout, TN_SECTION_PACKED);
    if (!text) return tn_fail(TN_ERROR_FORMAT, "the plan is damaged: it has no description");
    TN_TRY(tn_wire_unpack(description->allocator, &tenon__plan__plan__descriptor,
                          (const unsigned char *)data + text->offset, text->bytes, &message));
    description->owner = message;
    description->release = release_message;
    *sizes = (tn_plan_sizes){.file = bytes,
                             .description = text->bytes,
                             .weights = weights ? weights->bytes : 0,
                             .packed = packed ? packed->bytes : 0};
    return TN_OK;
}

tn_status tn_describe_plan(tn_runtime *runtime, const void *data, size_t bytes,
                           tn_description **out_description, const Tenon__Plan__Plan **out_plan,
                           tn_plan_sizes *out_sizes) {
    tn_description *description;
    TN_TRY(tn_description_create(runtime, &description));
    tn_status status = unpack(description, data, bytes, out_sizes);
    if (status == TN_OK) {
        description->view.file_bytes = bytes;
        status = describe_plan(description, description->owner);
    }
    if (status != TN_OK) {
        tn_plan_description_destroy(&description->view);
        return status;
    }
    *out_plan = description->owner;
    *out_description = description;
    return TN_OK;
}

tn_status tn_plan_describe_bytes(tn_runtime *runtime, const void *data, uint64_t bytes,
                                 const tn_plan_description **out_description) {
    tn_description *description;
    const Tenon__Plan__Plan *plan;
    tn_plan_sizes sizes;
    if (!runtime || !out_description || (bytes > 0 && !data))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_plan_describe_bytes needs a runtime, data and out_description");
    TN_TRY(tn_describe_plan(runtime, data, (size_t)bytes, &description, &plan, &sizes));
    *out_description = &description->view;
    return TN_OK;
}

tn_status tn_plan_describe_file(tn_runtime *runtime, const char *path,
                                const tn_plan_description **out_description) {
    tn_file file;
    if (!runtime || !path || !out_description)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_plan_describe_file needs a runtime, a path and out_description");
    TN_TRY(tn_file_map(tn_runtime_allocator(runtime), path, &file));
    const tn_status status =
        tn_plan_describe_bytes(runtime, file.data, file.bytes, out_description);
    tn_file_unmap(&file);
    return tn_error_at(status, "%s", path);
}

tn_status tn_plan_describe(const tn_plan *plan, const tn_plan_description **out_description) {
    if (!plan || !out_description)
        return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_describe needs a plan and out_description");
    uint64_t bytes;
    const void *data = tn_plan_bytes(plan, &bytes);
    if (!data) return TN_ERROR_MEMORY;
    return tn_plan_describe_bytes(plan->runtime, data, (size_t)bytes, out_description);
}
