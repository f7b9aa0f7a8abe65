/* SPDX-License-Identifier: Apache-2.0 */
/* Options of an importer: from what a caller gives, maybe as text, to the table's struct. */
#include "base/status.h"
#include "base/text.h"
#include "import/reading.h"
#include "plugin/fields/fields_private.h"

#include <string.h>

static const tn_field *find_field(const tn_operator *options, const char *name) {
    for (uint32_t i = 0; i < options->field_count; i++) {
        const tn_field *field = tn_fields_at(options, i);
        if (strcmp(field->name, name) == 0) return field;
    }
    return NULL;
}

static tn_status fail_unknown(const tn_importer *importer, const tn_operator *options,
                              const char *name) {
    tn_nearest nearest;
    tn_nearest_init(&nearest, name);
    for (uint32_t i = 0; i < options->field_count; i++)
        tn_nearest_offer(&nearest, tn_fields_at(options, i)->name);
    return tn_error_mend_nearest(
        tn_fail(TN_ERROR_ARGUMENT, "the importer of %s ('%s') has no option '%s'%s", importer->what,
                importer->name, name, options->field_count > 0 ? "" : ": it has none"),
        "; ", nearest.best);
}

/* A text is a list of one where a list of texts is asked for. */
static tn_status read_text(tn_arena *arena, const tn_field *field, tn_attribute *value) {
    if (field->type == TN_FIELD_STRINGS) {
        const char **items = tn_arena_allocate(arena, 1, sizeof(*items));
        if (!items) return tn_fail_memory("an option");
        items[0] = value->s;
        value->type = TN_FIELD_STRINGS;
        value->count = 1;
        value->items = items;
        return TN_OK;
    }
    return tn_field_read_text(arena, field, value->s, value);
}

static tn_status read_option(tn_arena *arena, const tn_importer_entry *entry,
                             const tn_attribute *given, tn_attribute *out_value) {
    const tn_field *field = find_field(&entry->options, given->name);
    if (!field) return fail_unknown(&entry->importer, &entry->options, given->name);
    memcpy(out_value, given, given->size < sizeof(*given) ? given->size : sizeof(*given));
    out_value->size = sizeof(*out_value);
    if (out_value->type == TN_FIELD_STRING && !out_value->s)
        return tn_fail(TN_ERROR_ARGUMENT, "option '%s' is a null text", given->name);
    return out_value->type == TN_FIELD_STRING && field->type != TN_FIELD_STRING
               ? read_text(arena, field, out_value)
               : TN_OK;
}

static tn_status check_required(const tn_importer_entry *entry, uint64_t count,
                                const tn_attribute *const *values) {
    for (uint32_t i = 0; i < entry->options.field_count; i++) {
        const tn_field *field = tn_fields_at(&entry->options, i);
        bool is_given = !(field->flags & TN_REQUIRED);
        for (uint64_t k = 0; k < count && !is_given; k++)
            is_given = strcmp(values[k]->name, field->name) == 0;
        if (!is_given)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "the importer of %s ('%s') needs the option '%s' (%s)",
                           entry->importer.what, entry->importer.name, field->name,
                           field->doc ? field->doc : tn_field_type_name(field->type));
    }
    return TN_OK;
}

tn_status tn_importer_options(tn_arena *arena, const tn_importer_entry *entry, uint64_t count,
                              const tn_attribute *const *options, const void **out_params) {
    void *params = NULL;
    if (count > 1000 || (count > 0 && !options))
        return tn_fail(TN_ERROR_ARGUMENT, "options are counted, but their list is not there");
    const tn_attribute **list = tn_arena_allocate(arena, (size_t)count, sizeof(*list));
    tn_attribute *values = tn_arena_allocate(arena, (size_t)count, sizeof(*values));
    if (!list || !values) return tn_fail_memory("options");
    for (uint64_t i = 0; i < count; i++) {
        if (!options[i] || options[i]->size < offsetof(tn_attribute, i) || !options[i]->name)
            return tn_fail(TN_ERROR_ARGUMENT, "option %llu is null, or has no name",
                           (unsigned long long)i);
        TN_TRY(read_option(arena, entry, options[i], &values[i]));
        list[i] = &values[i];
    }
    TN_TRY(check_required(entry, count, list));
    if (entry->options.field_count > 0)
        TN_TRY(tn_error_at(tn_fields_parse(arena, &entry->options, count, list, &params),
                           "options of the importer '%s'", entry->importer.name));
    *out_params = params;
    return TN_OK;
}
