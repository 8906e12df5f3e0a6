// SPDX-License-Identifier: MIT
#include "node/server/methods/log_filter.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::size_t kAddressesMax = 1000;
constexpr std::size_t kTopicsMax = 4;
constexpr std::size_t kAlternativesMax = 1000;

/// One value or an array of values; null and absent yield none.
template <class T>
Checked<std::vector<T>> one_or_many(std::size_t arg, const json::value* value, std::size_t max, const char* what,
                                    Parsed<T> (*parse)(const json::value&)) {
    std::vector<T> out;
    if (value == nullptr || value->is_null()) return out;
    const json::array* many = value->if_array();
    if (many == nullptr) {
        RETRACE_TRY(one, argument(arg, parse(*value)));
        out.push_back(one);
        return out;
    }
    if (many->size() > max) return invalid_params(std::string("exceed max ") + what);
    out.reserve(many->size());
    for (const json::value& v : *many) {
        RETRACE_TRY(one, argument(arg, parse(v)));
        out.push_back(one);
    }
    return out;
}

/// A null among the alternatives matches anything, so the whole position does.
Checked<std::vector<Hash32>> parse_position(std::size_t arg, const json::value& position) {
    if (const json::array* many = position.if_array()) {
        for (const json::value& v : *many) {
            if (v.is_null()) return std::vector<Hash32>{};
        }
    }
    return one_or_many<Hash32>(arg, &position, kAlternativesMax, "topics", parse_hash);
}

Checked<BlockRef> parse_bound(std::size_t arg, const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || value->is_null()) return BlockRef{};
    return argument(arg, parse_block(*value));
}

}  // namespace

std::size_t bytes_of(const ledger::LogFilter& filter) {
    std::size_t out =
        filter.addresses.capacity() * sizeof(ledger::Address) + filter.topics.capacity() * sizeof(std::vector<Hash32>);
    for (const std::vector<Hash32>& position : filter.topics) out += position.capacity() * sizeof(Hash32);
    return out;
}

Checked<LogQuery> parse_log_query(const Params& params, std::size_t index) {
    RETRACE_TRY(object, params.object(index));
    LogQuery query;
    RETRACE_TRY(from, parse_bound(index, *object, "fromBlock"));
    RETRACE_TRY(to, parse_bound(index, *object, "toBlock"));
    query.from = from;
    query.to = to;
    if (const json::value* hash = object->if_contains("blockHash"); hash != nullptr && !hash->is_null()) {
        const auto is_given = [&](const char* name) {
            const json::value* bound = object->if_contains(name);
            return bound != nullptr && !bound->is_null();
        };
        if (is_given("fromBlock") || is_given("toBlock")) {
            return invalid_params("cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other");
        }
        RETRACE_TRY(value, argument(index, parse_hash(*hash)));
        query.block_hash = value;
    }
    RETRACE_TRY(addresses, one_or_many<ledger::Address>(index, object->if_contains("address"), kAddressesMax,
                                                        "addresses", parse_address));
    query.filter.addresses = std::move(addresses);
    const json::value* topics = object->if_contains("topics");
    if (topics == nullptr || topics->is_null()) return query;
    const json::array* positions = topics->if_array();
    if (positions == nullptr) return invalid_argument(index, "topics is not an array");
    if (positions->size() > kTopicsMax) return invalid_params("exceed max topics");
    for (const json::value& position : *positions) {
        RETRACE_TRY(alternatives, parse_position(index, position));
        query.filter.topics.push_back(std::move(alternatives));
    }
    return query;
}

Checked<LogRange> log_range(const Backend& backend, std::uint64_t first, std::uint64_t last) {
    const LogRange out{first, std::min(last, backend.chain.height())};
    if (out.empty()) return out;
    if (out.last - first >= kLogRangeMax) {
        return server_error("block range is too wide: at most " + std::to_string(kLogRangeMax) + " blocks");
    }
    // Block 0 is always kept, so it does not show whether the blocks after it are.
    RETRACE_CHECK(check_kept(backend, first == 0 ? std::min<std::uint64_t>(out.last, 1) : first));
    return out;
}

Checked<ledger::FoundLogs> search_kept(const Backend& backend, Caller& caller, const ledger::LogFilter& filter,
                                       const LogRange& range) {
    Status<RpcError> spent = Unit{};
    auto found = ledger::search_logs(backend.chain, range.first, range.last, filter, kLogsMax, [&](std::size_t work) {
        spent = caller.spend(work);
        return spent.has_value();
    });
    RETRACE_CHECK(spent);
    return found;
}

Checked<ledger::FoundLogs> search(const Backend& backend, Caller& caller, const ledger::LogFilter& filter,
                                  const LogRange& range) {
    RETRACE_TRY(found, search_kept(backend, caller, filter, range));
    if (found.end == ledger::FoundLogs::End::missing) return block_not_kept(backend, found.next);
    return found;
}

Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller,
                                                 const ledger::LogFilter& filter, std::uint64_t first,
                                                 std::uint64_t last) {
    RETRACE_TRY(range, log_range(backend, first, last));
    RETRACE_TRY(found, search(backend, caller, filter, range));
    if (found.end == ledger::FoundLogs::End::full) {
        return server_error("query returned more than " + std::to_string(kLogsMax) + " results");
    }
    return std::move(found.logs);
}

Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller, const LogQuery& query) {
    if (query.block_hash) {
        const auto height = backend.chain.height_of(*query.block_hash);
        if (!height) return server_error("unknown block");
        return find_logs(backend, caller, query.filter, *height, *height);
    }
    // A bound above the tip is no error: `to` is clipped, and there are no blocks above the tip yet.
    const auto bound = [&](const BlockRef& ref) -> Checked<std::uint64_t> {
        if (ref.kind == BlockRef::Kind::height) return ref.height;
        return known_height(backend, ref);
    };
    RETRACE_TRY(first, bound(query.from));
    RETRACE_TRY(last, bound(query.to));
    const bool both_given = query.from.kind == BlockRef::Kind::height && query.to.kind == BlockRef::Kind::height;
    if (both_given && first > last) return server_error("invalid block range params");
    return find_logs(backend, caller, query.filter, first, last);
}

}  // namespace retrace::node::rpc
