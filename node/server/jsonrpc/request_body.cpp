// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/request_body.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <utility>

namespace retrace::node::rpc {
namespace {

using Fault = RequestBody::Fault;

/// Parse handler that builds values as the library's own does, but fails when there are too many. The library sets the
/// names.
class BodyHandler {
public:
    static constexpr std::size_t max_object_size = json::object::max_size();
    static constexpr std::size_t max_array_size = json::array::max_size();
    static constexpr std::size_t max_key_size = json::string::max_size();
    static constexpr std::size_t max_string_size = json::string::max_size();

    explicit BodyHandler(const BodyLimits& limits) : limits_(limits) {}

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code& failed) { return open(false, failed); }
    bool on_object_end(std::size_t members, json::error_code& failed) {
        --depth_;
        if (members > limits_.members) {
            fault = Fault::too_many_members;
            failed = json::error::object_too_large;
            return false;
        }
        values.push_object(members);
        return true;
    }
    bool on_array_begin(json::error_code& failed) { return open(true, failed); }
    bool on_array_end(std::size_t elements, json::error_code&) {
        --depth_;
        values.push_array(elements);
        return true;
    }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
        values.push_chars(part);
        return true;
    }
    bool on_key(json::string_view part, std::size_t size, json::error_code&) {
        values.push_key(part);
        id_follows_ = depth_ == (is_batch_ ? 2 : 1) && part == "id" && size == 2;
        if (id_follows_) number_ids.erase(request());  // the last one of several counts
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
        values.push_chars(part);
        return true;
    }
    bool on_string(json::string_view part, std::size_t, json::error_code& failed) {
        if (!count(failed)) return false;
        values.push_string(part);
        return true;
    }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t number, json::string_view, json::error_code& failed) {
        if (!count(failed)) return false;
        values.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, json::string_view, json::error_code& failed) {
        if (!count(failed)) return false;
        values.push_uint64(number);
        return true;
    }
    bool on_double(double number, json::string_view text, json::error_code& failed) {
        if (!count(failed)) return false;
        if (is_id_) number_ids[request()] = std::string(text);
        values.push_double(number);
        return true;
    }
    bool on_bool(bool is, json::error_code& failed) {
        if (!count(failed)) return false;
        values.push_bool(is);
        return true;
    }
    bool on_null(json::error_code& failed) {
        if (!count(failed)) return false;
        values.push_null();
        return true;
    }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }

    json::value_stack values;
    std::map<std::size_t, std::string> number_ids;
    Fault fault = Fault::none;

private:
    std::size_t request() const { return is_batch_ ? requests_ - 1 : 0; }
    bool open(bool is_array, json::error_code& failed) {
        if (!count(failed)) return false;
        if (depth_ == 0) is_batch_ = is_array;
        ++depth_;
        return true;
    }
    /// Called before each value; fails if a limit is exceeded.
    bool count(json::error_code& failed) {
        is_id_ = std::exchange(id_follows_, false);
        if (depth_ == 1 && is_batch_ && ++requests_ > limits_.batch) fault = Fault::batch_too_large;
        if (fault == Fault::none && ++count_ > limits_.values) fault = Fault::too_many_values;
        if (fault == Fault::none) return true;
        failed = json::error::array_too_large;
        return false;
    }

    const BodyLimits limits_;
    std::size_t depth_ = 0, requests_ = 0, count_ = 0;
    bool is_batch_ = false;
    bool id_follows_ = false;  // the next value is an id,
    bool is_id_ = false;       // or this one is
};

json::value parse(std::string_view text, const BodyLimits& limits, json::storage_ptr storage, Fault& fault,
                  std::map<std::size_t, std::string>& number_ids) {
    json::parse_options options;
    options.max_depth = limits.depth;
    json::basic_parser<BodyHandler> parser(options, limits);
    BodyHandler& handler = parser.handler();
    handler.values.reset(std::move(storage));
    json::error_code failed;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), failed);
    fault = handler.fault;
    number_ids = std::move(handler.number_ids);
    if (fault == Fault::none && (failed || read != text.size())) fault = Fault::not_json;
    return fault == Fault::none ? handler.values.release() : json::value();
}

}  // namespace

RequestBody::RequestBody(std::string_view text, const BodyLimits& limits)
    : document_(parse(text, limits, &arena_, fault_, number_ids_)) {}

std::string_view RequestBody::number_id(std::size_t request) const {
    const auto found = number_ids_.find(request);
    return found == number_ids_.end() ? std::string_view() : found->second;
}

}  // namespace retrace::node::rpc
