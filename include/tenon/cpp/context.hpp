/* SPDX-License-Identifier: Apache-2.0 */
/* tn_context, see tenon/engine.h, tenon/async.h, tenon/border.h, tenon/context_memory.h,
 * tenon/output_allocator.h and tenon/profiles.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_CONTEXT_HPP
#define TENON_CPP_CONTEXT_HPP

#include <cstddef>
#include <initializer_list>
#include <tenon/async.h>
#include <tenon/border.h>
#include <tenon/cpp/device.hpp>
#include <tenon/cpp/engine.hpp>
#include <tenon/output_allocator.h>

namespace tenon {
namespace detail {

/* A callable that is lent, as tn_output_allocate: what it throws is no memory. */
template <class Function>
void *allocate_output(void *user, uint32_t output, uint64_t bytes, uint64_t alignment) noexcept {
    try {
        return (*static_cast<Function *>(user))(output, bytes, alignment);
    } catch (...) {
        return nullptr;
    }
}
template <class Function> void *lent(Function &function) noexcept {
    return const_cast<void *>(static_cast<const void *>(std::addressof(function)));
}
/* A callable that is owned, as `done` of a run. */
template <class Function> void call_done(void *user, tn_status status) noexcept {
    const std::unique_ptr<Function> owner(static_cast<Function *>(user));
    (*owner)(status);
}

} // namespace detail

class Context : public Owned<tn_context, tn_context_destroy> {
  public:
    using Owned::Owned;
    explicit Context(const Engine &engine)
        : Owned(detail::made<tn_context>(
              [&](tn_context **out) { return tn_context_create(engine.get(), out); })) {}
    Context(const Engine &engine, const tn_context_options &options)
        : Owned(detail::made<tn_context>([&](tn_context **out) {
              return tn_context_create_with(engine.get(), &options, out);
          })) {}

    void set_shape(uint32_t input, uint32_t rank, const int64_t *extents) {
        check(tn_context_set_shape(get(), input, rank, extents));
    }
    void set_shape(uint32_t input, std::initializer_list<int64_t> shape) {
        set_shape(input, static_cast<uint32_t>(shape.size()), shape.begin());
    }
    void set_shape(uint32_t input, const Shape &shape) {
        set_shape(input, static_cast<uint32_t>(shape.size()), shape.data());
    }

    /* What is bound is lent: it must live until the run is over. */
    void bind_input(uint32_t input, const void *data, uint64_t bytes) {
        check(tn_context_bind_input(get(), input, data, bytes));
    }
    void *lend_input(uint32_t input, uint64_t bytes) {
        void *data = nullptr;
        check(tn_context_lend_input(get(), input, bytes, &data));
        return data;
    }
    void bind_output(uint32_t output, void *data, uint64_t bytes) {
        check(tn_context_bind_output(get(), output, data, bytes));
    }
    void bind_device_input(uint32_t input, const void *device_data, uint64_t bytes) {
        check(tn_context_bind_device_input(get(), input, device_data, bytes));
    }
    void bind_device_output(uint32_t output, void *device_data, uint64_t bytes) {
        check(tn_context_bind_device_output(get(), output, device_data, bytes));
    }
    void bind_count(uint32_t input, uint32_t axis, int64_t *count) {
        check(tn_context_bind_count(get(), input, axis, count));
    }
    /* Of inputs that are no dense tensors: items are copied. */
    void clear_items(uint32_t input) { check(tn_context_clear_items(get(), input)); }
    /* An optional of a sequence has one, without items so far. */
    void set_element(uint32_t input) { check(tn_context_set_element(get(), input)); }
    void append_item(uint32_t input, tn_type type, uint32_t rank, const int64_t *extents,
                     const void *data, uint64_t bytes) {
        check(tn_context_append_item(get(), input, type, rank, extents, data, bytes));
    }
    void append_item(uint32_t input, tn_type type, const Shape &shape, const void *data,
                     uint64_t bytes) {
        append_item(input, type, static_cast<uint32_t>(shape.size()), shape.data(), data, bytes);
    }
    /* Of such outputs, after a run; an item is valid until the next one. */
    uint64_t output_length(uint32_t output) {
        uint64_t length = 0;
        check(tn_context_output_length(get(), output, &length));
        return length;
    }
    const tn_tensor &output_item(uint32_t output, uint64_t index) {
        const tn_tensor *item = nullptr;
        check(tn_context_output_item(get(), output, index, &item));
        return *item;
    }
    bool output_has_element(uint32_t output) {
        bool has_element = false;
        check(tn_context_output_has_element(get(), output, &has_element));
        return has_element;
    }
    /* Strides count elements, one an axis. */
    void bind_input_strided(uint32_t input, const void *data, uint64_t bytes, uint32_t rank,
                            const int64_t *strides) {
        check(tn_context_bind_input_strided(get(), input, data, bytes, rank, strides));
    }
    void bind_input_strided(uint32_t input, const void *data, uint64_t bytes,
                            const Shape &strides) {
        bind_input_strided(input, data, bytes, static_cast<uint32_t>(strides.size()),
                           strides.data());
    }
    void bind_output_strided(uint32_t output, void *data, uint64_t bytes, uint32_t rank,
                             const int64_t *strides) {
        check(tn_context_bind_output_strided(get(), output, data, bytes, rank, strides));
    }
    void bind_output_strided(uint32_t output, void *data, uint64_t bytes, const Shape &strides) {
        bind_output_strided(output, data, bytes, static_cast<uint32_t>(strides.size()),
                            strides.data());
    }
    /* Both null: the context keeps memory of its own again. */
    void set_output_allocator(uint32_t output, tn_output_allocate allocate, void *user) {
        check(tn_context_set_output_allocator(get(), output, allocate, user));
    }
    void set_device_output_allocator(uint32_t output, tn_output_allocate allocate, void *user) {
        check(tn_context_set_device_output_allocator(get(), output, allocate, user));
    }
    /* allocate(output, bytes, alignment) is lent. It answers a pointer; where it throws, the run
     * fails with TN_ERROR_MEMORY. */
    template <class Function> void set_output_allocator(uint32_t output, Function &allocate) {
        set_output_allocator(output, detail::allocate_output<Function>, detail::lent(allocate));
    }
    template <class Function>
    void set_device_output_allocator(uint32_t output, Function &allocate) {
        set_device_output_allocator(output, detail::allocate_output<Function>,
                                    detail::lent(allocate));
    }
    /* Memory for intermediate tensors and workspaces, which is lent. */
    void set_memory(void *memory, uint64_t bytes) {
        check(tn_context_set_memory(get(), memory, bytes));
    }
    void set_device_memory(void *device_memory, uint64_t bytes) {
        check(tn_context_set_device_memory(get(), device_memory, bytes));
    }
    ContextBytes memory_bytes() const {
        ContextBytes bytes{};
        check(tn_context_memory_bytes(get(), &bytes.host, &bytes.device));
        return bytes;
    }

