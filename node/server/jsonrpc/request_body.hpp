// SPDX-License-Identifier: MIT
// The JSON of one body, read no further than it may be answered.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retrace::node::rpc {

namespace json = boost::json;

struct BodyLimits {
    std::size_t depth = 32;        ///< Of nested JSON.
    std::size_t batch = 1000;      ///< Requests in one batch.
    std::size_t values = 131'072;  ///< In one body, those within others included.
};

/// A parsed body: one request, a batch, or nothing that JSON-RPC knows. Of one over a limit nothing is kept: five
/// mebibytes can hold millions of values, each of which takes many times its text.
class RequestBody {
public:
    enum class Fault : std::uint8_t { none, not_json, batch_too_large, too_many_values };

    RequestBody(std::string_view text, const BodyLimits& limits);
    RequestBody(const RequestBody&) = delete;

    Fault fault() const noexcept { return fault_; }
    bool is_json() const noexcept { return fault_ == Fault::none; }
    /// Only of JSON within the limits.
    const json::value& document() const noexcept { return document_; }

private:
    // One arena for the whole document: a request of many small values costs no allocation each.
    json::monotonic_resource arena_;
    Fault fault_ = Fault::none;
    json::value document_;
};

}  // namespace retrace::node::rpc
