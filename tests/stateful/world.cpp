// SPDX-License-Identifier: MIT
#include "tests/stateful/world.hpp"

#include <ctime>

#include "contracts/calls/encode.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/records/keys.hpp"
#include "contracts/records/validator_views.hpp"
#include "ledger/chain/build_block.hpp"
#include "ledger/chain/commit.hpp"
#include "ledger/state/supply.hpp"
#include "merkle/base/non_fatal.hpp"
#include "tests/stateful/checks.hpp"
#include "tests/stateful/validator_keys.hpp"

namespace retrace::stateful {
namespace {

using contracts::CallStatus;

constexpr std::uint64_t kBlockGas = 400'000'000;
constexpr std::uint64_t kIntrinsicGas = 21'000;
constexpr std::uint64_t kIdleLooks = 16;  // One of so many blocks in which nothing is due is executed all the same.

/// Throws a sentence of the checks, with its ids as the detail.
[[noreturn]] void fail(const std::string& sentence) {
    const auto detail = sentence.find(" (");
    if (detail == std::string::npos) throw Failure(sentence, "");
    throw Failure(sentence.substr(0, detail), sentence.substr(detail + 2, sentence.size() - detail - 3));
}

/// Counts by how much the scheduler's heights grew.
std::uint64_t items_added(const ledger::StateView& before, const ledger::StateDiff& diff) {
    std::uint64_t added = 0;
    const std::uint8_t tag = contracts::keys::due_count(0).bytes[0];
    for (const auto& [slot, value] : diff.slots) {
        if (slot.contract != address_of(contracts::Contract::market) || slot.key[0] != tag || value.empty()) continue;
        const Bytes old = before.slot(slot.contract, slot.key);
        added += Reader(value).u64() - (old.empty() ? 0 : Reader(old).u64());
    }
    return added;
}

ledger::StateDiff values_before(const ledger::StateDiff& diff, const ledger::StateView& view) {
    ledger::StateDiff before;
    for (const auto& [address, account] : diff.accounts) before.accounts[address] = view.account(address);
    for (const auto& [slot, value] : diff.slots) before.slots[slot] = view.slot(slot.contract, slot.key);
    return before;
}

}  // namespace

double processor_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Costs::add(const Costs& other) {
    if (other.call_reads_a_limit > call_reads_a_limit) reads_of = other.reads_of;
    if (other.call_writes_a_limit > call_writes_a_limit) writes_of = other.writes_of;
    if (other.call_bytes_a_limit > call_bytes_a_limit) bytes_of = other.bytes_of;
    call_reads_a_limit = std::max(call_reads_a_limit, other.call_reads_a_limit);
    call_writes_a_limit = std::max(call_writes_a_limit, other.call_writes_a_limit);
    call_bytes_a_limit = std::max(call_bytes_a_limit, other.call_bytes_a_limit);
    for (const auto& [method, theirs] : other.methods) {
        Most& most = methods[method];
        most = {std::max(most.reads, theirs.reads), std::max(most.writes, theirs.writes),
                std::max(most.bytes, theirs.bytes), std::max(most.items, theirs.items),
                most.gas == 0 ? theirs.gas : std::min(most.gas, theirs.gas)};
    }
    block_reads = std::max(block_reads, other.block_reads);
    block_seconds = std::max(block_seconds, other.block_seconds);
    call_seconds = std::max(call_seconds, other.call_seconds);
}

/// Counts reads of the state.
class World::Counted final : public ledger::StateView {
public:
    explicit Counted(const ledger::StateView& under) : under_(under) {}
    ledger::Account account(const Address& address) const override {
        ++reads;
        return under_.account(address);
    }
    Bytes slot(const Address& contract, View key) const override {
        Bytes found = under_.slot(contract, key);
        ++reads;
        bytes += found.size();
        return found;
    }
    mutable std::size_t reads = 0, bytes = 0;

private:
    const ledger::StateView& under_;
};

/// Turns a broken invariant, which ends the process of a node, into a failure with its trace.
template <class Work>
void World::guarded(Work work) {
    const NonFatalScope failed_invariants_are_thrown;
    try {
        work();
    } catch (const BrokenInvariant& broken) {
        throw Failure(std::string("nothing aborts: ") + broken.what(), "height " + std::to_string(block_.height));
    }
}

World::World(const market::Params& params, std::uint32_t accounts, Options options)
    : options_(options),
      params_(params),
      executor_(options.executor != nullptr ? *options.executor : contracts_),
      store_(std::make_unique<ledger::MemoryStore>()),
      base_(std::make_unique<ledger::LiveView>(*store_)),
      held_(std::make_unique<ledger::State>(*base_)),
      state_(*held_) {
    trace_.params = params;
    trace_.accounts = accounts;
    block_.chain_id = 7298;
    ledger::State first = ledger::State::over(state_);
    U256 each(1);
    for (int i = 0; i < 180; ++i) each += each;
    for (std::uint32_t i = 0; i < accounts; ++i) {
        parties_.push_back(party(i));
        ensure(ledger::mint(first, party(i), each), "2^180 for each of 2^32 accounts is a supply");
    }
    executor_.genesis(first, market::encode(params));
    std::vector<ledger::Validator> founders;
    for (std::uint32_t i = 0; i < std::min(accounts, 2U); ++i)
        founders.push_back({vote_key(party(i), 0), party(i), 100, vrf_secret(party(i), 0).key()});
    if (!founders.empty()) executor_.genesis_validators(first, founders, market::encode(validator_rules()));
    const ledger::StateDiff diff = first.diff();
    state_.apply(diff);
    mirror_.apply(diff);
    gas_left_ = kBlockGas;
}

void World::take_over(ledger::State& next) {
    const ledger::StateDiff diff = next.diff();
    state_.apply(diff);
    mirror_.apply(diff);
}

void World::check_cost(const std::string& method, std::uint64_t gas, const Counted& read, const ledger::State& next,
                       const ledger::StateDiff& diff) {
    std::size_t written = 0;
    for (const auto& [slot, value] : diff.slots) written += value.size();
    const Limits& limits = options_.limits;
    const double reads =
        static_cast<double>(read.reads) * static_cast<double>(limits.gas_a_read) / static_cast<double>(gas);
    const double writes =
        static_cast<double>(next.mark()) * static_cast<double>(limits.gas_a_write) / static_cast<double>(gas);
    const double bytes = static_cast<double>(read.bytes + written) / static_cast<double>(gas * limits.bytes_a_gas);
    if (reads > costs_.call_reads_a_limit) costs_.reads_of = method, costs_.call_reads_a_limit = reads;
    if (writes > costs_.call_writes_a_limit) costs_.writes_of = method, costs_.call_writes_a_limit = writes;
    if (bytes > costs_.call_bytes_a_limit) costs_.bytes_of = method, costs_.call_bytes_a_limit = bytes;
    Costs::Most& most =
        costs_.methods[method.substr(0, method.find(' ')) + (method.ends_with(" ok") ? "" : " refused")];
    most = {std::max<std::uint64_t>(most.reads, read.reads), std::max<std::uint64_t>(most.writes, next.mark()),
            std::max<std::uint64_t>(most.bytes, read.bytes + written), std::max(most.items, items_added(state_, diff)),
            most.gas == 0 ? gas : std::min(most.gas, gas)};
    const auto over = [&](const char* property, std::size_t amount) {
        throw Failure(property, method + ", " + std::to_string(amount) + " for " + std::to_string(gas) + " gas");
    };
    if (reads > 1) over("the records that a call reads are bounded by its gas", read.reads);
    if (writes > 1) over("the records that a call writes are bounded by its gas", next.mark());
    if (bytes > 1) over("the bytes that a call reads and writes are bounded by its gas", read.bytes + written);
}

CallStatus World::send(const SendCall& call) {
    trace_.events.emplace_back(call);
    ++calls_;
    CallStatus status = CallStatus::ok;
    guarded([&] {
        const Address to = address_of(call.contract);
        const std::uint64_t gas = executor_.gas_of(to, call.data);
        gas_left_ -= std::min(gas_left_, gas + kIntrinsicGas);
        const Counted counted(state_);
        ledger::State next = ledger::State::over(counted);
        const double from = processor_seconds();
        const ledger::CallResult result = executor_.call(next, block_, {call.sender, to, call.value, call.data, gas});
        const double seconds = processor_seconds() - from;
        const Counted read = counted;
        const ledger::StateDiff diff = next.diff();
        const std::string name = method_name(call.contract, call.data);
        if (!result.ok) {
            const auto refused = contracts::decode_refusal(result.output);
            if (!refused) throw Failure("a refusal says why", name);
            if (!diff.empty() || !result.logs.empty()) throw Failure("a refused call changes nothing", name);
            status = static_cast<CallStatus>(refused->code);
            if (refused->slug.find("invariant") != std::string::npos)
                throw Failure("no call breaks an invariant", name + ": " + result.revert_reason);
        }
        ++counts_[{name, static_cast<std::uint16_t>(status)}];
        if (result.gas_used != gas) throw Failure("a call uses the gas that its bytes say", name);
        check_cost(name + " " + std::string(result.ok ? "ok" : contracts::slug(status)), gas, read, next, diff);
        costs_.call_seconds = std::max(costs_.call_seconds, seconds);
        if (seconds > options_.limits.call_seconds) throw Failure("the time of a call is bounded", name);
        if (!result.ok) return;
        if (!ledger::supply_conserved(state_, next)) throw Failure("a call conserves the supply", name);
        if (const auto broken = executor_.broken_invariant(state_, next))
            throw Failure("invariants hold: " + *broken, "");
        state_.apply(diff);
        mirror_.apply(diff);
    });
    return status;
}

/// What an engine reports follows from height and state alone, so that a trace that is shortened has its own reports: one
/// validator after the other misses votes, some of them after it has left the set or under a key that it has replaced,
/// and now and then one has signed twice. Blocks in which nothing is due have no report, so each that has one counts for
/// several votes.
ledger::EngineReport World::report() const {
    ledger::EngineReport out;
    const auto set = contracts::views::validator_set(state_);
    if (set.empty()) return out;
    const auto& one = set[block_.height / validator_rules().downtime_blocks % set.size()];
    const ledger::ConsensusAddress address = ledger::consensus_address(one.key);
    out.missed.assign(2, address);
    const auto other =
        std::next(mirror_.validators.begin(), static_cast<std::ptrdiff_t>(block_.height % mirror_.validators.size()));
    out.missed.push_back(ledger::consensus_address(other->second.key));
    out.missed.push_back(ledger::consensus_address(vote_key(other->first, block_.height % 6)));
    if (block_.height % 67 == 0) out.misbehavior.push_back({address, block_.height});
    return out;
}

void World::begin_block() {
    guarded([&] {
        const Counted counted(state_);
        ledger::State next = ledger::State::over(counted);
        const double from = processor_seconds();
        if (const auto given = report(); !given.empty()) (void)executor_.engine_report(next, block_, given);
        (void)executor_.begin_block(next, block_);
        const double seconds = processor_seconds() - from;
        costs_.block_reads = std::max<std::uint64_t>(costs_.block_reads, counted.reads);
        costs_.block_seconds = std::max(costs_.block_seconds, seconds);
        if (counted.reads > options_.limits.block_reads)
            throw Failure("the records that the start of a block reads are bounded",
                          std::to_string(counted.reads) + " records");
        if (seconds > options_.limits.block_seconds)
            throw Failure("the time of the start of a block is bounded", std::to_string(seconds) + " s");
        if (!ledger::supply_conserved(state_, next)) throw Failure("the start of a block conserves the supply", "");
        if (const auto broken = executor_.broken_invariant(state_, next))
            throw Failure("invariants hold: " + *broken, "");
        take_over(next);
    });
}

void World::pass(std::uint64_t blocks) {
    trace_.events.emplace_back(PassBlocks{blocks});
    advance(blocks);
}

void World::play(const Event& event) {
    if (const auto* blocks = std::get_if<PassBlocks>(&event))
        pass(blocks->count);
    else if (const auto* end = std::get_if<Drain>(&event))
        (void)drain(end->blocks);
    else
        (void)send(std::get<SendCall>(event));
}

void World::advance(std::uint64_t blocks) {
    for (; blocks > 0; --blocks) {
        ++block_.height;
        gas_left_ = kBlockGas;
        const auto due = mirror_.next_due();
        const bool epoch = block_.height % params_.epoch_blocks == 0;
        if (!epoch && (!due || *due > block_.height)) {
            if (block_.height % kIdleLooks != 0) continue;
            ledger::State next = ledger::State::over(state_);
            guarded([&] { (void)executor_.begin_block(next, block_); });
            if (!next.diff().empty()) throw Failure("a block in which nothing is due changes nothing", "");
            continue;
        }
        begin_block();
        ++blocks_;
        if (options_.check_every != 0 && blocks_ % options_.check_every == 0) check();
        if (options_.restart_every != 0 && blocks_ % options_.restart_every == 0) restart();
    }
}

void World::check() const {
    std::optional<std::string> broken;
    const_cast<World*>(this)->guarded([&] { broken = contracts::deep_check(state_, parties_); });
    if (!broken) broken = over_bound(mirror_, params_);
    if (!broken) broken = without_schedule(mirror_, block_.height);
    if (broken) fail(*broken);
}

bool World::drain(std::uint64_t blocks) {
    trace_.events.emplace_back(Drain{blocks});
    const std::uint64_t end = block_.height + blocks;
    const auto open = [&] { return still_open(mirror_, params_, block_.height); };
    while (block_.height < end && open()) {
        // Skips to the next height with something due; an epoch's first block always has.
        const std::uint64_t epoch = (block_.height / params_.epoch_blocks + 1) * params_.epoch_blocks;
        const std::uint64_t due = std::max(block_.height + 1, mirror_.next_due().value_or(epoch));
        advance(std::min({epoch, due, end}) - block_.height);
    }
    check();
    if (const auto left = open()) {
        if (mirror_.next_due() && *mirror_.next_due() > block_.height + params_.epoch_blocks) return false;
        fail(*left);
    }
    return true;
}

void World::restart() {
    guarded([&] {
        ledger::BlockParts parts;
        parts.header.height = tip_ ? tip_->height + 1 : 0;
        parts.diff = state_.diff();
        parts.before = values_before(parts.diff, *base_);
        parts.old_state_root = stored_root_;
        parts.threads = 1;
        const ledger::StateDiff diff = parts.diff;
        auto outcome = ledger::build_block(ledger::PageSource(*store_), std::move(parts));
        if (!outcome) throw Failure("a state is written and read again", outcome.error().message);
        const ledger::CommitPlan plan = ledger::plan_commit(*store_, *outcome, tip_, ledger::ChainOptions{});
        if (!store_->write(plan.batch, true)) throw Failure("a state is written and read again", "the store");
        tip_ = plan.tip;
        stored_root_ = outcome->block->header.state_root;
        state_.clear();
        for (const auto& [slot, value] : diff.slots)
            if (state_.slot(slot.contract, slot.key) != value)
                throw Failure("a state is written and read again", "a slot");
        for (const auto& [address, account] : diff.accounts)
            if (state_.account(address) != account) throw Failure("a state is written and read again", "an account");
    });
}

Hash32 World::root() const {
    ledger::BlockParts parts;
    parts.diff = state_.diff();
    parts.old_state_root = stored_root_;
    parts.threads = 1;
    auto outcome = ledger::build_block(ledger::PageSource(*store_), std::move(parts));
    if (!outcome) throw Failure("a state has a root", outcome.error().message);
    return outcome->block->header.state_root;
}

}  // namespace retrace::stateful
