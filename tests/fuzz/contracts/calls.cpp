// SPDX-License-Identifier: MIT
// The native contracts under arbitrary transactions in arbitrary blocks: plausible calls, calls with random fields,
// damaged calldata, noise, any value, and reads. A refused call changes nothing, the invariants hold after every call,
// a simulation predicts the result of the call, a read writes nothing, and at the end all records add up.
#include "contracts/executor.hpp"
#include "contracts/lifecycle/invariants.hpp"
#include "contracts/records/methods.hpp"
#include "tests/fuzz/contracts/actions.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace contracts;

constexpr std::size_t kCallsMax = 300;
constexpr std::uint64_t kReadGas = 1'000'000;

class EmptyView final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

market::Params parameters() {
    market::Params params;
    params.developer_chain = true;
    for (std::uint64_t* blocks :
         {&params.epoch_blocks, &params.bid_blocks, &params.reveal_blocks, &params.accept_blocks,
          &params.checkpoint_blocks, &params.open_blocks, &params.verdict_blocks, &params.reveal_segment_blocks,
          &params.reveal_verdict_blocks, &params.challenge_blocks, &params.deliver_blocks, &params.answer_blocks})
        *blocks = 4;
    params.move_blocks = 2;
    params.unbond_blocks = 200;
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

/// Returns a number that could be an id, or a root that could be right.
Hash32 pick_hash(Choices& choices) {
    Hash32 out;
    out.bytes[0] = static_cast<std::uint8_t>(choices.below(3));
    return out;
}

/// Fills the fields of a call with choices.
struct Filler {
    Choices& choices;
    void fill(bool& v) { v = choices.flip(); }
    template <class T>
    requires std::unsigned_integral<T>
    void fill(T& v) { v = static_cast<T>(choices.below(16) == 0 ? choices.number() : choices.below(5)); }
    void fill(ledger::U256& v) { v = ledger::U256(market::kMilli) * ledger::U256(choices.byte()); }
    void fill(Hash32& v) { v = pick_hash(choices); }
    void fill(ledger::Address& v) { v = party(choices.below(kParties + 1)); }
    void fill(std::string& v) { v = "http://a"; }
    void fill(Bytes& v) { v = to_bytes(choices.take(choices.byte())); }
    void fill(TaskSpec& v) { v = sample_spec(choices); }
    template <class T>
    requires requires(T& v) { T::tie(v); }
    void fill(T& v) {
        std::apply([&](auto&... field) { (fill(field), ...); }, T::tie(v));
    }
    template <class T>
    void fill(std::vector<T>& v) {
        v.resize(choices.below(4));
        for (T& item : v) fill(item);
    }
};

/// Returns a call of method `index` with random fields, or noise.
template <std::size_t I = 0>
Action any_call(std::size_t index, Choices& choices) {
    if constexpr (I == std::variant_size_v<AnyCall>) {
        return {{}, kContracts[choices.below(kContracts.size())], to_bytes(choices.take(40)), 0};
    } else {
        if (index != I) return any_call<I + 1>(index, choices);
        std::variant_alternative_t<I, AnyCall> call;
        std::apply([&](auto&... field) { (Filler{choices}.fill(field), ...); }, call.tie(call));
        return {{}, call.kContract, calldata(call), 0};
    }
}

/// Returns a read of view `index` with ids and parties that may or may not exist.
template <std::size_t I = 0>
Action any_read(std::size_t index, Choices& choices) {
    if constexpr (I == std::variant_size_v<AnyRead>) {
        return {};
    } else {
        if (index != I) return any_read<I + 1>(index, choices);
        std::variant_alternative_t<I, AnyRead> read;
        std::apply([&](auto&... field) { (Filler{choices}.fill(field), ...); }, read.tie(read));
        return {party(choices.below(kParties)), read.kContract, calldata(read), 0};
    }
}

class World {
public:
    World() {
        for (std::size_t i = 0; i < kParties; ++i)
            state_.set_account(party(i), {0, ledger::U256(market::kMilli) * ledger::U256(1'000'000)});
        executor_.genesis(state_, market::encode(params_));
    }

    void next_block() {
        ++block_.height;
        ledger::State after = ledger::State::over(state_);
        (void)executor_.begin_block(after, block_);
        take_over(after);
    }
    /// Passes blocks, so that deadlines expire.
    void wait(std::size_t blocks) {
        for (; blocks > 0; --blocks) next_block();
    }
    void call(const Action& action, std::uint64_t gas) {
        ledger::State after = ledger::State::over(state_);
        const ledger::Call call{action.sender, address_of(action.contract), action.value, action.data, gas};
        const ledger::CallResult said = executor_.view_call(state_, block_, call);
        const ledger::CallResult result = executor_.call(after, block_, call);
        require(result.gas_used <= gas, "a call takes no more gas than it was given");
        require(said.ok == result.ok && said.gas_used == result.gas_used && said.output == result.output &&
                    said.logs == result.logs,
                "a simulation says what the call then does");
        if (result.ok) return take_over(after);
        require(after.diff().empty(), "a refused call changes nothing");
        require(result.logs.empty() && decode_refusal(result.output), "a refusal says why");
    }
    /// A read must return an answer or a named refusal within bounded gas, and write nothing.
    void read(const Action& action) const {
        ledger::State after = ledger::State::over(state_);
        const ledger::Call call{action.sender, address_of(action.contract), action.value, action.data, kReadGas};
        const ledger::CallResult sent = executor_.call(after, block_, call);
        require(after.diff().empty() && sent.logs.empty(), "a read only reads");
        require(!sent.ok || sent.output.empty(), "in a transaction nothing is kept of a read");
        const ledger::CallResult result = executor_.view_call(state_, block_, call);
        require(result.ok ? result.output.size() % 32 == 0 : decode_refusal(result.output).has_value(),
                "a read answers in words, or says why not");
    }
    /// Returns a plausible call, or any call.
    Action pick(Choices& choices) const {
        if (choices.below(8) != 0) {
            auto likely = Actions(state_, params_, block_.height, choices).all();
            if (!likely.empty()) return std::move(likely[(choices.byte() << 8 | choices.byte()) % likely.size()]);
        }
        Action out = any_call(choices.below(std::variant_size_v<AnyCall> + 1), choices);
        out.sender = party(choices.below(kParties));
        if (choices.flip()) out.value = ledger::U256(market::kMilli) * ledger::U256(10 * choices.byte());
        return out;
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

    const market::Params params_ = parameters();
    EmptyView empty_;
    ledger::State state_{empty_};
    Executor executor_;
    ledger::BlockContext block_;
};

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t i = 0; i < 40; ++i) out.push_back(random_choices(0, i, 6000));
    return out;
}

void run(View input) {
    Choices choices(input);
    World world;
    world.next_block();
    for (std::size_t calls = 0; calls < kCallsMax && !choices.empty(); ++calls) {
        if (choices.below(6) == 0) world.next_block();
        if (choices.below(32) == 0) world.wait(choices.below(64));
        if (choices.below(4) == 0) world.read(any_read(choices.below(std::variant_size_v<AnyRead>), choices));
        Action action = world.pick(choices);
        if (choices.below(16) == 0 && !action.data.empty())
            action.data[choices.byte() % action.data.size()] ^= choices.byte();
        world.call(action, choices.below(16) == 0 ? choices.byte() * 1000u : 10'000'000);
    }
    world.finish();
}

}  // namespace retrace::fuzz
