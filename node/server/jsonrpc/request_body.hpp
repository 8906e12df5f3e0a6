// SPDX-License-Identifier: MIT
// Parses the JSON of one request body within limits on its depth, values and batch size.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace retrace::node::rpc {

namespace json = boost::json;

struct BodyLimits {
    std::size_t depth = 32;        ///< Nesting depth of the JSON.
    std::size_t batch = 1000;      ///< Requests in one batch.
    std::size_t values = 131'072;  ///< In one body, nested values included.
    /// In one object. The library's table of members has as many chains as members, so that chosen names would fill
    /// one chain and cost the square of their number. No method takes an object of more than 256.
    std::size_t members = 512;
};

/// A parsed body: a request, a batch, or JSON that is neither. A body over a limit is not kept: 5 MiB of text can hold
/// millions of values, each of which takes many times the memory of its text.
class RequestBody {
public:
    enum class Fault : std::uint8_t { none, not_json, batch_too_large, too_many_values, too_many_members };

    RequestBody(std::string_view text, const BodyLimits& limits);
    RequestBody(const RequestBody&) = delete;

    Fault fault() const noexcept { return fault_; }
    bool is_json() const noexcept { return fault_ == Fault::none; }
    /// Valid only if `is_json()`.
    const json::value& document() const noexcept { return document_; }
    /// The text of a request's id if it is a number with a fraction, an exponent or more than 64 bits, which
    /// `document()` holds rounded; empty for any other id. `request`: index in the batch; 0 without one.
    std::string_view number_id(std::size_t request) const;

private:
    // One arena for the whole document, so small values cost no allocation each.
    json::monotonic_resource arena_;
    Fault fault_ = Fault::none;
    std::map<std::size_t, std::string> number_ids_;  // by request
    json::value document_;
};

}  // namespace retrace::node::rpc
