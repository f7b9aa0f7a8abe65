/* SPDX-License-Identifier: Apache-2.0 */
/* What a helper process answers that has read a model: its log, an error, or the graph. Everything
 * is taken as any bytes, and none of it can change once it is looked at. */
#include "base/status.h"
#include "import/isolated_asking.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS_AT_MOST ((uint64_t)1 << 40)
#define SEAL_TRIES      200

void tn_isolated_clean(char *text, size_t capacity) {
    text[capacity - 1] = 0;
    for (char *at = text; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\n' && *at != '\t') || *at == 127) *at = '?';
}

void tn_isolated_copy_clean(char *to, const char *from, size_t capacity) {
    memcpy(to, from, capacity);
    tn_isolated_clean(to, capacity);
}

/* ----------------------------------------------------------------------------------------------
 * the answer */

static void hand_on_log(const tn_isolated_asking *a) {
    uint32_t left = a->page->log_bytes;
    const char *at = a->page->log;
    if (left > sizeof(a->page->log)) left = 0;
    while (left > 2) {
        const size_t length = strnlen(at + 1, left - 1);
        const uint32_t level = (unsigned char)at[0];
        if (length == left - 1) return;
        tn_runtime_log(a->runtime,
                       level < TN_LOG_ERROR || level > TN_LOG_DEBUG ? TN_LOG_WARNING : level, "%s",
                       at + 1);
        at += length + 2;
        left -= (uint32_t)length + 2;
    }
}

static tn_status take_error(const tn_isolated_asking *a) {
    tn_error_copy error = a->page->error;
    tn_isolated_clean(error.message, sizeof(error.message));
    tn_isolated_clean(error.where, sizeof(error.where));
    tn_isolated_clean(error.node, sizeof(error.node));
    tn_isolated_clean(error.op, sizeof(error.op));
    tn_isolated_clean(error.library, sizeof(error.library));
    tn_isolated_clean(error.file, sizeof(error.file));
    tn_isolated_clean(error.mend, sizeof(error.mend));
    if (error.status <= TN_OK || error.status > TN_ERROR_INTERNAL)
        return tn_fail(TN_ERROR_PLUGIN, "the helper process gave no reason why it failed");
    tn_error_restore(&error);
    return error.status;
}

/* Without the records and the request; nobody can change it any more. A process that the helper has
 * left behind may take a moment to end. */
static tn_status seal(int file, uint64_t begin, uint64_t end) {
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
    if (begin > 0)
        (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)begin);
    if (ftruncate(file, (off_t)end) != 0)
        return tn_fail(TN_ERROR_PLUGIN, "what it handed over cannot be cut: %s", strerror(errno));
    for (int i = 0; i < SEAL_TRIES; i++) {
        if (fcntl(file, F_ADD_SEALS, seals) == 0) return TN_OK;
        if (errno != EBUSY) break;
        (void)usleep(1000);
    }
    return tn_fail(TN_ERROR_PLUGIN, "what it handed over cannot be sealed: %s", strerror(errno));
}

static tn_status map_data(int file, uint64_t begin, uint64_t bytes, tn_file *out_data) {
    struct stat about;
    if (bytes == 0) return TN_OK;
    TN_TRY(seal(file, begin, begin + bytes));
    if (fstat(file, &about) != 0 || (uint64_t)about.st_size < begin + bytes)
        return tn_fail(TN_ERROR_PLUGIN, "it handed over less than it says");
    void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, (off_t)begin);
    if (data == MAP_FAILED) return tn_fail_memory("a model that was handed over");
    *out_data = (tn_file){.data = data, .bytes = (size_t)bytes, .is_mapped = true};
    return TN_OK;
}

static tn_status read_records(tn_isolated_asking *a, uint64_t begin, uint64_t bytes) {
    uint64_t done = 0;
    a->records = tn_allocate(tn_runtime_allocator(a->runtime), (size_t)bytes);
    if (!a->records) return tn_fail_memory("a model that was handed over");
    while (done < bytes) {
        const ssize_t got = pread(a->file, (char *)a->records + done, (size_t)(bytes - done),
                                  (off_t)(begin + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return tn_fail(TN_ERROR_PLUGIN, "it handed over less than it says");
        done += (uint64_t)got;
    }
    return TN_OK;
}

/* The four numbers as they are now: nobody changes the copies. */
static tn_status take_parcel(tn_isolated_asking *a, tn_isolated_parcel *parcel) {
    const uint64_t data_begin =
        (a->request.bytes + (a->from->path ? 0 : a->from->bytes) + TN_ISOLATED_PAGE - 1) /
        TN_ISOLATED_PAGE * TN_ISOLATED_PAGE;
    const uint64_t data_bytes = a->page->data_bytes, begin = a->page->records_begin,
                   bytes = a->page->records_bytes;
    struct stat about;
    if (fstat(a->file, &about) != 0 || bytes == 0 || bytes > RECORDS_AT_MOST ||
        begin < data_begin || begin > (uint64_t)about.st_size ||
        bytes > (uint64_t)about.st_size - begin || data_bytes > begin - data_begin)
        return tn_fail(TN_ERROR_PLUGIN, "it handed over less than it says");
    TN_TRY(read_records(a, begin, bytes));
    parcel->records = a->records;
    parcel->record_bytes = (size_t)bytes;
    return map_data(a->file, data_begin, data_bytes, &parcel->data);
}

tn_status tn_isolated_take_answer(tn_isolated_asking *a, tn_graph **out_graph) {
    tn_isolated_parcel parcel = {0};
    hand_on_log(a);
    if (a->page->status != TN_OK) return take_error(a);
    tn_helper_process_end(&a->process);
    tn_status status = take_parcel(a, &parcel);
    if (status != TN_OK)
        status = a->from->path ? tn_error_in(status, .file = a->from->path) : status;
    else
        status = tn_isolated_unpack(a->runtime, a->from, &parcel, out_graph);
    tn_file_unmap(&parcel.data);
    return status;
}
