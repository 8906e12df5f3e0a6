// SPDX-License-Identifier: MIT
// The first parameter of the lists of tasks, audits, disputes and reports.
#pragma once

#include "node/server/jsonrpc/params.hpp"
#include "node/server/methods/answers.hpp"

namespace retrace::node::rpc {

inline constexpr std::uint64_t kPageMax = 100;       ///< Items in one answer.
inline constexpr std::uint64_t kExaminedMax = 1000;  ///< Records that are examined for it.

struct ListQuery {
    std::optional<std::uint64_t> task;
    std::optional<ledger::Address> party;
    std::optional<std::string> state;     ///< A slug; an unknown one matches nothing.
    std::optional<std::uint64_t> before;  ///< Ids below this one.
    std::uint64_t limit = kPageMax;
};
/// Parses {task, party, state, before, limit}, all optional. If absent, the newest of all are listed.
Checked<ListQuery> parse_list_query(const Params& params, std::size_t index);

/// `load(id)` returns the item, or nullopt if it does not match. Ids are 1 .. count.
template <class T, class Load>
Page<T> page_of(const ListQuery& query, std::uint64_t count, const Load& load) {
    Page<T> out;
    std::uint64_t id = count;
    if (query.before) id = *query.before == 0 ? 0 : std::min(count, *query.before - 1);
    for (std::uint64_t examined = 0; id > 0; --id, ++examined) {
        if (out.items.size() >= query.limit || examined >= kExaminedMax) {
            out.next = id + 1;
            return out;
        }
        if (std::optional<T> item = load(id)) out.items.push_back(std::move(*item));
    }
    return out;
}

}  // namespace retrace::node::rpc
