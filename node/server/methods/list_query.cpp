// SPDX-License-Identifier: MIT
#include "node/server/methods/list_query.hpp"

namespace retrace::node::rpc {
namespace {

Parsed<std::uint64_t> parse_limit(const json::value& value) {
    boost::system::error_code failed;
    const auto limit = value.to_number<std::uint64_t>(failed);
    if (failed || value.is_double() || limit == 0 || limit > kPageMax)
        return Unexpected<std::string>{"limit is a number from 1 to " + std::to_string(kPageMax)};
    return limit;
}

}  // namespace

Checked<ListQuery> parse_list_query(const Params& params, std::size_t index) {
    ListQuery query;
    if (!params.has(index)) return query;
    RETRACE_TRY(object, params.object(index));
    for (const auto& [name, value] : *object) {
        if (value.is_null()) continue;
        if (name == "task") {
            RETRACE_TRY(task, argument(index, parse_u64(value)));
            query.task = task;
        } else if (name == "party") {
            RETRACE_TRY(party, argument(index, parse_address(value)));
            query.party = party;
        } else if (name == "state") {
            if (!value.is_string()) return invalid_argument(index, "state is not a string");
            query.state = std::string(value.get_string());
        } else if (name == "before") {
            RETRACE_TRY(before, argument(index, parse_u64(value)));
            query.before = before;
        } else if (name == "limit") {
            RETRACE_TRY(limit, argument(index, parse_limit(value)));
            query.limit = limit;
        } else {
            return invalid_argument(index, "a list is asked for by task, party, state, before and limit");
        }
    }
    return query;
}

}  // namespace retrace::node::rpc
