/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of a plan: the operators that its nodes use and the libraries that gave them or the
 * kernels of its programs, each once, in the order of first use; see writer.h.
 */
#include "plan/write/writer.h"

#include "base/status.h"

#include <string.h>

static void write_library(Tenon__Plan__Library *message, const tn_library_key *key,
                          const char *version, const char *path) {
    tenon__plan__library__init(message);
    message->name = tn_plan_writer_text(key->name);
    message->version = tn_plan_writer_text(version);
    message->file_name = tn_plan_writer_text(tn_path_name(path ? path : ""));
    message->hash = key->hash;
    message->domain = tn_plan_writer_text(key->domain);
}

static bool is_same(const tn_library_key *key, const char *name, const char *domain,
                    uint64_t hash) {
    return key->hash == hash && strcmp(key->name, name) == 0 &&
           strcmp(key->domain ? key->domain : "", domain) == 0;
}

uint32_t tn_plan_find_library(const Tenon__Plan__Plan *plan, const tn_library_key *key) {
    uint32_t index = 0;
    while (index < plan->n_libraries &&
           !is_same(key, plan->libraries[index]->name, plan->libraries[index]->domain,
                    plan->libraries[index]->hash))
        index++;
    return index;
}

static void write_operator(tn_plan_writer *writer, const tn_operator_entry *entry) {
    Tenon__Plan__Plan *plan = &writer->plan;
    for (size_t i = 0; i < plan->n_operators; i++)
        if (writer->operators[i] == entry) return;
    const tn_loaded_library *library = entry->library;
    const tn_library_key key = {library->name, library->domain, library->hash};
    const uint32_t index = tn_plan_find_library(plan, &key);
    if (index == plan->n_libraries)
        write_library(plan->libraries[plan->n_libraries++], &key, library->version, library->path);
    writer->operators[plan->n_operators] = entry;
    Tenon__Plan__Operator *message = plan->operators[plan->n_operators++];
    tenon__plan__operator__init(message);
    message->domain = tn_plan_writer_text(entry->op->domain);
    message->name = tn_plan_writer_text(entry->op->name);
    message->variant = tn_plan_writer_text(entry->op->variant);
    message->since_version = entry->op->since_version;
    message->state_version = entry->op->state_version;
    message->library = index;
}

/* A search among the loaded libraries. */
typedef struct library_search {
    tn_arena *arena;
    const tn_library_key *key;
    Tenon__Plan__Library *message;
    bool is_found, is_failed;
} library_search;

static bool visit_library(void *user, const tn_library_info *library) {
    library_search *search = user;
    if (!is_same(search->key, library->name, library->domain, library->hash)) return true;
    const char *version = tn_arena_text(search->arena, library->version ? library->version : "");
    const char *path = tn_arena_text(search->arena, library->path ? library->path : "");
    search->is_found = true;
    search->is_failed = !version || !path;
    if (!search->is_failed) write_library(search->message, search->key, version, path);
    return false;
}

static tn_status write_kernel_library(tn_plan_writer *writer, const tn_program_step *step) {
    Tenon__Plan__Plan *plan = &writer->plan;
    const tn_library_key key = {step->library, step->library_domain, step->library_hash};
    if (tn_plan_find_library(plan, &key) < plan->n_libraries) return TN_OK;
    library_search search = {
        .arena = writer->arena, .key = &key, .message = plan->libraries[plan->n_libraries]};
    tn_runtime_visit_libraries(writer->graph->runtime, visit_library, &search);
    if (search.is_failed) return tn_fail_memory("the manifest of a plan");
    if (!search.is_found)
        return tn_fail(TN_ERROR_NOT_FOUND,
                       "library '%s', whose kernels were chosen, was unloaded during the build",
                       step->library);
    plan->n_libraries++;
    return TN_OK;
}

/* At most as many operators as nodes, and a library for each operator and each step. */
static tn_status reserve(tn_plan_writer *writer) {
    Tenon__Plan__Plan *plan = &writer->plan;
    size_t nodes = writer->node_count, steps = 0;
    void **messages;
    for (uint32_t p = 0; p < writer->program_count; p++)
        steps += writer->programs[p]->step_count;
    TN_TRY(tn_plan_writer_messages(writer, nodes, sizeof(Tenon__Plan__Operator), &messages));
    plan->operators = (Tenon__Plan__Operator **)messages;
    TN_TRY(tn_plan_writer_messages(writer, nodes + steps, sizeof(Tenon__Plan__Library), &messages));
    plan->libraries = (Tenon__Plan__Library **)messages;
    writer->operators = tn_arena_allocate(writer->arena, nodes, sizeof(*writer->operators));
    return writer->operators ? TN_OK : tn_fail_memory("the manifest of a plan");
}

tn_status tn_plan_write_manifest(tn_plan_writer *writer) {
    TN_TRY(reserve(writer));
    for (size_t n = 0; n < writer->graph->node_count; n++)
        if (!writer->graph->nodes[n].is_dead) write_operator(writer, writer->graph->nodes[n].entry);
    for (uint32_t p = 0; p < writer->program_count; p++) {
        const tn_program *program = writer->programs[p];
        for (uint32_t s = 0; s < program->step_count; s++)
            if (program->steps[s].library) TN_TRY(write_kernel_library(writer, &program->steps[s]));
    }
    return TN_OK;
}
