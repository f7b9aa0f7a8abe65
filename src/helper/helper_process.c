/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process; see helper_process.h. */
#include "helper/helper_process.h"
#include "base/process/child_process.h"
#include "base/file.h"
#include "base/status.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The three descriptors, above those that the helper gets. */
typedef struct descriptors {
    int items[3];
} descriptors;

static void close_all(const descriptors *all) {
    for (int i = 0; i < 3; i++)
        if (all->items[i] >= 0) close(all->items[i]);
}

static tn_status spawn(const char *program, const char *work, bool has_group,
                       const descriptors *all, pid_t *out_id) {
    char *const arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)work, NULL};
    const tn_child_descriptor its_own[] = {{all->items[0], TN_HELPER_SOCKET},
                                           {all->items[1], TN_HELPER_FIRST},
                                           {all->items[2], TN_HELPER_SECOND}};
    const tn_child_start start = {.arguments = arguments,
                                  .has_group = has_group,
                                  .descriptors = its_own,
                                  .descriptor_count = 3};
    const int failed = tn_child_process_start(&start, out_id);
    return failed ? tn_fail(TN_ERROR_IO, "the helper %s cannot be started: %s", program,
                            strerror(failed))
                  : TN_OK;
}

tn_status tn_helper_process_start(const char *program, const char *work, bool has_group, int first,
                                  int second, tn_helper_process *out_process) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return tn_fail(TN_ERROR_IO, "no socket for a helper process: %s", strerror(errno));
    const descriptors all = {{fcntl(sockets[1], F_DUPFD_CLOEXEC, 16),
                              fcntl(first, F_DUPFD_CLOEXEC, 16),
                              fcntl(second, F_DUPFD_CLOEXEC, 16)}};
    pid_t id = 0;
    const bool are_there = all.items[0] >= 0 && all.items[1] >= 0 && all.items[2] >= 0;
    const tn_status status = are_there
                                 ? spawn(program, work, has_group, &all, &id)
                                 : tn_fail(TN_ERROR_IO, "no file descriptors for a helper process");
    close_all(&all);
    close(sockets[1]);
    if (status != TN_OK) {
        close(sockets[0]);
        return status;
    }
    *out_process =
        (tn_helper_process){.id = id, .socket = sockets[0], .how = -1, .has_group = has_group};
    return TN_OK;
}

bool tn_helper_process_is_over(tn_helper_process *process) {
    if (process->id == 0 || process->is_over) return true;
    process->is_over = tn_child_process_has_ended(process->id, &process->how);
    return process->is_over;
}

void tn_helper_process_end(tn_helper_process *process) {
    if (process->id == 0) return;
    if (!tn_helper_process_is_over(process)) {
        tn_child_process_end(process->id, process->has_group);
        process->is_over = true;
    } else if (process->has_group) {
        kill(-process->id, SIGKILL); /* what it has left behind */
    }
    close(process->socket);
    process->id = 0;
}

/* ----------------------------------------------------------------------------------------------
 * the program */

static const char *find_beside(tn_arena *arena) {
    static const char *const folders[] = {"tenon", "../bin"};
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&tn_helper_program, &info) || !info.dli_fname) return NULL;
    const char *folder = tn_path_folder(arena, info.dli_fname);
    for (size_t i = 0; folder && i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[4096];
        const int length = snprintf(path, sizeof(path), "%s/%s/tenon-isolate", folder, folders[i]);
        if (length > 0 && (size_t)length < sizeof(path) && access(path, X_OK) == 0)
            return tn_arena_text(arena, path);
    }
    return NULL;
}

tn_status tn_helper_program(tn_arena *arena, const char *named, const char **out_path) {
    *out_path = named ? tn_arena_text(arena, named) : find_beside(arena);
    if (*out_path) return TN_OK;
    if (named) return tn_fail_memory("a path");
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "there is no helper program tenon-isolate beside the library: "
                   "install the package whole, or name it");
}

/* ----------------------------------------------------------------------------------------------
 * in the helper */

static void *watch_asker(void *user) {
    struct pollfd socket = {.fd = TN_HELPER_SOCKET, .events = POLLRDHUP};
    (void)user;
    for (;;)
        if (poll(&socket, 1, -1) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)))
            _exit(0);
}

void *tn_helper_map_page(size_t bytes) {
    struct stat about;
    if (fstat(TN_HELPER_FIRST, &about) != 0 || about.st_size < (off_t)bytes) return NULL;
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, TN_HELPER_FIRST, 0);
    if (page == MAP_FAILED) return NULL;
    return page;
}

bool tn_helper_watch(void) {
    pthread_t watcher;
    return pthread_create(&watcher, NULL, watch_asker, NULL) == 0;
}
