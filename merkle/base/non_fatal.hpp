// SPDX-License-Identifier: MIT
// Where a broken invariant ends a piece of work instead of the process: a question, a transaction, a scheduled item.
#pragma once

#include <exception>
#include <string>

namespace retrace {

/// A failed `ensure` within a NonFatalScope.
class BrokenInvariant final : public std::exception {
public:
    explicit BrokenInvariant(std::string text) : text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// While one stands, a failed `ensure` of its thread throws BrokenInvariant instead of aborting. Only around work whose
/// effects are thrown away as a whole when it ends early: an overlay, a revert to a mark, an answer that is not sent.
class NonFatalScope {
public:
    NonFatalScope() noexcept;
    ~NonFatalScope();
    NonFatalScope(const NonFatalScope&) = delete;
    NonFatalScope& operator=(const NonFatalScope&) = delete;
};

}  // namespace retrace
