// SPDX-License-Identifier: MIT
// Scopes in which a broken invariant ends one piece of work instead of the process: a query, a transaction, a scheduled
// item.
#pragma once

#include <exception>
#include <string>

namespace retrace {

/// Thrown by a failed `ensure` within a NonFatalScope.
class BrokenInvariant final : public std::exception {
public:
    explicit BrokenInvariant(std::string text) : text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// While one exists, a failed `ensure` on its thread throws BrokenInvariant instead of aborting. Use it only around
/// work whose effects are discarded as a whole when it ends early: an overlay, a revert to a mark, an answer that is
/// not sent.
class NonFatalScope {
public:
    NonFatalScope() noexcept;
    ~NonFatalScope();
    NonFatalScope(const NonFatalScope&) = delete;
    NonFatalScope& operator=(const NonFatalScope&) = delete;
};

}  // namespace retrace
