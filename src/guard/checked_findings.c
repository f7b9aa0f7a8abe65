/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found after a guarded call, in the order of how much it explains: faults, damaged slack,
 * changed descriptors and inputs, outputs that nobody wrote, numbers that are not finite. Declared
 * in checked_call.h.
 */
#include "guard/checked_call.h"
#include "guard/poison.h"
#include "tensor/npy.h"
#include "tensor/string.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <signal.h>

/* ----------------------------------------------------------------------------------------------
 * names */

enum { NAME_BYTES = 300 };

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"?", "input", "operand", "output", "workspace"};
    return names[kind <= TN_CHECKED_WORKSPACE ? kind : 0];
}

/* "output 0 'y' (400 bytes)" */
static const char *name_slot(const tn_checked_slot *slot, char *text) {
    if (slot->kind == TN_CHECKED_WORKSPACE)
        snprintf(text, NAME_BYTES, "the workspace (%zu bytes, as reshape answered)",
                 slot->guard->bytes);
    else
        snprintf(text, NAME_BYTES, "%s %u '%.200s' (%llu bytes)", kind_name(slot->kind),
                 slot->index, slot->copy.name ? slot->copy.name : "",
                 (unsigned long long)slot->original->bytes);
    return text;
}

/* "[0, 2, 5]" of an element of a linear tensor, else its index in memory. */
static const char *name_element(const tn_tensor *tensor, size_t index, char *text) {
    int64_t indices[TN_MAX_RANK] = {0};
    if (tensor->format != TN_LINEAR || tensor->rank > TN_MAX_RANK) {
        snprintf(text, NAME_BYTES, "at element %zu of its %s memory", index,
                 tn_format_name(tensor->format));
        return text;
    }
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        const size_t extent = tensor->shape[axis] > 0 ? (size_t)tensor->shape[axis] : 1;
        indices[axis] = (int64_t)(index % extent);
        index /= extent;
    }
    return tn_shape_print(tensor->rank, indices, text, NAME_BYTES);
}

/* ----------------------------------------------------------------------------------------------
 * memory */

static const char *signal_text(int number) {
    switch (number) {
    case SIGABRT:
        return "was aborted (abort, an assertion, or the C library's own checks)";
    case SIGFPE:
        return "did arithmetic that faults (a division of integers by zero?)";
    case SIGILL:
        return "ran an instruction that this processor does not have";
    case SIGBUS:
        return "touched memory behind the end of a file, or badly aligned";
    default:
        return "touched memory that is not there";
    }
}

static tn_status fail_crash(const tn_fault_watch *watch) {
    if (watch->signal == SIGSEGV || watch->signal == SIGBUS)
        return tn_fail(TN_ERROR_PLUGIN, "the code %s: signal %d at address %p, %s",
                       signal_text(watch->signal), watch->signal, (const void *)watch->address,
                       (uintptr_t)watch->address < 65536 ? "near null" : "which is no tensor's");
    return tn_fail(TN_ERROR_PLUGIN, "the code %s: signal %d", signal_text(watch->signal),
                   watch->signal);
}

static tn_status fail_outside(const tn_checked_slot *slot, ptrdiff_t offset, const char *verb) {
    char name[NAME_BYTES];
    name_slot(slot, name);
    if (offset < 0)
        return tn_fail(TN_ERROR_PLUGIN, "the code %s %zu bytes before the start of %s", verb,
                       (size_t)-offset, name);
    return tn_fail(TN_ERROR_PLUGIN, "the code %s %zu bytes past the end of %s", verb,
                   (size_t)offset - slot->guard->bytes, name);
}

static tn_status judge_fault(const tn_checked *checked) {
    const tn_fault_watch *watch = &checked->watch;
    char name[NAME_BYTES];
    for (size_t i = 0; watch->hit && i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (slot->guard != watch->hit) continue;
        const ptrdiff_t offset = watch->address - watch->hit->data;
        if (offset >= 0 && (size_t)offset < watch->hit->bytes)
            return tn_fail(TN_ERROR_PLUGIN, "the code writes %s, %zu bytes from its start",
                           name_slot(slot, name), (size_t)offset);
        return fail_outside(slot, offset, watch->is_write ? "writes" : "reads");
    }
    return fail_crash(watch);
}

