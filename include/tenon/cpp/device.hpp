/* SPDX-License-Identifier: Apache-2.0 */
/* tn_device_handle, tn_stream and tn_event, and memory that frees itself, see
 * tenon/device_memory.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_DEVICE_HPP
#define TENON_CPP_DEVICE_HPP

#include <tenon/cpp/runtime.hpp>
#include <tenon/device_memory.h>

namespace tenon {

class Stream;
namespace detail {
inline tn_stream *stream_of(const Stream *stream) noexcept;
}

/* `stream` may be null in all calls: their work is done then when they return. */
class Device : public Shared<tn_device_handle, tn_device_retain, tn_device_release> {
  public:
    using Shared::Shared;
    /* "cpu", "cuda", "cuda:1" */
    Device(const Runtime &runtime, std::string_view name)
        : Shared(detail::made<tn_device_handle>([&](tn_device_handle **out) {
              return tn_device_open(runtime.get(), detail::text(name).c_str(), out);
          })) {}

    tn_device_info info() const {
        tn_device_info info = options<tn_device_info>();
        check(tn_device_get_info(get(), &info));
        return info;
    }
    void copy_to_device(void *to, const void *from, uint64_t bytes,
                        const Stream *stream = nullptr) const {
        check(tn_device_copy_to_device(get(), to, from, bytes, detail::stream_of(stream)));
    }
    void copy_to_host(void *to, const void *from, uint64_t bytes,
                      const Stream *stream = nullptr) const {
        check(tn_device_copy_to_host(get(), to, from, bytes, detail::stream_of(stream)));
    }
    void copy_on_device(void *to, const void *from, uint64_t bytes,
                        const Stream *stream = nullptr) const {
        check(tn_device_copy_on_device(get(), to, from, bytes, detail::stream_of(stream)));
    }
    void copy_from(void *to, const Device &from_device, const void *from, uint64_t bytes,
                   const Stream *stream = nullptr) const {
        check(tn_device_copy_from(get(), to, from_device.get(), from, bytes,
                                  detail::stream_of(stream)));
    }
    void fill(void *to, uint8_t byte, uint64_t bytes, const Stream *stream = nullptr) const {
        check(tn_device_fill(get(), to, byte, bytes, detail::stream_of(stream)));
    }
};

class Stream : public Owned<tn_stream, tn_stream_destroy> {
  public:
    using Owned::Owned;
    explicit Stream(const Device &device)
        : Owned(detail::made<tn_stream>(
              [&](tn_stream **out) { return tn_stream_create(device.get(), out); })) {}
    void wait() const { check(tn_stream_wait(get())); }
    void *native() const noexcept { return tn_stream_native(get()); }
};

inline tn_stream *detail::stream_of(const Stream *stream) noexcept {
    return stream ? stream->get() : nullptr;
}

class Event : public Owned<tn_event, tn_event_destroy> {
  public:
    using Owned::Owned;
    explicit Event(const Device &device)
        : Owned(detail::made<tn_event>(
              [&](tn_event **out) { return tn_event_create(device.get(), out); })) {}
    void record(const Stream *stream) { check(tn_event_record(get(), detail::stream_of(stream))); }
    /* The stream waits; null: the host. */
    void wait(const Stream *stream = nullptr) const {
        check(tn_event_wait(get(), detail::stream_of(stream)));
    }
    bool query() const {
        bool is_done = false;
        check(tn_event_query(get(), &is_done));
        return is_done;
    }
    /* Nanoseconds. */
    static double elapsed(const Event &from, const Event &to) {
        double ns = 0;
        check(tn_event_elapsed(from.get(), to.get(), &ns));
        return ns;
    }
};

namespace detail {

struct OnDevice {
    static tn_status allocate(tn_device_handle *device, uint64_t bytes, tn_stream *stream,
                              void **out_memory) {
        return tn_device_allocate(device, bytes, stream, out_memory);
    }
    static tn_status free(tn_device_handle *device, void *memory, tn_stream *stream) {
        return tn_device_free(device, memory, stream);
    }
};
struct OnHost {
    static tn_status allocate(tn_device_handle *device, uint64_t bytes, tn_stream *,
                              void **out_memory) {
        return tn_device_host_allocate(device, bytes, out_memory);
    }
    static tn_status free(tn_device_handle *device, void *memory, tn_stream *) {
        return tn_device_host_free(device, memory);
    }
};

/* Memory with a count of its device. When it goes, nothing may use it any more; free(&stream) is in
 * the order of a stream. */
template <class Kind> class Memory {
  public:
    /* The stream is for memory of the device. */
    Memory(const Device &device, uint64_t bytes, const Stream *stream = nullptr)
        : device_(device), bytes_(bytes) {
        check(Kind::allocate(device.get(), bytes, stream_of(stream), &data_));
    }
    Memory(Memory &&other) noexcept
        : device_(std::move(other.device_)), data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Memory &operator=(Memory &&other) noexcept {
        Memory moved(std::move(other));
        std::swap(device_, moved.device_);
        std::swap(data_, moved.data_);
        std::swap(bytes_, moved.bytes_);
        return *this;
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() {
        if (data_) static_cast<void>(Kind::free(device_.get(), data_, nullptr));
    }

    void *data() const noexcept { return data_; }
    uint64_t bytes() const noexcept { return bytes_; }
    void free(const Stream *stream = nullptr) {
        if (data_) check(Kind::free(device_.get(), data_, stream_of(stream)));
        data_ = nullptr;
        bytes_ = 0;
    }

  private:
    Device device_;
    void *data_ = nullptr;
    uint64_t bytes_;
};

} // namespace detail

/* Memory of the device, and memory of the host that the device copies from and to fastest. */
using DeviceMemory = detail::Memory<detail::OnDevice>;
using HostMemory = detail::Memory<detail::OnHost>;

} // namespace tenon

#endif
