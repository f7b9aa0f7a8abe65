/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a plan: checks the file's layout, unpacks the description, and makes the graph, profiles
 * and programs from it in one pass. Weights stay where they are. The parts are in read_*.c.
 */
#include "plan/read/reader.h"

#include "base/status.h"
#include "base/wire.h"

#include <stdio.h>

tn_status tn_plan_reader_fail(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof(text), format, arguments) < 0) text[0] = '\0';
    va_end(arguments);
    return tn_fail(TN_ERROR_FORMAT, "the plan is damaged: %s", text);
}

tn_status tn_plan_reader_shape(size_t rank, const int64_t *extents, tn_shape *out_shape) {
    if (rank > TN_MAX_RANK)
        return tn_plan_reader_fail("a shape has rank %zu; at most %d is possible", rank,
                                   TN_MAX_RANK);
    return tn_shape_set(out_shape, (uint32_t)rank, extents);
}

tn_status tn_plan_reader_check_elements(tn_type type, const tn_shape *shape, const void *data,
                                        size_t bytes) {
    size_t expected;
    if (!tn_type_is_valid(type))
        return tn_plan_reader_fail("there is no element type %u", (unsigned)type);
    if (type == TN_STRING) return tn_plan_reader_fail("strings are where only numbers can be");
    TN_TRY(tn_format_bytes(TN_LINEAR, type, shape, &expected));
    if (bytes != expected) {
        char text[TN_SHAPE_TEXT_BYTES];
        return tn_plan_reader_fail("%s of %s takes %zu bytes, but has %zu",
                                   tn_shape_print(shape->rank, shape->extents, text, sizeof(text)),
                                   tn_type_name(type), expected, bytes);
    }
    if (type != TN_BOOL) return TN_OK;
    for (size_t i = 0; i < bytes; i++)
        if (((const unsigned char *)data)[i] > 1)
            return tn_plan_reader_fail("element %zu of a bool tensor is neither 0 nor 1", i);
    return TN_OK;
}

static tn_status find_bytes(const tn_plan_reader *reader, const tn_plan_section *section,
                            const char *what, uint64_t offset, uint64_t bytes,
                            const void **out_data) {
    const tn_plan_pieces *pieces = reader->options->pieces;
    if (offset % TN_PLAN_WEIGHT_ALIGNMENT != 0 || offset > section->bytes ||
        bytes > section->bytes - offset)
        return tn_plan_reader_fail("%s of %llu bytes at %llu is not inside the weights' "
                                   "%zu bytes, or not aligned",
                                   what, (unsigned long long)bytes, (unsigned long long)offset,
                                   section->bytes);
    if (!pieces || bytes == 0) {
        *out_data = pieces ? reader->file : reader->file + section->offset + offset;
        return TN_OK;
    }
    *out_data = tn_plan_pieces_find(pieces, section->offset + (size_t)offset, (size_t)bytes);
    if (*out_data) return TN_OK;
    return tn_plan_reader_fail("%s of %llu bytes at %llu is not a weight that was written", what,
                               (unsigned long long)bytes, (unsigned long long)offset);
}

tn_status tn_plan_reader_bytes(const tn_plan_reader *reader, const char *what, uint64_t offset,
                               uint64_t bytes, const void **out_data) {
    return find_bytes(reader, reader->weights, what, offset, bytes, out_data);
}

tn_status tn_plan_reader_packed(const tn_plan_reader *reader, uint64_t offset, uint64_t bytes,
                                const void **out_data) {
    if (!reader->packed)
        return tn_plan_reader_fail("it has packed weights, but no section of them");
    return find_bytes(reader, reader->packed, "packed weights", offset, bytes, out_data);
}

tn_status tn_plan_reader_note(const tn_plan_reader *reader, const tn_constant_note *of,
                              tn_constant_note **out_note) {
    *out_note = NULL;
    if (!reader->plan->has_checksums || of->bytes == 0) return TN_OK;
    tn_constant_note *note = tn_arena_copy(reader->contents.graph->arena, of, sizeof(*of));
    if (!note) return tn_fail_memory("what a plan says of a constant");
    note->name = tn_arena_text(reader->contents.graph->arena, of->name);
    if (!note->name) return tn_fail_memory("what a plan says of a constant");
    if (reader->options->pieces)
        note->is_verified = true; /* this process computed the checksum, of this memory */
    else
        note->file_offset = (uint64_t)((const unsigned char *)of->data - reader->file);
    *out_note = note;
    return TN_OK;
}

tn_status tn_plan_reader_weight(const tn_plan_reader *reader, tn_type type, const tn_shape *shape,
                                const tn_constant_note *part, uint64_t offset,
                                const void **out_data, tn_constant_note **out_note) {
    tn_constant_note known = *part;
    TN_TRY(tn_plan_reader_bytes(reader, "a constant", offset, part->bytes, &known.data));
    TN_TRY(tn_plan_reader_note(reader, &known, out_note));
    TN_TRY(tn_plan_reader_check_elements(type, shape, known.data, part->bytes));
    if (part->bytes < TN_PLAN_SMALL || type == TN_BOOL) TN_TRY(tn_constant_note_verify(*out_note));
    *out_data = part->bytes > 0 ? known.data : NULL;
    return TN_OK;
}

/* Sections whose parts have no checksums of their own, or all of them. */
static tn_status verify_sections(const tn_plan_reader *reader, const tn_plan_layout *layout,
                                 bool is_described) {
    for (uint32_t i = 0; i < layout->section_count; i++) {
        const tn_plan_section *section = &layout->sections[i];
        const bool has_parts =
            section->kind == TN_SECTION_WEIGHTS || section->kind == TN_SECTION_PACKED;
        if (has_parts != is_described) continue;
        if (has_parts && reader->plan->has_checksums && !reader->options->verifies_all &&
            reader->options->body_depth == 0)
            continue;
        TN_TRY(tn_plan_layout_verify(reader->file, layout, section));
    }
    return TN_OK;
}