    /* The device's own, or one of Stream, which is lent; null: the context's own. */
    void set_stream(void *stream) { check(tn_context_set_stream(get(), stream)); }
    void set_stream(const Stream *stream) { set_stream(stream ? stream->native() : nullptr); }
    void set_stream(std::nullptr_t) { set_stream(static_cast<void *>(nullptr)); }

    /* The profile of the runs to come, TN_PROFILE_AUTOMATIC at first; that of the present shapes.
     */
    void set_profile(uint32_t profile) { check(tn_context_set_profile(get(), profile)); }
    uint32_t get_profile() const noexcept { return tn_context_get_profile(get()); }

    void reshape() { check(tn_context_reshape(get())); }
    void run() { check(tn_context_run(get())); }
    /* A run that goes on by itself: what is bound must stay until it is over. */
    void run_async() { run_async(nullptr, nullptr); }
    /* `done` must not throw. */
    void run_async(void (*done)(void *user, tn_status status), void *user) {
        check(tn_context_run_async(get(), done, user));
    }
    /* done(status) is called on a thread of the runtime's, where Error::last() is the run's, and is
     * destroyed after that. Nobody could catch there: it must be noexcept. */
    template <class Function> void run_async(Function &&done) {
        using Kept = std::decay_t<Function>;
        static_assert(std::is_nothrow_invocable_v<Kept &, tn_status>,
                      "done(tn_status) must be noexcept");
        std::unique_ptr<Kept> kept = std::make_unique<Kept>(std::forward<Function>(done));
        run_async(detail::call_done<Kept>, kept.get());
        static_cast<void>(kept.release());
    }
    /* Whether asynchronous runs are over within so many milliseconds; throws what the last of them
     * failed with. */
    bool wait(uint32_t timeout_ms = TN_WAIT_FOREVER) {
        bool is_done = false;
        check(tn_context_wait(get(), timeout_ms, &is_done));
        return is_done;
    }
    /* Ends the run that is under way, from any thread; false: there is none. */
    bool cancel() noexcept { return tn_context_cancel(get()); }
    bool is_done() {
        bool is_done = false;
        check(tn_context_is_done(get(), &is_done));
        return is_done;
    }
    /* `function` must not throw. */
    void call_when_done(void (*function)(void *user), void *user) {
        check(tn_context_call_when_done(get(), function, user));
    }
    /* Lives until the context's next reshape. */
    const tn_tensor &output(uint32_t output) const {
        const tn_tensor *tensor = nullptr;
        check(tn_context_output(get(), output, &tensor));
        return *tensor;
    }

    void set_profiling(bool is_on) { check(tn_context_set_profiling(get(), is_on)); }
    uint32_t profile_count() const noexcept { return tn_context_profile_count(get()); }
    /* Null past the end. */
    const tn_profile_entry *profile(uint32_t index) const noexcept {
        return tn_context_profile(get(), index);
    }
    /* Steps and memory as JSON; the runtime is the engine's. */
    std::string report(const Runtime &runtime) const {
        char *json = nullptr;
        check(tn_context_report(get(), &json));
        return runtime.take_text(json);
    }
    tn_context_statistics statistics() const noexcept {
        tn_context_statistics counted = options<tn_context_statistics>();
        tn_context_get_statistics(get(), &counted);
        return counted;
    }
};

} // namespace tenon

#endif
