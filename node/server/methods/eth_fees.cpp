// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

constexpr std::uint64_t kHistoryMax = 1024;
constexpr std::size_t kPercentilesMax = 100;
constexpr std::uint64_t kTipBlocks = 20;
constexpr double kTipPercentile = 60;
/// Highest suggested tip: when blocks stay full, the base fee rises instead.
const ledger::U256 kTipMost = 10'000'000'000;

/// Parses a quantity, or a JSON number, which some clients send here.
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

/// The tips paid for a block's gas, lowest first.
class Tips {
public:
    explicit Tips(const ledger::Block& block) : gas_(block.header.gas_used) {
        for (std::size_t i = 0; i < block.txs.size(); ++i) {
            if (!block.txs[i].tx) continue;
            tips_.emplace_back(ledger::effective_tip(block.txs[i].tx->tx, block.header.base_fee),
                               block.receipts[i].gas_used);
        }
        std::sort(tips_.begin(), tips_.end());
    }
    /// The tip at a percentile of the gas used; 0 for an empty block.
    ledger::U256 at(double percentile) const {
        const double wanted = static_cast<double>(gas_) * percentile / 100;
        std::uint64_t sum = 0;
        ledger::U256 tip;
        for (const auto& [price, gas] : tips_) {
            tip = price;
            sum += gas;
            if (static_cast<double>(sum) >= wanted) break;
        }
        return tip;
    }

private:
    std::uint64_t gas_;
    std::vector<std::pair<ledger::U256, std::uint64_t>> tips_;  // tip and gas used
};

json::array rewards(const ledger::Block& block, const std::vector<double>& percentiles) {
    const Tips tips(block);
    json::array out;
    for (const double percentile : percentiles) out.emplace_back(quantity(tips.at(percentile)));
    return out;
}

/// Suggests a tip from those paid in recent blocks. Thread-safe.
class TipOracle {
public:
    explicit TipOracle(const Backend& backend) : backend_(backend) {}

    /// Takes one sample per block, so that a single high tip or an idle hour has little influence.
    Checked<ledger::U256> suggest(Caller& caller) {
        const std::uint64_t tip = backend_.chain.height();
        const std::uint64_t first = std::max<std::uint64_t>(tip + 1 - std::min(tip, kTipBlocks), 1);
        const std::lock_guard lock(mutex_);
        samples_.erase(samples_.begin(), samples_.lower_bound(first));
        std::vector<ledger::U256> sorted;
        for (std::uint64_t height = first; height <= tip; ++height) {
            RETRACE_TRY(sample, sample_of(height, caller));
            if (sample) sorted.push_back(*sample);
        }
        if (sorted.empty()) return backend_.suggested_tip;
        const auto wanted = static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * kTipPercentile / 100);
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted), sorted.end());
        return ledger::max(backend_.suggested_tip, ledger::min(sorted[wanted], kTipMost));
    }

private:
    /// The sample of a block; nullopt: the block is not kept.
    Checked<std::optional<ledger::U256>> sample_of(std::uint64_t height, Caller& caller) {
        const auto found = samples_.find(height);
        if (found != samples_.end()) return std::optional(found->second);
        RETRACE_CHECK(caller.spend(backend_.chain.block_work(height)));
        const auto block = backend_.chain.block(height);
        if (!block) return std::optional<ledger::U256>();
        return std::optional(samples_[height] = Tips(*block).at(kTipPercentile));
    }

    const Backend& backend_;
    std::mutex mutex_;
    std::map<std::uint64_t, ledger::U256> samples_;  // by height; blocks are final
};

Answer fee_history(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(count, parse_count(params));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(percentiles, parse_percentiles(params));
    const auto newest = height_of(backend, ref);
    if (!newest) return server_error("request beyond head block");
    RETRACE_CHECK(check_kept(backend, *newest));
    // Pruned blocks are left out: clients want the newest blocks and accept fewer.
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
        RETRACE_CHECK(caller.spend(backend.chain.block_work(height)));
        const auto block = backend.chain.block(height);
        if (!block) return server_error("header not found");
        reward_rows.emplace_back(rewards(*block, percentiles));
    }
    base_fees.emplace_back(quantity(ledger::next_base_fee(header->base_fee, header->gas_used, header->gas_limit,
                                                          backend.chain.genesis().base_fee)));
    json::object out{{"oldestBlock", quantity(oldest)},
                     {"baseFeePerGas", std::move(base_fees)},
                     {"gasUsedRatio", std::move(ratios)}};
    if (!percentiles.empty()) out["reward"] = std::move(reward_rows);
    return json::value(std::move(out));
}

}  // namespace

void register_eth_fees(Router& router, const Backend& backend) {
    const auto oracle = std::make_shared<TipOracle>(backend);
    router.add({"eth_gasPrice",
                "Next base fee and the suggested tip.",
                {},
                "Quantity",
                [&backend, oracle](const Params&, Caller& caller) -> Answer {
                    RETRACE_TRY(tip, oracle->suggest(caller));
                    return json::value(quantity(backend.chain.next_base_fee() + tip));
                }});
    router.add({"eth_maxPriorityFeePerGas",
                "The tip that most of the last 20 blocks' gas was paid with at the most; at least 0.1 and at most 10 "
                "gwei.",
                {},
                "Quantity",
                [oracle](const Params&, Caller& caller) -> Answer {
                    RETRACE_TRY(tip, oracle->suggest(caller));
                    return json::value(quantity(tip));
                }});
    router.add({"eth_feeHistory",
                "Base fees, fullness and tips of past blocks.",
                {{"count", "Quantity"}, {"newest", "BlockTag"}, {"percentiles", "Percentile[]", false}},
                "FeeHistory",
                [&backend](const Params& params, Caller& caller) { return fee_history(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