static tn_status find_sections(tn_plan_reader *reader) {
    reader->weights = tn_plan_layout_find(&reader->layout, TN_SECTION_WEIGHTS);
    reader->packed = tn_plan_layout_find(&reader->layout, TN_SECTION_PACKED);
    if (!reader->weights || !tn_plan_layout_find(&reader->layout, TN_SECTION_DESCRIPTION))
        return tn_plan_reader_fail("it has no %s", reader->weights ? "description" : "weights");
    if (!reader->options->pieces &&
        (uintptr_t)(reader->file + reader->weights->offset) % TN_PLAN_WEIGHT_ALIGNMENT != 0)
        return tn_fail(TN_ERROR_INTERNAL, "a plan's memory is not aligned to 64 bytes");
    return TN_OK;
}

static tn_status unpack_description(tn_plan_reader *reader) {
    const tn_plan_section *description =
        tn_plan_layout_find(&reader->layout, TN_SECTION_DESCRIPTION);
    ProtobufCMessage *message;
    TN_TRY(tn_error_shift(tn_wire_unpack(reader->allocator, &tenon__plan__plan__descriptor,
                                         reader->file + description->offset, description->bytes,
                                         &message),
                          description->offset));
    reader->plan = (Tenon__Plan__Plan *)message;
    return TN_OK;
}

/* Pieces are this process' own: there is no file that could be damaged. */
static tn_status open_pieces(tn_plan_reader *reader) {
    reader->file = reader->options->pieces->head;
    reader->layout = reader->options->pieces->layout;
    TN_TRY(find_sections(reader));
    return unpack_description(reader);
}

tn_status tn_plan_reader_open(tn_plan_reader *reader, const tn_file *file) {
    if (reader->options->pieces) return open_pieces(reader);
    reader->file = file->data;
    TN_TRY(tn_plan_layout_read(file->data, file->bytes, &reader->layout));
    TN_TRY(verify_sections(reader, &reader->layout, false));
    TN_TRY(find_sections(reader));
    TN_TRY(unpack_description(reader));
    return verify_sections(reader, &reader->layout, true);
}

/* The graph takes the file over. */
static tn_status make_graph(tn_plan_reader *reader, tn_file *file) {
    TN_TRY(tn_arena_create(reader->allocator, &reader->scratch));
    TN_TRY(tn_arena_create(reader->allocator, &reader->contents.arena));
    TN_TRY(tn_graph_create(reader->runtime, reader->plan->name, &reader->contents.graph));
    return reader->options->pieces ? TN_OK : tn_graph_own_file(reader->contents.graph, file);
}

static tn_status read_all(tn_plan_reader *reader, tn_file *file) {
    TN_TRY(tn_plan_reader_open(reader, file));
    TN_TRY(make_graph(reader, file));
    TN_TRY(tn_plan_read_model(reader));
    TN_TRY(tn_plan_read_manifest(reader));
    TN_TRY(tn_plan_read_tensors(reader));
    TN_TRY(tn_plan_read_nodes(reader));
    TN_TRY(tn_plan_check_refit(reader));
    TN_TRY(tn_plan_read_outputs(reader));
    TN_TRY(tn_graph_check_kinds(reader->contents.graph));
    TN_TRY(tn_plan_read_profiles(reader));
    if (reader->options->body_depth > 0) return TN_OK;
    return tn_plan_read_programs(reader);
}

/* What is wrong with a plan's numbers is a damaged file, whoever found it. */
static tn_status fail_read(tn_status status, const char *name, bool is_file) {
    tn_error_copy error;
    tn_error_save(&error);
    if (status == TN_ERROR_ARGUMENT || status == TN_ERROR_SHAPE || status == TN_ERROR_TYPE ||
        status == TN_ERROR_RANGE)
        error.status = TN_ERROR_FORMAT;
    tn_error_restore(&error);
    return is_file ? tn_error_in(error.status, .file = name)
                   : tn_error_at(error.status, "%s", name);
}

void tn_plan_reader_deinit(tn_plan_reader *reader) {
    for (size_t i = 0; reader->operators && i < reader->plan->n_operators; i++)
        if (reader->operators[i]) tn_library_release(reader->operators[i]->library);
    tn_wire_free(reader->allocator, reader->plan ? &reader->plan->base : NULL);
    tn_arena_destroy(reader->scratch);
}

tn_status tn_plan_read(tn_runtime *runtime, tn_file *file, const char *name,
                       const tn_plan_read_options *options, tn_plan_contents *out_contents) {
    static const tn_plan_read_options no_options;
    tn_plan_reader reader = {.runtime = runtime,
                             .allocator = tn_runtime_allocator(runtime),
                             .options = options ? options : &no_options};
    const bool is_file = file->is_mapped;
    tn_status status = read_all(&reader, file);
    if (status == TN_OK) {
        *out_contents = reader.contents;
    } else {
        tn_error_copy error;
        status = fail_read(status, name, is_file);
        tn_error_save(&error);
        tn_plan_contents_deinit(&reader.contents);
        tn_error_restore(&error);
    }
    tn_plan_reader_deinit(&reader);
    tn_file_unmap(file); /* when the graph did not get it */
    return status;
}

void tn_plan_contents_deinit(tn_plan_contents *contents) {
    tn_graph_destroy(contents->graph);
    for (uint32_t i = 0; i < contents->library_count; i++)
        if (contents->libraries[i]) tn_library_release(contents->libraries[i]);
    tn_arena_destroy(contents->arena);
    tn_device_give_back(&contents->device);
    *contents = (tn_plan_contents){0};
}
