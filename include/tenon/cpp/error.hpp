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
    explicit Error(const tn_error &error)
        : std::runtime_error(joined(error.where, error.message)),
          kept_(std::make_shared<const Kept>(error)) {}
    Error(tn_status status, const char *message) : Error(bare(status, message)) {}
    /* The calling thread's last error. */
    static Error last() { return Error(*tn_last_error()); }

    /* As in tn_error; the texts have the lifetime of this or a copy of it. */
    tn_status status() const noexcept { return kept_->status; }
    const char *message() const noexcept { return kept_->message.c_str(); }
    const char *where() const noexcept { return kept_->where.c_str(); }
    const char *node() const noexcept { return kept_->node.c_str(); }
    const char *op() const noexcept { return kept_->op.c_str(); }
    const char *library() const noexcept { return kept_->library.c_str(); }
    const char *file() const noexcept { return kept_->file.c_str(); }
    const char *mend() const noexcept { return kept_->mend.c_str(); }
    uint64_t offset() const noexcept { return kept_->offset; }
    uint32_t line() const noexcept { return kept_->line; }
    uint32_t column() const noexcept { return kept_->column; }

  private:
    struct Kept {
        explicit Kept(const tn_error &error)
            : status(error.status), message(error.message), where(error.where), node(error.node),
              op(error.op), library(error.library), file(error.file), mend(error.mend),
              offset(error.offset), line(error.line), column(error.column) {}
        tn_status status;
        std::string message, where, node, op, library, file, mend;
        uint64_t offset;
        uint32_t line, column;
    };
    static tn_error bare(tn_status status, const char *message) noexcept {
        tn_error error{};
        error.status = status;
        error.message = message;
        error.where = error.node = error.op = error.library = error.file = error.mend = "";
        error.offset = UINT64_MAX;
        return error;
    }
    static std::string joined(const char *where, const char *message) {
        return *where ? std::string(where) + ": " + message : std::string(message);
    }
    std::shared_ptr<const Kept> kept_; /* shared: copying an exception must not throw */
};

/* Throws what a call failed with. */
inline void check(tn_status status) {
    if (status != TN_OK) throw Error::last();
}

namespace detail {

/* A text for C. TN_ERROR_ARGUMENT where a zero within it would end it early. */
inline std::string text(std::string_view given) {
    if (given.find('\0') != std::string_view::npos)
        throw Error(TN_ERROR_ARGUMENT, "a text has a zero within it");
    return std::string(given);
}

} // namespace detail
} // namespace tenon

#endif
