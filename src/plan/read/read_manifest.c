/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest: finds and loads the libraries that a plan's operators and kernels come from, and
 * then the operators by domain, name and version. See reader.h.
 */
#include "plan/read/reader.h"

#include "base/status.h"
#include "plan/embedded.h"
#include "program/lower_again.h"

#include <inttypes.h>
#include <string.h>

/* A name for messages, like "Test::Resize". */
static const char *operator_name(const tn_plan_reader *reader,
                                 const Tenon__Plan__Operator *message) {
    const char *name = *message->domain ? tn_arena_format(reader->scratch, "%s::%s",
                                                          message->domain, message->name)
                                        : message->name;
    return name ? name : "";
}

static bool visit_name(void *user, const tn_library_info *library) {
    const char **name = user;
    if (strcmp(library->name, *name) == 0) *name = NULL;
    return *name != NULL;
}

/* A library that was linked in has no file that could be searched for. */
static tn_status check_linked(const tn_plan_reader *reader, const Tenon__Plan__Library *message,
                              const char *needed_for) {
    const char *name = message->name;
    if (*message->file_name) return TN_OK;
    tn_runtime_visit_libraries(reader->runtime, visit_name, &name);
    if (!name) return TN_OK;
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "%s needs library '%s', which was linked into the program that built the plan "
                   "and is not loaded here: register it (tn_runtime_register_library) or load it "
                   "before the plan",
                   needed_for, message->name);
}

/* Needed for operators, it must be there; for kernels, others can do their work. */
static tn_status find_library(tn_plan_reader *reader, uint32_t index, const char *needed_for,
                              const Tenon__Plan__Operator *wanted) {
    const Tenon__Plan__Library *message = reader->plan->libraries[index];
    if (reader->libraries[index]) return TN_OK;
    TN_TRY(check_linked(reader, message, needed_for));
    tn_library_request request = {.name = message->name,
                                  .file_name = message->file_name,
                                  .domain = message->domain,
                                  .hash = message->hash,
                                  .embedded_sha256 =
                                      tn_plan_is_embedded(message) ? message->sha256.data : NULL,
                                  .needed_for = needed_for,
                                  .operator_name = wanted ? wanted->name : NULL,
                                  .operator_domain = wanted ? wanted->domain : "",
                                  .contents = reader->library_hashes,
                                  .content_count = reader->plan->n_libraries,
                                  .is_exact = reader->options->is_exact,
                                  .allowed_count = reader->options->allowed_count,
                                  .allowed = reader->options->allowed};
    return tn_library_find(reader->runtime, &request, &reader->libraries[index]);
}

/* By name the operator may come from another library than the manifest's. */
static tn_status check_source(const tn_plan_reader *reader, const Tenon__Plan__Operator *message,
                              const tn_operator_entry *entry) {
    const char *variant = entry->op->variant ? entry->op->variant : "";
    if (strcmp(variant, message->variant) != 0)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "the plan needs operator %s in the variant '%s'; library '%s' has the "
                       "variant '%s'",
                       operator_name(reader, message), message->variant, entry->library->name,
                       variant);
    const char *wanted = reader->plan->libraries[message->library]->name;
    if (entry->library == reader->libraries[message->library]) return TN_OK;
    if (reader->options->is_exact || reader->options->allowed_count > 0)
        return tn_fail(TN_ERROR_PLUGIN,
                       "operator %s was of library '%s' when the plan was built; here it is of "
                       "library '%s', which exact loading and a list of allowed libraries refuse",
                       operator_name(reader, message), wanted, entry->library->name);
    tn_runtime_log(reader->runtime, TN_LOG_WARNING,
                   "operator %s is taken from library '%s'; the plan was built with '%s'",
                   operator_name(reader, message), entry->library->name, wanted);
    return TN_OK;
}

