/* SPDX-License-Identifier: Apache-2.0 */
/* See describe.h. */
#include "plan/inspect/describe.h"

#include "base/status.h"
#include "base/text.h"
#include "plan/program_fit.h"
#include "tensor/shape.h"

#include <string.h>

tn_status tn_description_create(tn_runtime *runtime, tn_description **out_description) {
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_description *description = tn_allocate_zero(allocator, 1, sizeof(*description));
    if (!description) return tn_fail_memory("a description");
    description->allocator = allocator;
    description->runtime = tn_runtime_retain(runtime);
    description->view.size = sizeof(description->view);
    description->view.model = &description->model;
    const tn_status status = tn_arena_create(allocator, &description->arena);
    if (status == TN_OK)
        *out_description = description;
    else
        tn_plan_description_destroy(&description->view);
    return status;
}

void tn_plan_description_destroy(const tn_plan_description *view) {
    tn_description *description = (tn_description *)(uintptr_t)view;
    if (!description) return;
    const tn_allocator *allocator = description->allocator;
    tn_runtime *runtime = description->runtime;
    if (description->owner) description->release(description->owner, allocator);
    tn_arena_destroy(description->arena);
    tn_deallocate(allocator, description);
    tn_runtime_release(runtime);
}

void *tn_description_list(tn_description *description, size_t count, size_t bytes) {
    const uint32_t size = (uint32_t)bytes;
    unsigned char *items = tn_arena_allocate(description->arena, count, bytes);
    void **list = tn_arena_allocate(description->arena, count, sizeof(*list));
    if (!items || !list) return NULL;
    for (size_t i = 0; i < count; i++) {
        list[i] = items + i * bytes;
        memcpy(list[i], &size, sizeof(size));
    }
    return list;
}

static void add_port(tn_text *text, const tn_described_program *program, uint32_t number) {
    if (number >= program->value_count) {
        tn_text_add(text, "-");
        return;
    }
    const tn_described_value *value = program->values[number];
    const bool is_scaled =
        value->scale != 0; /* 8-bit integers that stand for floating-point values */
    tn_text_add_format(text, "%s%s", is_scaled ? "q" : "", tn_type_name(value->type));
    if (value->format != TN_LINEAR) tn_text_add_format(text, ":%s", tn_format_name(value->format));
}

static void add_ports(tn_text *text, const tn_described_program *program, uint32_t count,
                      const uint32_t *indices, bool *is_first) {
    for (uint32_t i = 0; i < count; i++) {
        if (!*is_first) tn_text_add(text, ", ");
        *is_first = false;
        add_port(text, program, indices[i]);
    }
}

tn_status tn_description_combine(tn_description *description, const tn_described_program *program,
                                 tn_described_step *step) {
    tn_text text;
    bool is_first = true;
    tn_text_init(&text, description->allocator);
    add_ports(&text, program, step->input_count, step->inputs, &is_first);
    tn_text_add(&text, is_first ? "->" : " ->");
    for (uint32_t i = 0; i < step->output_count; i++) {
        tn_text_add(&text, i > 0 ? ", " : " ");
        add_port(&text, program, step->outputs[i]);
    }
    step->combination = text.is_failed ? NULL : tn_arena_text(description->arena, text.data);
    tn_text_deinit(&text);
    return step->combination ? TN_OK : tn_fail_memory("a description");
}

void tn_description_sum_memory(tn_described_program *program) {
    for (uint32_t v = 0; v < program->value_count; v++) {
        const tn_described_value *value = program->values[v];
        uint64_t *bytes = value->is_device ? &program->device_bytes : &program->host_bytes;
        if (value->is_planned && value->offset + value->bytes > *bytes)
            *bytes = value->offset + value->bytes;
    }
}

/* A program against the devices that are known. */
typedef struct fit_search {
    const char *kind;
    tn_program_target built;
    bool is_kind_known, fits;
} fit_search;

static bool compare_device(void *user, const tn_device_info *device) {
    fit_search *search = user;
    const tn_program_target here = {device->fingerprint, 0};
    search->is_kind_known |= strcmp(device->kind, search->kind) == 0;
    search->fits |= tn_program_fits(&search->built, &here);
    return !search->fits;
}

int32_t tn_description_fit(tn_runtime *runtime, const char *device, const char *fingerprint,
                           uint32_t threads) {
    fit_search search = {.kind = device, .built = {fingerprint, threads}};
    tn_runtime_visit_devices(runtime, compare_device, &search);
    return search.fits ? 1 : search.is_kind_known ? 0 : -1;
}
