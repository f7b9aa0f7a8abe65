/* SPDX-License-Identifier: Apache-2.0 */
/* The table of importers; see importers.h. */
#include "import/importers.h"
#include "base/file.h"
#include "base/status.h"
#include "plugin/library_private.h"
#include "plugin/runtime_private.h"

#include <string.h>

#define ENDINGS_AT_MOST 1000

static bool is_plain_name(const char *name) {
    if (!name || !name[0] || strlen(name) > 100) return false;
    for (const char *at = name; *at; at++)
        if (!(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') &&
            !(*at >= '0' && *at <= '9') && *at != '_' && *at != '-')
            return false;
    return true;
}

/* Endings begin with a dot and are separated by single spaces. */
static bool are_endings(const char *endings) {
    if (strlen(endings) > ENDINGS_AT_MOST) return false;
    for (const char *at = endings; *at; at++) {
        const bool is_first = at == endings || at[-1] == ' ';
        if (*at < ' ' || *at == '/' || (is_first && (*at != '.' || !at[1] || at[1] == ' ')))
            return false;
    }
    return true;
}

static tn_status check_samples(const tn_importer *importer) {
    if (importer->sample_count > 1000 || (importer->sample_count > 0 && !importer->samples))
        return tn_fail(TN_ERROR_PLUGIN, "it counts %llu samples, whose list is not there",
                       (unsigned long long)importer->sample_count);
    for (uint64_t i = 0; i < importer->sample_count; i++) {
        const tn_import_sample *sample = importer->samples[i];
        if (!sample || sample->size < sizeof(*sample) || sample->file_count == 0 ||
            sample->file_count > 100 || !sample->files || sample->option_count > 64 ||
            (sample->option_count > 0 && !sample->options))
            return tn_fail(TN_ERROR_PLUGIN, "sample %llu is incomplete", (unsigned long long)i);
        for (uint32_t f = 0; f < sample->file_count; f++) {
            const tn_import_sample_file *file = sample->files[f];
            if (!file || file->size < sizeof(*file) || !file->name ||
                !tn_path_is_inside(file->name) || strchr(file->name, '/') ||
                (file->bytes > 0 && !file->data))
                return tn_fail(TN_ERROR_PLUGIN, "file %u of sample %llu is incomplete", f,
                               (unsigned long long)i);
        }
        for (uint32_t k = 0; k < sample->option_count; k++)
            if (!sample->options[k] || !strchr(sample->options[k], '='))
                return tn_fail(TN_ERROR_PLUGIN, "option %u of sample %llu is not NAME=VALUE", k,
                               (unsigned long long)i);
    }
    return TN_OK;
}

static tn_status check_field_names(const tn_operator *options) {
    for (uint32_t i = 0; i < options->field_count; i++) {
        const tn_field *field = tn_fields_at(options, i);
        if (field->type == TN_FIELD_TENSOR || field->type == TN_FIELD_GRAPH ||
            field->type == TN_FIELD_ANY)
            return tn_fail(TN_ERROR_PLUGIN, "option '%s' is of a type that options cannot have",
                           field->name);
    }
    return TN_OK;
}

/* Today's struct of the table, as far as the library knows it. */
static tn_status check_importer(tn_importer_entry *entry, const tn_importer *given) {
    tn_importer *importer = &entry->importer;
    if (!given || given->size < offsetof(tn_importer, user) || given->size > 65536)
        return tn_fail(TN_ERROR_PLUGIN, "an importer's table says it has %u bytes",
                       given ? given->size : 0);
    memcpy(importer, given, given->size < sizeof(*importer) ? given->size : sizeof(*importer));
    importer->size = sizeof(*importer);
    if (!is_plain_name(importer->name))
        return tn_fail(TN_ERROR_PLUGIN,
                       "an importer's name is not made of letters, digits, '_' and '-'");
    if (!importer->endings) importer->endings = "";
    if (!importer->doc) importer->doc = "";
    if (!importer->what || !*importer->what) importer->what = importer->name;
    if (!importer->read) return tn_fail(TN_ERROR_PLUGIN, "it has no `read`");
    if (!are_endings(importer->endings))
        return tn_fail(TN_ERROR_PLUGIN,
                       "its endings are '%.100s': expected some like \".acme .acme.txt\"",
                       importer->endings);
    if (importer->field_count > 0 && (!importer->fields || importer->field_size < sizeof(tn_field)))
        return tn_fail(TN_ERROR_PLUGIN, "it counts %u options, whose table is not there",
                       importer->field_count);
    entry->options = (tn_operator){.size = sizeof(tn_operator),
                                   .domain = "",
                                   .name = importer->name,
                                   .doc = importer->doc,
                                   .params_bytes = importer->params_bytes,
                                   .field_size = importer->field_size,
                                   .field_count = importer->field_count,
                                   .fields = importer->fields};
    TN_TRY(tn_fields_check_table(&entry->options));
    TN_TRY(check_field_names(&entry->options));
    return check_samples(importer);
}

static tn_status append_importer(tn_runtime *runtime, tn_importer_entry *entry) {
    for (size_t i = 0; i < runtime->importer_count; i++) {
        const tn_importer_entry *other = runtime->importers[i];
        if (!other->is_removed && strcmp(other->importer.name, entry->importer.name) == 0)
            return tn_fail(TN_ERROR_PLUGIN, "%s has an importer of that name already",
                           other->library ? other->library->name : "Tenon");
    }
    TN_TRY(tn_grow(&runtime->allocator, (void **)&runtime->importers, &runtime->importer_capacity,
                   runtime->importer_count + 1, sizeof(tn_importer_entry *)));
    runtime->importers[runtime->importer_count++] = entry;
    return TN_OK;
}

tn_status tn_importers_add(tn_runtime *runtime, tn_loaded_library *library,
                           const tn_importer *importer) {
    tn_importer_entry *entry = tn_allocate_zero(&runtime->allocator, 1, sizeof(*entry));
    if (!entry) return tn_fail_memory("an importer");
    entry->library = library;
    tn_status status = check_importer(entry, importer);
    const char *name = entry->importer.name;
    if (status == TN_OK) {
        pthread_mutex_lock(&runtime->importers_lock);
        status = append_importer(runtime, entry);
        pthread_mutex_unlock(&runtime->importers_lock);
    }
    if (status == TN_OK) return TN_OK;
    status = tn_error_at(status, "importer '%.100s'", name ? name : "");
    tn_deallocate(&runtime->allocator, entry);
    return status;
}

void tn_importers_remove_library(tn_runtime *runtime, const tn_loaded_library *library) {
    pthread_mutex_lock(&runtime->importers_lock);
    for (size_t i = 0; i < runtime->importer_count; i++)
        if (runtime->importers[i]->library == library) runtime->importers[i]->is_removed = true;
    pthread_mutex_unlock(&runtime->importers_lock);
}

const tn_importer_entry *tn_importers_next(tn_runtime *runtime, size_t *inout_index) {
    const tn_importer_entry *found = NULL;
    pthread_mutex_lock(&runtime->importers_lock);
    while (!found && *inout_index < runtime->importer_count) {
        const tn_importer_entry *entry = runtime->importers[(*inout_index)++];
        if (!entry->is_removed) found = entry;
    }
    if (found && found->library) tn_library_retain(found->library);
    pthread_mutex_unlock(&runtime->importers_lock);
    return found;
}

void tn_importers_release(const tn_importer_entry *entry) {
    if (entry && entry->library) tn_library_release(entry->library);
}

void tn_importers_deinit(tn_runtime *runtime) {
    for (size_t i = 0; i < runtime->importer_count; i++)
        tn_deallocate(&runtime->allocator, runtime->importers[i]);
    tn_deallocate(&runtime->allocator, runtime->importers);
    runtime->importers = NULL;
    runtime->importer_count = 0;
}

tn_status tn_importers_add_linked(tn_runtime *runtime, const tn_importer *const *importers) {
    tn_status status = TN_OK;
    tn_runtime_begin_loading(runtime);
    if (!runtime->has_linked_importers) {
        size_t added = 0;
        for (; importers[added] && status == TN_OK; added++)
            status = tn_importers_add(runtime, NULL, importers[added]);
        runtime->has_linked_importers = status == TN_OK;
        if (status != TN_OK) tn_importers_remove_library(runtime, NULL); /* all, or none */
    }
    tn_runtime_end_loading(runtime);
    return status;
}

static tn_status host_add(const tn_host *host, tn_library *library, const tn_importer *importer) {
    tn_runtime *runtime = (tn_runtime *)(uintptr_t)host; /* its first member */
    tn_loaded_library *loading = atomic_load(&runtime->loading);
    if (!loading || loading->table != library)
        return tn_fail(TN_ERROR_STATE, "importers can be registered in the library's load alone");
    return tn_importers_add(runtime, loading, importer);
}

const tn_importers *tn_importers_services(void) {
    static const tn_importers services = {.size = sizeof(services), .add = host_add};
    return &services;
}

const char *tn_importers_folder(tn_runtime *runtime, size_t index) {
    if (index < 2) return runtime->importer_folders[index];
    index -= 2;
    return index < tn_runtime_search_path_count(runtime) ? tn_runtime_search_path(runtime, index)
                                                         : NULL;
}