/* The first node that needs an operator, "" when there is none; and how many there are. */
static const char *first_node(const tn_plan_reader *reader, size_t operator_index,
                              size_t *out_count) {
    const Tenon__Plan__Plan *plan = reader->plan;
    const char *first = "";
    size_t count = 0;
    for (size_t i = 0; i < plan->n_nodes; i++) {
        if (plan->nodes[i]->operator_index != operator_index) continue;
        if (count++ == 0) first = plan->nodes[i]->name;
    }
    *out_count = count;
    return first;
}

/* "node 'clip' and 2 more: operator Test::SoftClip version 1". */
static const char *describe_need(const tn_plan_reader *reader, size_t index) {
    const Tenon__Plan__Operator *message = reader->plan->operators[index];
    const char *name = operator_name(reader, message);
    size_t count = 0;
    const char *first = first_node(reader, index, &count);
    if (count == 0)
        return tn_arena_format(reader->scratch, "operator %s version %" PRIu32, name,
                               message->since_version);
    if (count == 1)
        return tn_arena_format(reader->scratch, "node '%.100s': operator %s version %" PRIu32,
                               first, name, message->since_version);
    return tn_arena_format(reader->scratch,
                           "node '%.100s' and %zu more: operator %s version %" PRIu32, first,
                           count - 1, name, message->since_version);
}

/* The library is there and the operator is not: says which library had it, and which one has not.
 */
static tn_status fail_operator(const tn_plan_reader *reader, tn_status status, size_t index) {
    const Tenon__Plan__Operator *message = reader->plan->operators[index];
    const Tenon__Plan__Library *wanted = reader->plan->libraries[message->library];
    const tn_loaded_library *found = reader->libraries[message->library];
    const char *reason = tn_arena_text(reader->scratch, tn_last_error()->message);
    size_t count = 0;
    if (status == TN_ERROR_MEMORY || !reason) return tn_fail_memory("a message");
    return tn_error_in(
        tn_error_mend(
            tn_fail(status,
                    "%s; the plan was built with library '%.100s' version %.40s (%.100s, content "
                    "%016" PRIx64 "); what is loaded is version %.40s (%.200s, content %016" PRIx64
                    ")",
                    reason, wanted->name, wanted->version,
                    *wanted->file_name ? wanted->file_name : "linked in", wanted->hash,
                    found ? found->version : "",
                    found && found->path[0] ? found->path : "linked in", found ? found->hash : 0),
            "\n  mend: ", "load a library that has the operator, or build the plan again"),
        .node = first_node(reader, index, &count));
}

tn_status tn_plan_read_operator(tn_plan_reader *reader, size_t index) {
    const Tenon__Plan__Operator *message = reader->plan->operators[index];
    if (!*message->name) return tn_plan_reader_fail("an operator has no name");
    if (message->library >= reader->plan->n_libraries)
        return tn_plan_reader_fail("there is no library number %" PRIu32, message->library);
    if (!reader->libraries[message->library]) { /* the first operator of this library */
        const char *needed_for = describe_need(reader, index);
        if (!needed_for) return tn_fail_memory("the manifest of a plan");
        TN_TRY(find_library(reader, message->library, needed_for, message));
    }
    const tn_status status = tn_registry_find_operator_exact(
        tn_runtime_registry(reader->runtime), message->domain, message->name,
        message->since_version, &reader->operators[index]);
    if (status != TN_OK) return fail_operator(reader, status, index);
    return check_source(reader, message, reader->operators[index]);
}

/* Nothing of them is loaded here; a plan that was built a moment ago has none. */
static tn_status check_embedded(const tn_plan_reader *reader) {
    size_t offset = 0;
    for (size_t i = 0; i < reader->plan->n_libraries; i++)
        if (tn_plan_is_embedded(reader->plan->libraries[i]))
            TN_TRY(tn_plan_find_embedded(reader->plan->libraries[i], &reader->layout, &offset));
    return TN_OK;
}

