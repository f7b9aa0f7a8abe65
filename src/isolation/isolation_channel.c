/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory, descriptors over a socket, and waiting; see isolation_channel.h. */
#include "isolation/isolation_channel.h"
#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * memory */

tn_status tn_isolation_share(size_t bytes, int *out_descriptor, void **out_memory) {
    const int descriptor = memfd_create("tenon", MFD_CLOEXEC);
    if (descriptor < 0 || bytes > (size_t)INT64_MAX || ftruncate(descriptor, (off_t)bytes) != 0) {
        const int reason = errno;
        if (descriptor >= 0) close(descriptor);
        return tn_fail(TN_ERROR_MEMORY, "no shared memory of %zu bytes: %s", bytes,
                       strerror(reason));
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        close(descriptor);
        return tn_fail(TN_ERROR_MEMORY, "no memory for %zu shared bytes", bytes);
    }
    *out_descriptor = descriptor;
    *out_memory = memory;
    return TN_OK;
}

typedef union rights {
    struct cmsghdr header;
    char data[CMSG_SPACE(sizeof(int))];
} rights;

bool tn_isolation_send(int socket, int descriptor) {
    char byte = 'b';
    struct iovec part = {&byte, 1};
    rights control = {.data = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.data,
                             .msg_controllen = sizeof(control.data)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == 1;
}

bool tn_isolation_receive(int socket, int *out_descriptor) {
    char byte;
    struct iovec part = {&byte, 1};
    rights control = {.data = {0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.data,
                             .msg_controllen = sizeof(control.data)};
    ssize_t received;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    const struct cmsghdr *header = received == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
        return false;
    memcpy(out_descriptor, CMSG_DATA(header), sizeof(int));
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * waiting: whoever is about to sleep says so first and looks once more; whoever writes, writes
 * first and looks then whether somebody sleeps */

/* The kernel's word is a plain one. */
static uint32_t *word_of(_Atomic uint32_t *word) {
    return (uint32_t *)(uintptr_t)word;
}

static void sleep_until_changed(_Atomic uint32_t *word, uint32_t seen, uint64_t ns) {
    const struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, word_of(word), FUTEX_WAIT, seen, ns == UINT64_MAX ? NULL : &time, NULL, 0);
}

static void wake(_Atomic uint32_t *word, _Atomic uint32_t *sleeps) {
    if (atomic_load(sleeps)) syscall(SYS_futex, word_of(word), FUTEX_WAKE, 1, NULL, NULL, 0);
}

void tn_isolation_ask(tn_isolation_page *page) {
    atomic_fetch_add(&page->asked, 1);
    wake(&page->asked, &page->helper_sleeps);
}

void tn_isolation_answer(tn_isolation_page *page) {
    atomic_store(&page->answered, atomic_load(&page->asked));
    wake(&page->answered, &page->asker_sleeps);
}

static uint64_t spin_ns(tn_isolation_patience *patience) {
    const bool is_probe = ++patience->polls % 32 == 0;
    return patience->in_vain < 2 || is_probe ? TN_ISOLATION_SPIN_NS : TN_ISOLATION_GLANCE_NS;
}

/* Whether the two numbers become equal (or not) while it looks. */
static bool spin(tn_isolation_page *page, tn_isolation_patience *patience, bool wants_equal) {
    if (!patience || patience->is_alone) return false;
    const uint64_t end = tn_now_ns() + spin_ns(patience);
    do {
        for (int i = 0; i < 64; i++) {
            if ((atomic_load(&page->asked) == atomic_load(&page->answered)) == wants_equal) {
                patience->in_vain = 0;
                return true;
            }
            tn_pause();
        }
    } while (tn_now_ns() < end);
    patience->in_vain++;
    return false;
}

bool tn_isolation_await_answer(tn_isolation_page *page, tn_isolation_patience *patience,
                               uint64_t ns) {
    const uint32_t asked = atomic_load(&page->asked);
    if (spin(page, patience, true)) return true;
    atomic_store(&page->asker_sleeps, 1);
    const uint32_t seen = atomic_load(&page->answered);
    if (seen != asked) sleep_until_changed(&page->answered, seen, ns);
    atomic_store(&page->asker_sleeps, 0);
    return atomic_load(&page->answered) == asked;
}

void tn_isolation_await_request(tn_isolation_page *page, tn_isolation_patience *patience) {
    if (spin(page, patience, false)) return;
    for (;;) {
        const uint32_t answered = atomic_load(&page->answered);
        atomic_store(&page->helper_sleeps, 1);
        const uint32_t seen = atomic_load(&page->asked);
        if (seen == answered) sleep_until_changed(&page->asked, seen, UINT64_MAX);
        atomic_store(&page->helper_sleeps, 0);
        if (atomic_load(&page->asked) != answered) return;
    }
}
