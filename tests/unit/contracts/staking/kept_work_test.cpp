// SPDX-License-Identifier: MIT
// Answers about kept states, which strangers can ask for, stop no draw. SPEC 14.2.8.
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

constexpr std::uint64_t kAllowance = 30;

class KeptWork : public MarketTest {
protected:
    void start(const std::vector<std::string>& verifiers) {
        market::Params wanted = small_params();
        wanted.checkpoint_blocks = 1'000;
        begin(wanted);
        for (const std::string& name : verifiers) add_verifier(name);
        add_solver("alice");
        advance(9);
        TaskSpec spec = small_spec();
        spec.replay_blocks = kAllowance;
        spec.auditors = 1;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1'000);
        spec.finish_blocks = 5'000;
        post(spec);
        auction({{"alice", 400}});
        ASSERT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
    }
    void give_answers(const std::string& who, std::uint64_t blocks) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        give_kept_work(fx, party(who), blocks);
        state.apply(next.diff());
    }
    market::Audit audit() const { return views::audit(state, 1).value(); }
    bool has_seat() const { return views::audit_count(state) == 1 && !audit().seats.empty(); }
};

/// An attacker reports states that all members keep just before each epoch.
TEST_F(KeptWork, DoesNotKeepMembersOutOfTheDraw) {
    start({"v1", "v2", "v3"});
    const std::uint64_t from = height;
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        const bool last = (height + 1) % params.epoch_blocks == 0;
        for (const char* name : {"v1", "v2", "v3"}) {
            const std::uint64_t open = backlog(state, party(name)).kept_work;
            ledger::State next{static_cast<const ledger::StateView&>(state)};
            Effects fx{next, params, height, {}};
            if (!last && open != 0) end_kept_work(fx, party(name), open);
            if (last) give_kept_work(fx, party(name), params.unbond_blocks);
            state.apply(next.diff());
        }
        return has_seat();
    }));
    EXPECT_LE(height, from + 5 * params.epoch_blocks);
}

/// A verdict counts as soon as it comes, whatever else its auditor still has to do.
TEST_F(KeptWork, AVerdictThatIsEarlyCounts) {
    start({"v1"});
    give_answers("v1", params.unbond_blocks);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), has_seat(); }));
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).state == market::SegmentState::verified;
    }));
}

}  // namespace
}  // namespace retrace::contracts
