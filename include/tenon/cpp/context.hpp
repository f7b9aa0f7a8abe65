/* SPDX-License-Identifier: Apache-2.0 */
/* tn_context, see tenon/engine.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_CONTEXT_HPP
#define TENON_CPP_CONTEXT_HPP

#include <initializer_list>
#include <tenon/cpp/engine.hpp>

namespace tenon {

class Context : public Owned<tn_context, tn_context_destroy> {
  public:
    using Owned::Owned;
    explicit Context(const Engine &engine)
        : Owned(detail::made<tn_context>(
              [&](tn_context **out) { return tn_context_create(engine.get(), out); })) {}

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
    void set_stream(void *stream) { check(tn_context_set_stream(get(), stream)); }

    void reshape() { check(tn_context_reshape(get())); }
    void run() { check(tn_context_run(get())); }
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
