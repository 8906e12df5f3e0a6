// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "node/rpc/methods.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::uint64_t kHistoryMax = 1024;
constexpr std::size_t kPercentilesMax = 100;

/// A quantity; also a JSON number, which some clients send here.
Checked<std::uint64_t> parse_count(const Params& params) {
    const json::value& v = params.at(0);
    if (v.is_int64() && v.get_int64() >= 0) return static_cast<std::uint64_t>(v.get_int64());
    return params.u64(0);
}

Checked<std::vector<double>> parse_percentiles(const Params& params) {
    std::vector<double> out;
    if (!params.has(2)) return out;
    RETRACE_TRY(array, params.array(2));
    if (array->size() > kPercentilesMax) return server_error("over the query limit of 100 percentiles");
    for (const json::value& v : *array) {
        if (!v.is_number()) return invalid_argument(2, "a percentile is not a number");
        const double p = v.to_number<double>();
        if (!(p >= 0 && p <= 100)) return server_error("invalid reward percentile");
        if (!out.empty() && p < out.back()) return server_error("invalid reward percentile");
        out.push_back(p);
    }
    return out;
}

/// The tips at the given percentiles of the block's gas.
json::array rewards(const ledger::Block& block, const std::vector<double>& percentiles) {
    std::vector<std::pair<ledger::U256, std::uint64_t>> tips;  // and the gas they were paid for
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        if (!block.txs[i].tx) continue;
        tips.emplace_back(ledger::effective_tip(block.txs[i].tx->tx, block.header.base_fee),
                          block.receipts[i].gas_used);
    }
    std::sort(tips.begin(), tips.end());
    json::array out;
    for (const double percentile : percentiles) {
        const double wanted = static_cast<double>(block.header.gas_used) * percentile / 100;
        std::uint64_t sum = 0;
        ledger::U256 tip;
        for (const auto& [price, gas] : tips) {
            tip = price;
            sum += gas;
            if (static_cast<double>(sum) >= wanted) break;
        }
        out.emplace_back(quantity(tip));
    }
    return out;
}

Answer fee_history(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(count, parse_count(params));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(percentiles, parse_percentiles(params));
    const auto newest = height_of(backend, ref);
    if (!newest) return server_error("request beyond head block");
    RETRACE_CHECK(check_kept(backend, *newest));
    // What was pruned is left out: clients want the newest and take fewer.
    count = std::min({count, kHistoryMax, *newest + 1 - std::min(*newest, backend.chain.oldest_block())});
    if (count == 0) return json::value(json::object{{"oldestBlock", "0x0"}, {"gasUsedRatio", nullptr}});

    const std::uint64_t oldest = *newest + 1 - count;
    json::array base_fees;
    json::array ratios;
    json::array reward_rows;
    std::optional<ledger::Header> header;
    for (std::uint64_t height = oldest; height <= *newest; ++height) {
        RETRACE_CHECK(caller.spend(1));
        header = backend.chain.header(height);
        if (!header) return server_error("header not found");
        base_fees.emplace_back(quantity(header->base_fee));
        ratios.emplace_back(static_cast<double>(header->gas_used) / static_cast<double>(header->gas_limit));
        if (percentiles.empty()) continue;
        RETRACE_CHECK(caller.spend(ledger::kBlockWork + header->tx_count));
        const auto block = backend.chain.block(height);
        if (!block) return server_error("header not found");
        reward_rows.emplace_back(rewards(*block, percentiles));
    }
    base_fees.emplace_back(
        quantity(ledger::next_base_fee(header->base_fee, header->gas_used, header->gas_limit)));
    json::object out{{"oldestBlock", quantity(oldest)},
                     {"baseFeePerGas", std::move(base_fees)},
                     {"gasUsedRatio", std::move(ratios)}};
    if (!percentiles.empty()) out["reward"] = std::move(reward_rows);
    return json::value(std::move(out));
}

}  // namespace

void register_eth_fees(Router& router, const Backend& backend) {
    router.add({"eth_gasPrice",
                "Next base fee and the suggested tip.",
                {},
                "Quantity",
                [&backend](const Params&, Caller&) -> Answer {
                    return json::value(quantity(backend.chain.next_base_fee() + backend.suggested_tip));
                }});
    router.add({"eth_maxPriorityFeePerGas",
                "The suggested tip.",
                {},
                "Quantity",
                [&backend](const Params&, Caller&) -> Answer {
                    return json::value(quantity(backend.suggested_tip));
                }});
    router.add(
        {"eth_feeHistory",
         "Base fees, fullness and tips of past blocks.",
         {{"count", "Quantity"}, {"newest", "BlockTag"}, {"percentiles", "Percentile[]", false}},
         "FeeHistory",
         [&backend](const Params& params, Caller& caller) { return fee_history(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
