// SPDX-License-Identifier: MIT
// What the largest group costs the ledger: blocks that close a round of 255 members, on a state in memory.
#include <chrono>

#include "contracts/calls/encode.hpp"
#include "contracts/executor.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/views.hpp"
#include "kernels/plan/group_plan.hpp"
#include "ledger/state/supply.hpp"
#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/bench/rounds/measurements.hpp"

namespace retrace::bench {
namespace {

using ledger::Address;
using ledger::U256;

constexpr std::uint32_t kMostMembers = market::kMembersMax;
constexpr std::uint32_t kClosedRounds = 5;

class NoState final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

Hash32 word(const std::string& text) { return merkle::sha256(view(text)); }

/// A chain with one group, whose calls are all accepted.
class GroupChain {
public:
    GroupChain() {
        params_.contract_hash = word("kernels");
        executor_.genesis(state_, market::encode(params_));
        for (std::uint32_t i = 0; i <= kMostMembers; ++i)
            ensure(ledger::mint(state_, party(i), coins(1000)), "new coins");
    }

    static Address party(std::uint32_t index) {
        return ledger::address_of_bytes(view(word("party " + std::to_string(index))).first(20));
    }
    static U256 coins(std::uint64_t count) { return U256(1'000 * count) * market::kMilli; }

    template <class Call>
    void send(std::uint32_t sender, const Call& call, const U256& value = {}) {
        const ledger::Call raw{party(sender), contracts::address_of(Call::kContract), value, {}, 20'000'000};
        const Bytes data = contracts::calldata(call);
        ledger::Call sent = raw;
        sent.data = data;
        const auto result = executor_.call(state_, block(), sent);
        ensure(result.ok, "a call of the benchmark is accepted");
    }
    /// Returns the milliseconds that the scheduled work of the next block takes.
    double next_block() {
        ++height_;
        const auto from = std::chrono::steady_clock::now();
        executor_.begin_block(state_, block());
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
    }
    market::Group group() const { return contracts::views::group(state_, 1).value(); }
    const ledger::State& state() const { return state_; }
    const market::Params& params() const { return params_; }
    void pass_until(market::GroupPhase phase) {
        while (group().phase != phase) next_block();
    }
    void pass_to(std::uint64_t height) {
        while (height_ < height) next_block();
    }

private:
    ledger::BlockContext block() const {
        ledger::BlockContext out;
        out.height = height_;
        out.chain_id = 7298;
        return out;
    }
    NoState nothing_;
    ledger::State state_{nothing_};
    market::Params params_;
    contracts::Executor executor_;
    std::uint64_t height_ = 0;
};

market::GroupSpec terms() {
    market::GroupSpec out;
    out.rounds = kClosedRounds;
    out.steps_max = 10;
    out.shared = 2;
    out.public_tensors = {5, 6, 7};
    for (std::uint8_t phase = 1; phase <= market::kPlanPhases; ++phase)
        out.phases.push_back({phase, phase >= 6, word("phase " + std::to_string(phase))});
    out.least = 2;
    out.round_blocks = out.grace_blocks = 1000;
    out.fetch_blocks = out.reveal_blocks = 100;
    out.absence_limit = 4;
    out.keep_rounds = 8;
    out.catch_up_max = 8 * kMostMembers;
    return out;
}

market::TaskSpec spec_of(const market::GroupSpec& group, const market::Params& params) {
    kernels::PlanHeader header{group.steps_max, group.shared, group.public_tensors, {}};
    for (const market::PhaseRoot& phase : group.phases)
        header.phases.push_back({static_cast<kernels::Phase>(phase.phase), phase.member_seed, phase.program_root});
    market::TaskSpec out;
    out.program_root = header.root();
    out.program_bytes = 1000;
    out.init_root = group.phases[0].program_root;
    out.steps = std::uint64_t{group.rounds} + 1;
    out.interval = 1;
    out.contract_hash = params.contract_hash;
    out.price_ceiling = market::kMilli;
    out.replicas = static_cast<std::uint8_t>(kMostMembers);
    out.finish_blocks = 100'000;
    return out;
}

/// All members have accepted and have their first state. Member i is party i + 1.
void begin(GroupChain& chain) {
    using namespace contracts;
    const auto group = terms();
    const auto spec = spec_of(group, chain.params());
    chain.next_block();
    for (std::uint32_t i = 1; i <= kMostMembers; ++i) {
        chain.send(i, Deposit{}, GroupChain::coins(100));
        chain.send(i, RegisterSolver{"http://solver", 1});
    }
    chain.send(0, PostGroup{spec, group}, market::escrow_of(spec, chain.params())->total());
    const auto task = views::task(chain.state(), 1).value();
    const Hash32 salt = word("salt");
    for (std::uint32_t i = 1; i <= kMostMembers; ++i) {
        const Hash32 bid =
            market::bid_commitment(1, task.round, U256(1000), task.reveal_end + 9000, salt, GroupChain::party(i));
        chain.send(i, CommitBid{1, bid}, chain.params().bid_deposit);
    }
    chain.pass_to(task.bid_end);
    for (std::uint32_t i = 1; i <= kMostMembers; ++i)
        chain.send(i, RevealBid{1, U256(1000), task.reveal_end + 9000, salt});
    chain.pass_to(task.reveal_end);
    for (std::uint32_t run = 0; run < kMostMembers; ++run) {
        const Address solver = views::run(chain.state(), 1, run)->solver;
        std::uint32_t party = 1;
        while (GroupChain::party(party) != solver) ++party;
        chain.send(party, AcceptData{1});
    }
}

/// Party of each run.
std::vector<std::uint32_t> parties_of(const GroupChain& chain) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t run = 0; run < kMostMembers; ++run) {
        const Address solver = contracts::views::run(chain.state(), 1, run)->solver;
        std::uint32_t party = 1;
        while (GroupChain::party(party) != solver) ++party;
        out.push_back(party);
    }
    return out;
}

struct Times {
    double close = 0, after = 0;  ///< Of the block that closes the round, and of the one after it with its payments.
};

Times play_round(GroupChain& chain, const std::vector<std::uint32_t>& parties) {
    using namespace contracts;
    const std::uint32_t round = chain.group().round;
    const Hash32 root = word("root");
    for (std::uint32_t run = 0; run < kMostMembers; ++run)
        chain.send(parties[run], CommitRound{1, run, round + 1, round, 10, root, {root, root, root}});
    chain.pass_until(market::GroupPhase::spreading);
    std::vector<Bytes> bitmaps;
    for (std::uint32_t run = 0; run < kMostMembers; ++run) {
        Bytes& bits = bitmaps.emplace_back((kMostMembers + 7) / 8);
        for (std::uint32_t place = 0; place < kMostMembers; ++place)  // Runs commit in their order.
            if (place != run) bits[place / 8] = static_cast<std::uint8_t>(bits[place / 8] | 1u << (place % 8));
        chain.send(parties[run], CommitHoldings{1, run, round, market::holding_commitment(1, run, round, root, bits)});
    }
    chain.pass_until(market::GroupPhase::revealing);
    for (std::uint32_t run = 0; run < kMostMembers; ++run)
        chain.send(parties[run], RevealHoldings{1, run, round, bitmaps[run], root});
    Times out;
    // A block handles at most 256 items, among them the draws of 255 segments, so the clock's may wait for the next.
    while (chain.group().round == round) out.close = chain.next_block();
    ensure(views::round(chain.state(), 1, round)->entries.size() == kMostMembers, "all messages are recorded");
    out.after = chain.next_block();
    return out;
}

}  // namespace

std::vector<Row> measure_ledger() {
    GroupChain chain;
    begin(chain);
    const auto parties = parties_of(chain);
    for (std::uint32_t run = 0; run < kMostMembers; ++run)
        chain.send(parties[run], contracts::CommitCheckpoint{1, run, 0, word("first")});
    chain.pass_until(market::GroupPhase::training);
    std::vector<double> close, after;
    for (std::uint32_t round = 0; round < kClosedRounds; ++round) {
        const Times times = play_round(chain, parties);
        close.push_back(times.close);
        after.push_back(times.after);
    }
    const std::string members = std::to_string(kMostMembers) + " members, the most a group has";
    return {{"rounds_ledger", "ms", members, median(close), 0},
            {"rounds_ledger_payments", "ms", members, median(after), 0}};
}

}  // namespace retrace::bench