static tn_status judge_slack(const tn_checked *checked) {
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        ptrdiff_t offset = 0;
        if (slot->guard && !slot->is_shared && tn_guard_is_damaged(slot->guard, &offset))
            return fail_outside(slot, offset, "wrote");
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * inputs and descriptors */

static bool is_descriptor_kept(const tn_checked_slot *slot) {
    const tn_tensor *a = slot->original, *b = &slot->copy;
    const void *data = slot->shown ? slot->shown : slot->guard ? slot->guard->data : a->data;
    return a->type == b->type && a->format == b->format && a->rank == b->rank && b->data == data &&
           a->bytes == b->bytes && a->shape == b->shape && a->strides == b->strides &&
           a->heap == b->heap;
}

static tn_status judge_inputs(const tn_checked *checked) {
    char name[NAME_BYTES];
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (slot->kind == TN_CHECKED_WORKSPACE) continue;
        if (!is_descriptor_kept(slot))
            return tn_fail(TN_ERROR_PLUGIN, "the code changed the description of %s",
                           name_slot(slot, name));
        if (slot->kind == TN_CHECKED_OUTPUT || slot->is_overwritten || slot->is_shared ||
            !slot->guard || slot->original->bytes == 0)
            continue;
        if (memcmp(slot->guard->data, slot->original->data, slot->guard->bytes) != 0)
            return tn_fail(
                TN_ERROR_PLUGIN,
                "%s is not what it was before: the code wrote it through a pointer of an "
                "earlier callback, or unlocked it",
                name_slot(slot, name));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * numbers */

size_t tn_checked_output_bytes(const tn_checked_slot *slot) {
    const tn_tensor *tensor = slot->original;
    size_t bytes = (size_t)tensor->bytes;
    tn_shape shape;
    if (!slot->guard) return 0;
    tn_error_copy before;
    tn_error_save(&before);
    if (tn_shape_set(&shape, tensor->rank, tensor->shape) != TN_OK ||
        tn_format_bytes(tensor->format, tensor->type, &shape, &bytes) != TN_OK)
        tn_error_restore(&before); /* whoever reads the shape says what is wrong with it */
    return bytes < tensor->bytes ? bytes : (size_t)tensor->bytes;
}

static tn_status judge_written(const tn_checked_slot *slot) {
    char name[NAME_BYTES], element[NAME_BYTES];
    size_t index = 0;
    if (slot->is_shared || !tn_poison_is_left(slot->guard->data, tn_checked_output_bytes(slot),
                                              slot->original->type, &index))
        return TN_OK;
    return tn_fail(
        TN_ERROR_PLUGIN,
        "the code left element %s of %s unwritten, or made it from memory that nobody has "
        "written",
        name_element(slot->original, index, element), name_slot(slot, name));
}

/* Whether an input has numbers that are not finite: then an output may. */
static bool has_excuse(const tn_checked *checked) {
    bool has_float = false;
    size_t index;
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (slot->kind != TN_CHECKED_INPUT && slot->kind != TN_CHECKED_OPERAND) continue;
        if (slot->original->kind) return true; /* its items are not looked at */
        if (!slot->guard || slot->original->bytes == 0) continue;
        has_float |= tn_type_is_float(slot->original->type);
        if (tn_poison_is_not_finite(slot->original->data, (size_t)slot->original->bytes,
                                    slot->original->type, &index))
            return true;
    }
    return !has_float; /* numbers that only fields decide */
}

static tn_status judge_finite(const tn_checked *checked, const tn_checked_slot *slot) {
    char name[NAME_BYTES], element[NAME_BYTES];
    size_t index = 0;
    const tn_type type = slot->original->type;
    if (!tn_poison_is_not_finite(slot->guard->data, tn_checked_output_bytes(slot), type, &index) ||
        has_excuse(checked))
        return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN, "element %s of %s is %g, and all of its inputs are finite",
                   name_element(slot->original, index, element), name_slot(slot, name),
                   tn_element_get_f64(slot->guard->data, type, index));
}

/* Elements point into the heap that append or share gave the output. */
static tn_status judge_strings(const tn_checked_slot *slot) {
    char name[NAME_BYTES];
    if (slot->original->type != TN_STRING || !slot->original->heap) return TN_OK;
    const size_t count = tn_checked_output_bytes(slot) / sizeof(tn_string);
    if (tn_strings_check(slot->guard->data, count, slot->original->heap) == TN_OK) return TN_OK;
    tn_error_copy found;
    tn_error_save(&found);
    return tn_fail(TN_ERROR_PLUGIN, "%s: %s", name_slot(slot, name), found.message);
}

static tn_status judge_outputs(const tn_checked *checked) {
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (slot->kind != TN_CHECKED_OUTPUT || !slot->guard) continue;
        TN_TRY(judge_written(slot));
        TN_TRY(judge_strings(slot));
        if (!checked->allows_not_finite) TN_TRY(judge_finite(checked, slot));
    }
    return TN_OK;
}

tn_status tn_checked_judge(const tn_checked *checked, bool is_returned) {
    if (!is_returned || tn_fault_is_noted(&checked->watch)) return judge_fault(checked);
    TN_TRY(judge_slack(checked));
    TN_TRY(judge_inputs(checked));
    return judge_outputs(checked);
}

/* ----------------------------------------------------------------------------------------------
 * dumps */

/* Letters, digits and a few signs stay; names are a file's, and paths are ours. */
static void append_name(char *path, size_t capacity, const char *name) {
    size_t at = strlen(path);
    for (size_t i = 0; name && name[i] && i < 80 && at + 1 < capacity; i++)
        path[at++] = isalnum((unsigned char)name[i]) || strchr("_-", name[i]) ? name[i] : '_';
    path[at] = 0;
}

tn_status tn_checked_dump(const tn_checked *checked, const tn_call *call) {
    char path[4096];
    if (mkdir(checked->dump_directory, 0777) != 0 && errno != EEXIST)
        return tn_fail(TN_ERROR_IO, "folder %s cannot be made: %s", checked->dump_directory,
                       strerror(errno));
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        if (!slot->original || !slot->guard || slot->original->type == TN_STRING) continue;
        tn_tensor tensor = *slot->original;
        if (slot->kind == TN_CHECKED_OUTPUT) tensor.data = slot->guard->data;
        if (strlen(checked->dump_directory) + 256 > sizeof(path))
            return tn_fail(TN_ERROR_IO, "the folder's name is too long");
        snprintf(path, sizeof(path), "%s/", checked->dump_directory);
        append_name(path, sizeof(path), call->node);
        snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%s%u.", kind_name(slot->kind),
                 slot->index);
        append_name(path, sizeof(path), tensor.name);
        snprintf(path + strlen(path), sizeof(path) - strlen(path), ".npy");
        TN_TRY(tn_npy_write(checked->allocator, path, &tensor));
    }
    return TN_OK;
}
