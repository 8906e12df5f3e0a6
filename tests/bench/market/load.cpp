// SPDX-License-Identifier: MIT
#include <algorithm>
#include <ctime>

#include "contracts/calls/encode.hpp"
#include "contracts/executor.hpp"
#include "contracts/records/places.hpp"
#include "contracts/records/views.hpp"
#include "ledger/chain/genesis.hpp"
#include "ledger/state/supply.hpp"
#include "market/auction.hpp"
#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/bench/market/measurements.hpp"

namespace retrace::bench {
namespace {

using ledger::Address;
using ledger::U256;

constexpr std::uint64_t kGroups = 50;      // Tasks whose auctions end at one height are one of so many.
constexpr std::uint64_t kBidsOfOne = 200;  // Open bids of one account; the rules allow 256.
constexpr std::uint64_t kPrice = 1'000'000;

class NoState final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

Hash32 word(const std::string& text) { return merkle::sha256(view(text)); }
U256 coins(std::uint64_t count) { return U256(1'000 * count) * market::kMilli; }

/// Processor time of this thread in milliseconds, which other programs on the machine do not stretch. Nothing here
/// waits.
double now_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

class LoadedMarket {
public:
    explicit LoadedMarket(const LoadOptions& options) : options_(options) {
        params_.contract_hash = word("kernels");
        params_.bid_blocks = 2 * kGroups;
        params_.reveal_blocks = options_.tasks * options_.bids_each / reveals_of_a_block() + kGroups;
        executor_.genesis(state_, market::encode(params_));
        ensure(ledger::mint(state_, requester(), coins(1'000'000)), "new coins");
        for (std::uint64_t i = 0; i < bidders(); ++i) {
            ensure(ledger::mint(state_, bidder(i), coins(1'000)), "new coins");
            send(bidder(i), contracts::Deposit{}, coins(500));
            send(bidder(i), contracts::RegisterSolver{"http://solver", 1});
        }
        spec_.name = "bench";
        spec_.program_root = word("program");
        spec_.program_bytes = 1000;
        spec_.initial_state_root = word("state");
        spec_.steps = 40;
        spec_.interval = 10;
        spec_.contract_hash = params_.contract_hash;
        spec_.price_ceiling = market::kMilli;
        spec_.finish_blocks = 10'000;
    }

    /// Posts all tasks, over kGroups blocks. Returns the milliseconds of each call.
    std::vector<double> post() {
        std::vector<double> out;
        for (std::uint64_t group = 0; group < kGroups; ++group) {
            begin_block();
            for (std::uint64_t i = 0; i < options_.tasks / kGroups; ++i) {
                const double from = now_ms();
                const U256 deposit = contracts::views::rent_deposit(state_, params_, spec_, nullptr).value();
                send(requester(), contracts::PostTask{spec_}, market::escrow_of(spec_, params_)->total() + deposit);
                out.push_back(now_ms() - from);
            }
        }
        return out;
    }
    std::vector<double> bid() {
        std::vector<double> out;
        for (std::uint64_t task = 1; task <= options_.tasks; ++task) {
            for (std::uint64_t i = 0; i < options_.bids_each; ++i) {
                const std::uint64_t who = bidder_of(task, i);
                const double from = now_ms();
                send(bidder(who), contracts::CommitBid{task, commitment(task, who)}, params_.bid_deposit);
                out.push_back(now_ms() - from);
            }
        }
        return out;
    }
    struct Blocks {
        std::vector<double> reveals, blocks;  ///< Milliseconds of each call, and of each block with all of its calls.
    };
    /// Passes all blocks in which bids are revealed or auctions close. A block takes as many reveals as its gas allows, and
    /// they end so late that most blocks that close auctions have them too.
    Blocks reveal_and_close() {
        Blocks out;
        const std::uint64_t end = task(options_.tasks).reveal_end + options_.tasks / 256;
        std::uint64_t next = 0;
        const std::uint64_t all = options_.tasks * options_.bids_each, per_block = reveals_of_a_block();
        const std::uint64_t start = task(1).reveal_end - all / per_block + kGroups - 10;
        while (height_ + 1 < start) begin_block();
        while (height_ < end) {
            const double from = now_ms();
            begin_block();
            std::size_t revealed = 0;
            for (; next < all && revealed < per_block; ++next, ++revealed) {
                const std::uint64_t id = next / options_.bids_each + 1, who = bidder_of(id, next % options_.bids_each);
                if (height_ < task(id).bid_end) break;
                const double call = now_ms();
                send(bidder(who), contracts::RevealBid{id, price(who), task(id).reveal_end + 1'000, word("salt")});
                out.reveals.push_back(now_ms() - call);
            }
            out.blocks.push_back(now_ms() - from);
        }
        ensure(next == all, "all bids are revealed");
        return out;
    }
    std::size_t assigned() const {
        std::size_t count = 0;
        for (std::uint64_t id = 1; id <= options_.tasks; ++id)
            count += task(id).state == market::TaskState::assigned || task(id).runs != 0;
        return count;
    }
    std::uint64_t open_bids() const {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < bidders(); ++i) count += contracts::views::open_bids(state_, bidder(i));
        return count;
    }

private:
    static Address party(const std::string& name) { return ledger::address_of_bytes(view(word(name)).first(20)); }
    static Address requester() { return party("requester"); }
    static Address bidder(std::uint64_t i) { return party("bidder " + std::to_string(i)); }
    static U256 price(std::uint64_t who) { return U256(kPrice + who); }
    std::uint64_t bidders() const { return options_.tasks * options_.bids_each / kBidsOfOne; }
    std::uint64_t bidder_of(std::uint64_t task, std::uint64_t i) const {
        return ((task - 1) * options_.bids_each + i) % bidders();
    }
    market::Task task(std::uint64_t id) const { return contracts::views::task(state_, id).value(); }
    Hash32 commitment(std::uint64_t id, std::uint64_t who) const {
        return market::bid_commitment(id, 1, price(who), task(id).reveal_end + 1'000, word("salt"), bidder(who));
    }
    ledger::BlockContext block() const {
        ledger::BlockContext out;
        out.height = height_;
        out.chain_id = 7298;
        return out;
    }
    std::uint64_t reveals_of_a_block() const {
        const Bytes data = contracts::calldata(contracts::RevealBid{1, U256(1), 1, word("salt")});
        return ledger::Genesis{}.gas_limit / executor_.gas_of(contracts::address_of(contracts::Contract::market), data);
    }
    void begin_block() {
        ++height_;
        ledger::State next{static_cast<const ledger::StateView&>(state_)};
        (void)executor_.begin_block(next, block());
        ensure(!executor_.broken_invariant(state_, next), "no invariant breaks");
        state_.apply(next.diff());
    }
    template <class Call>
    void send(const Address& sender, const Call& call, const U256& value = {}) {
        ledger::State next{static_cast<const ledger::StateView&>(state_)};
        const Bytes data = contracts::calldata(call);
        const auto result =
            executor_.call(next, block(), {sender, contracts::address_of(Call::kContract), value, data, 20'000'000});
        ensure(result.ok, "a call of the benchmark is accepted");
        ensure(!executor_.broken_invariant(state_, next), "no invariant breaks");
        state_.apply(next.diff());
    }

    LoadOptions options_;
    NoState nothing_;
    ledger::State state_{nothing_};
    market::Params params_;
    market::TaskSpec spec_;
    contracts::Executor executor_;
    std::uint64_t height_ = 0;
};

}  // namespace

std::vector<Row> measure_load(const LoadOptions& options) {
    LoadedMarket market(options);
    const auto posts = market.post();
    const auto bids = market.bid();
    ensure(market.open_bids() == options.tasks * options.bids_each, "all bids are open");
    const auto blocks = market.reveal_and_close();
    ensure(market.assigned() == options.tasks, "each task has a solver");
    const auto last = [](const std::vector<double>& all) {
        return median(std::vector<double>(all.end() - std::min<std::ptrdiff_t>(1'000, std::ssize(all)), all.end()));
    };
    return {{"post_task", "ms", "", last(posts), 0},
            {"commit_bid", "ms", "", last(bids), 0},
            {"reveal_bid", "ms", "", last(blocks.reveals), 0},
            {"block_time_loaded", "ms", "", *std::max_element(blocks.blocks.begin(), blocks.blocks.end()), 0},
            {"block_time_loaded_median", "ms", "", median(blocks.blocks), 0}};
}

}  // namespace retrace::bench
