// SPDX-License-Identifier: MIT
// Expected failures as values. Member names are those of C++23's std::expected, which g++ 12 lacks.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "merkle/base/ensure.hpp"

namespace retrace {

template <class E>
struct Unexpected {
    E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

/// An error message for people: the problem and how to fix it.
struct Error {
    std::string message;
};
inline Unexpected<Error> error(std::string message) { return {Error{std::move(message)}}; }

struct Unit {
    bool operator==(const Unit&) const = default;
};

template <class T, class E = Error>
class [[nodiscard]] Result {
public:
    using value_type = T;
    using error_type = E;

    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    template <class F>
    requires std::is_constructible_v<E, F> Result(Unexpected<F> failure)
        : state_(std::in_place_index<1>, std::move(failure.error)) {}

    bool has_value() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return has_value(); }

    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }
    const T* operator->() const { return &value(); }

    const E& error() const& {
        ensure(!has_value(), "error() of a Result that holds a value");
        return std::get<1>(state_);
    }
    E&& error() && {
        ensure(!has_value(), "error() of a Result that holds a value");
        return std::get<1>(std::move(state_));
    }
    T value_or(T other) const& { return has_value() ? std::get<0>(state_) : std::move(other); }

private:
    T& checked() {
        ensure(has_value(), "value() of a Result that holds an error");
        return std::get<0>(state_);
    }
    std::variant<T, E> state_;
};

/// Result of an action that yields nothing.
template <class E = Error>
using Status = Result<Unit, E>;

}  // namespace retrace

/// `RETRACE_TRY(name, expression);` declares `name` as the value of the Result `expression`, or returns its error.
#define RETRACE_TRY_CAT2(a, b) a##b
#define RETRACE_TRY_CAT(a, b) RETRACE_TRY_CAT2(a, b)
#define RETRACE_TRY(name, ...)                                                                   \
    auto RETRACE_TRY_CAT(try_result_, __LINE__) = (__VA_ARGS__);                                 \
    if (!RETRACE_TRY_CAT(try_result_, __LINE__).has_value())                                     \
        return ::retrace::Unexpected{std::move(RETRACE_TRY_CAT(try_result_, __LINE__)).error()}; \
    auto name = std::move(RETRACE_TRY_CAT(try_result_, __LINE__)).value()
/// As RETRACE_TRY for a Result whose value is not needed.
#define RETRACE_CHECK(...)                                                                       \
    if (auto try_status = (__VA_ARGS__); !try_status.has_value()) return ::retrace::Unexpected { \
            std::move(try_status).error()                                                        \
        }
