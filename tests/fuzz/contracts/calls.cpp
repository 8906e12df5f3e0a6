// SPDX-License-Identifier: MIT
// The native contracts under arbitrary transactions in arbitrary blocks: calldata that is whole, damaged or noise, from
// a few accounts, with any value. A refused call changes nothing, the invariants hold after every call, and at the end
// all records add up.
#include "contracts/calls/encode.hpp"
#include "contracts/executor.hpp"
#include "contracts/invariants.hpp"
#include "market/params.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace contracts;

constexpr std::size_t kParties = 5, kCallsMax = 60;

class EmptyView final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

Address party(std::size_t n) {
    Address out;
    out.bytes[19] = static_cast<std::uint8_t>(n + 1);
    return out;
}

market::Params parameters() {
    market::Params params;
    params.developer_chain = true;
    for (std::uint64_t* blocks : {&params.epoch_blocks, &params.bid_blocks, &params.reveal_blocks, &params.accept_blocks,
                                  &params.checkpoint_blocks, &params.open_blocks, &params.verdict_blocks,
                                  &params.reveal_segment_blocks, &params.reveal_verdict_blocks, &params.challenge_blocks,
                                  &params.deliver_blocks, &params.answer_blocks, &params.unbond_blocks})
        *blocks = 3;
    return params;
}

TaskSpec sample_spec(Choices& choices) {
    TaskSpec spec;
    spec.name = "task";
    spec.program_root.bytes[0] = 1;
    spec.program_bytes = 1000;
    (choices.flip() ? spec.init_root : spec.initial_state_root).bytes[0] = 2;
    spec.data_roots = {spec.program_root};
    spec.steps = 1 + choices.below(40);
    spec.interval = 1 + choices.below(12);
    spec.price_ceiling = ledger::U256(market::kMilli) * ledger::U256(choices.byte());
    spec.auditors = static_cast<std::uint8_t>(choices.below(4));
    spec.replicas = static_cast<std::uint8_t>(choices.below(3));
    spec.checkpoint_blocks = choices.below(8);
    spec.replay_blocks = choices.below(8);
    spec.finish_blocks = 20 + choices.below(100);
    return spec;
}

/// Numbers that could be ids, roots that could be right.
Hash32 pick_hash(Choices& choices) {
    Hash32 out;
    out.bytes[0] = static_cast<std::uint8_t>(choices.below(3));
    return out;
}

/// Fills the fields of a call.
struct Filler {
    Choices& choices;
    void fill(bool& v) { v = choices.flip(); }
    template <class T>
        requires std::unsigned_integral<T>
    void fill(T& v) { v = static_cast<T>(choices.below(16) == 0 ? choices.number() : choices.below(5)); }
    void fill(ledger::U256& v) { v = ledger::U256(market::kMilli) * ledger::U256(choices.byte()); }
    void fill(Hash32& v) { v = pick_hash(choices); }
    void fill(std::string& v) { v = "http://a"; }
    void fill(Bytes& v) { v = to_bytes(choices.take(choices.byte())); }
    void fill(TaskSpec& v) { v = sample_spec(choices); }
    template <class T>
    void fill(std::vector<T>& v) {
        v.resize(choices.below(4));
        for (T& item : v) fill(item);
    }
};

struct Draft {
    Contract contract{};
    Bytes data;
};

template <std::size_t I = 0>
Draft draft(std::size_t index, Choices& choices) {
    if constexpr (I == std::variant_size_v<AnyCall>) {
        return {kContracts[choices.below(kContracts.size())], to_bytes(choices.take(40))};
    } else {
        if (index != I) return draft<I + 1>(index, choices);
        using Call = std::variant_alternative_t<I, AnyCall>;
        Call call;
        std::apply([&](auto&... field) { (Filler{choices}.fill(field), ...); }, Call::tie(call));
        return {Call::kContract, calldata(call)};
    }
}

class World {
public:
    World() {
        for (std::size_t i = 0; i < kParties; ++i)
            state_.set_account(party(i), {0, ledger::U256(market::kMilli) * ledger::U256(1'000'000)});
        executor_.genesis(state_, market::encode(parameters()));
    }

    void next_block() {
        ++block_.height;
        ledger::State after = ledger::State::over(state_);
        (void)executor_.begin_block(after, block_);
        take_over(after);
    }
    void call(const Address& sender, const Draft& draft, const ledger::U256& value, std::uint64_t gas) {
        ledger::State after = ledger::State::over(state_);
        const ledger::Call call{sender, address_of(draft.contract), value, draft.data, gas};
        const ledger::CallResult result = executor_.call(after, block_, call);
        require(result.gas_used <= gas, "a call takes no more gas than it was given");
        if (result.ok) return take_over(after);
        require(after.diff().empty(), "a refused call changes nothing");
        require(result.logs.empty() && decode_refusal(result.output), "a refusal says why");
    }
    void finish() const {
        std::vector<Address> parties;
        for (std::size_t i = 0; i < kParties; ++i) parties.push_back(party(i));
        const auto broken = deep_check(state_, parties);
        require(!broken, broken ? broken->c_str() : "");
    }

private:
    void take_over(const ledger::State& after) {
        const auto broken = broken_invariant(state_, after);
        require(!broken, broken ? broken->c_str() : "");
        state_.apply(after.diff());
    }

    EmptyView empty_;
    ledger::State state_{empty_};
    Executor executor_;
    ledger::BlockContext block_;
};

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t i = 0; i < 40; ++i) out.push_back(random_choices(0, i, 900));
    return out;
}

void run(View input) {
    Choices choices(input);
    World world;
    world.next_block();
    for (std::size_t calls = 0; calls < kCallsMax && !choices.empty(); ++calls) {
        for (std::size_t blocks = choices.below(3); blocks > 0; --blocks) world.next_block();
        const Address sender = party(choices.below(kParties));
        Draft call = draft(choices.below(std::variant_size_v<AnyCall> + 1), choices);
        if (choices.below(8) == 0 && !call.data.empty()) call.data[choices.byte() % call.data.size()] ^= choices.byte();
        const ledger::U256 value = choices.flip() ? ledger::U256(market::kMilli) * ledger::U256(10 * choices.byte()) : 0;
        world.call(sender, call, value, choices.below(16) == 0 ? choices.byte() * 1000u : 10'000'000);
    }
    world.finish();
}

}  // namespace retrace::fuzz
