/* SPDX-License-Identifier: Apache-2.0 */
/* What the classes of tenon/tenon.hpp share: handles, options, callbacks. */
#ifndef TENON_CPP_HANDLE_HPP
#define TENON_CPP_HANDLE_HPP

#include <cstdint>
#include <exception>
#include <tenon/cpp/error.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon {

using Shape = std::vector<int64_t>;

/* Memory that belongs to another object. */
struct Bytes {
    const void *data;
    uint64_t bytes;
};

/* A struct of the C interface with its size set and all else 0. */
template <class Struct> Struct options() noexcept {
    Struct made{};
    made.size = static_cast<uint32_t>(sizeof(Struct));
    return made;
}

/* A handle that one object has. Moved from, it is empty. */
template <class Handle, void (*destroy)(Handle *)> class Owned {
  public:
    explicit Owned(Handle *adopted) noexcept : handle_(adopted) {}
    Owned(Owned &&other) noexcept : handle_(other.give_up()) {}
    Owned &operator=(Owned &&other) noexcept {
        if (this != &other) {
            destroy(handle_);
            handle_ = other.give_up();
        }
        return *this;
    }
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() { destroy(handle_); }

    Handle *get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    /* The handle, which is the caller's from here on. */
    Handle *give_up() noexcept { return std::exchange(handle_, nullptr); }

  private:
    Handle *handle_;
};

/* A handle that is counted: a copy retains. */
template <class Handle, Handle *(*retain)(Handle *), void (*release)(Handle *)>
class Shared : public Owned<Handle, release> {
  public:
    using Owned<Handle, release>::Owned;
    Shared(Shared &&) noexcept = default;
    Shared &operator=(Shared &&) noexcept = default;
    Shared(const Shared &other) noexcept : Owned<Handle, release>(retained(other.get())) {}
    Shared &operator=(const Shared &other) noexcept {
        if (this != &other) *this = Shared(other);
        return *this;
    }
    ~Shared() = default;

  private:
    static Handle *retained(Handle *handle) noexcept { return handle ? retain(handle) : nullptr; }
};

namespace detail {

/* Calls `create` for a handle. */
template <class Handle, class Create> Handle *made(Create &&create) {
    Handle *handle = nullptr;
    check(create(&handle));
    return handle;
}

/* A callable as a C callback that answers whether to go on: an exception ends the visit, and is
 * thrown again when the C function has returned. One that answers nothing goes on. */
template <class Function> class Visitor {
  public:
    explicit Visitor(Function &function) noexcept : function_(function) {}
    template <class... Given> static bool call(void *user, Given... given) noexcept {
        return static_cast<Visitor *>(user)->goes_on(*given...);
    }
    static bool progress(void *user, const char *stage, uint64_t done, uint64_t count) noexcept {
        return static_cast<Visitor *>(user)->goes_on(stage, done, count);
    }
    void rethrow() {
        if (thrown_) std::rethrow_exception(thrown_);
    }

  private:
    template <class... Given> bool goes_on(Given &&...given) noexcept {
        try {
            if constexpr (std::is_void_v<decltype(function_(given...))>) {
                function_(given...);
                return true;
            } else {
                return function_(given...);
            }
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
    }
    Function &function_;
    std::exception_ptr thrown_;
};

} // namespace detail
} // namespace tenon

#endif