tn_status tn_plan_reader_manifest_init(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    tn_arena *arena = reader->contents.arena;
    reader->libraries = tn_arena_allocate(arena, plan->n_libraries, sizeof(*reader->libraries));
    reader->is_missing = tn_arena_allocate(reader->scratch, plan->n_libraries, sizeof(bool));
    reader->operators =
        tn_arena_allocate(reader->scratch, plan->n_operators, sizeof(*reader->operators));
    uint64_t *hashes = tn_arena_allocate(reader->scratch, plan->n_libraries, sizeof(*hashes));
    if (!reader->libraries || !reader->is_missing || !reader->operators || !hashes)
        return tn_fail_memory("the manifest of a plan");
    for (size_t i = 0; i < plan->n_libraries; i++)
        hashes[i] = plan->libraries[i]->hash;
    reader->library_hashes = hashes;
    reader->contents.libraries = reader->libraries;
    reader->contents.library_count = (uint32_t)plan->n_libraries;
    for (size_t i = 0; i < plan->n_libraries; i++)
        if (!*plan->libraries[i]->name) return tn_plan_reader_fail("a library has no name");
    return check_embedded(reader);
}

tn_status tn_plan_read_manifest(tn_plan_reader *reader) {
    TN_TRY(tn_plan_reader_manifest_init(reader));
    for (size_t i = 0; i < reader->plan->n_operators; i++)
        TN_TRY(tn_plan_read_operator(reader, i));
    return TN_OK;
}

tn_status tn_plan_read_kernel_library(tn_plan_reader *reader, uint32_t index) {
    return find_library(reader, index, "a kernel of the plan", NULL);
}

/* By its number; by its name in plans that were written before there were numbers. */
static tn_status find_in_manifest(const Tenon__Plan__Plan *plan, const Tenon__Plan__Step *step,
                                  uint32_t *out_index) {
    uint32_t index = step->library_number;
    if (index > plan->n_libraries)
        return tn_plan_reader_fail("there is no library number %" PRIu32, index - 1);
    if (index-- == 0) {
        index = 0;
        while (index < plan->n_libraries &&
               strcmp(plan->libraries[index]->name, step->library) != 0)
            index++;
    }
    if (index == plan->n_libraries)
        return tn_plan_reader_fail("the kernels' library '%s' is not in the manifest",
                                   step->library);
    *out_index = index;
    return TN_OK;
}

const tn_loaded_library *tn_plan_reader_step_library(const tn_plan_reader *reader,
                                                     const Tenon__Plan__Step *step) {
    uint32_t index = 0;
    return *step->library && find_in_manifest(reader->plan, step, &index) == TN_OK
               ? reader->libraries[index]
               : NULL;
}

/* The library of a step's kernel; answers false when it cannot be had. */
static tn_status find_kernel_library(tn_plan_reader *reader, const Tenon__Plan__Step *step,
                                     bool *out_is_there) {
    uint32_t index = 0;
    TN_TRY(find_in_manifest(reader->plan, step, &index));
    *out_is_there = reader->libraries[index] != NULL;
    if (*out_is_there || reader->is_missing[index]) return TN_OK;
    tn_status status = tn_plan_read_kernel_library(reader, index);
    *out_is_there = status == TN_OK;
    if (status == TN_OK || status == TN_ERROR_MEMORY || reader->options->is_exact ||
        !tn_can_lower_again())
        return status;
    reader->is_missing[index] = true;
    tn_runtime_log(reader->runtime, TN_LOG_WARNING, "kernels are chosen again, without timing: %s",
                   tn_last_error()->message);
    tn_error_clear();
    return TN_OK;
}

tn_status tn_plan_read_kernel_libraries(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                                        bool *out_is_there) {
    bool is_there = true;
    for (size_t i = 0; i < message->n_steps && is_there; i++)
        if (*message->steps[i]->library)
            TN_TRY(find_kernel_library(reader, message->steps[i], &is_there));
    *out_is_there = is_there;
    return TN_OK;
}
