/* SPDX-License-Identifier: Apache-2.0 */
/* tn_error as an exception. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_ERROR_HPP
#define TENON_CPP_ERROR_HPP

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenon/status.h>

namespace tenon {

/* What a call failed with. what() is where and message in one, as the command line prints them. */
class Error : public std::runtime_error {
  public:
    Error(tn_status status, const char *message, const char *where)
        : std::runtime_error(joined(where, message)),
          texts_(std::make_shared<const Texts>(Texts{message, where})), status_(status) {}
    /* The calling thread's last error. */
    static Error last() {
        const tn_error *error = tn_last_error();
        return Error(error->status, error->message, error->where);
    }

    tn_status status() const noexcept { return status_; }
    const char *message() const noexcept { return texts_->message.c_str(); }
    const char *where() const noexcept { return texts_->where.c_str(); }

  private:
    struct Texts {
        std::string message, where;
    };
    static std::string joined(const char *where, const char *message) {
        return *where ? std::string(where) + ": " + message : std::string(message);
    }
    std::shared_ptr<const Texts> texts_; /* shared: copying an exception must not throw */
    tn_status status_;
};

/* Throws what a call failed with. */
inline void check(tn_status status) {
    if (status != TN_OK) throw Error::last();
}

namespace detail {

/* A text for C. TN_ERROR_ARGUMENT where a zero within it would end it early. */
inline std::string text(std::string_view given) {
    if (given.find('\0') != std::string_view::npos)
        throw Error(TN_ERROR_ARGUMENT, "a text has a zero within it", "");
    return std::string(given);
}

} // namespace detail
} // namespace tenon

#endif
