// SPDX-License-Identifier: MIT
// Questions are no reason to end the process: a rule that fails while one is answered ends the question.
#pragma once

#include <exception>
#include <string>

namespace retrace {

/// A failed `ensure` within a ReadOnly.
class BrokenInvariant final : public std::exception {
public:
    explicit BrokenInvariant(std::string text) : text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

/// While one stands, a failed `ensure` of its thread throws BrokenInvariant instead of aborting. Only around
/// work that may end anywhere and leaves nothing behind: never around a block, or what others see.
class ReadOnly {
public:
    ReadOnly() noexcept;
    ~ReadOnly();
    ReadOnly(const ReadOnly&) = delete;
    ReadOnly& operator=(const ReadOnly&) = delete;
};

}  // namespace retrace
