/* SPDX-License-Identifier: Apache-2.0 */
/* tn_threads, see tenon/threads.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_THREADS_HPP
#define TENON_CPP_THREADS_HPP

#include <tenon/cpp/handle.hpp>
#include <tenon/threads.h>

namespace tenon {

/* get() is for tn_engine_options.shared_threads. */
class Threads : public Shared<tn_threads, tn_threads_retain, tn_threads_release> {
  public:
    using Shared::Shared;
    /* 0: as many as this process has processors. */
    static Threads create(uint32_t count = 0) {
        return Threads(detail::made<tn_threads>(
            [&](tn_threads **out) { return tn_threads_create(count, out); }));
    }
    uint32_t count() const noexcept { return tn_threads_count(get()); }
    uint32_t free() const noexcept { return tn_threads_free(get()); }
};

} // namespace tenon

#endif
