// SPDX-License-Identifier: MIT
// Answers about kept states, which strangers can ask for, stop no draw and hold an audit for a bounded time. SPEC
// 14.2.8, 14.6.9.
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using market::AuditPhase;

constexpr std::uint64_t kReplay = 30;

class KeptWork : public MarketTest {
protected:
    void start(const std::vector<std::string>& verifiers, std::uint8_t auditors = 1) {
        market::Params wanted = small_params();
        wanted.checkpoint_blocks = 1'000;
        wanted.redraws = 1;
        begin(wanted);
        for (const std::string& name : verifiers) add_verifier(name);
        add_solver("alice");
        advance(9);
        TaskSpec spec = small_spec();
        spec.replay_blocks = kReplay;
        spec.auditors = auditors;
        spec.audit_bp = 1;
        spec.price_ceiling = U256(1'000);
        spec.finish_blocks = 5'000;
        post(spec);
        auction({{"alice", 400}});
        ASSERT_EQ(send("alice", AcceptData{1}), Verdict::ok);
        for (const std::uint64_t i : {0, 1}) ASSERT_EQ(checkpoint("alice", i), Verdict::ok);
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

/// An attacker's own verifier, with answers for longer than stake takes to unbond, stays silent in a seat.
TEST_F(KeptWork, HoldsAnAuditNoLongerThanAnyOther) {
    start({"v1", "v2"});
    for (const char* name : {"v1", "v2"}) give_answers(name, 3 * params.unbond_blocks);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), has_seat(); }));
    const market::Seat seat = audit().seats.at(0);
    EXPECT_GT(seat.due, height + 2 * params.unbond_blocks) << "the place in its order of work stays";
    EXPECT_EQ(audit().deadline, height + params.unbond_blocks / 2 + kReplay + params.verdict_blocks);
    const U256 bonded = views::stake(state, seat.auditor).bonded;
    ASSERT_TRUE(advance_until([&] { return audit().phase == AuditPhase::drawing; }, 3 * params.unbond_blocks));
    EXPECT_THAT(audit().seats, ::testing::IsEmpty()) << "it may do its work in order, and loses nothing";
    EXPECT_EQ(audit().redraws, 0u) << "the draw does not count";
    EXPECT_EQ(views::stake(state, seat.auditor).bonded, bonded);
    EXPECT_EQ(views::stake(state, seat.auditor).available(), bonded);
    EXPECT_EQ(views::verifier(state, seat.auditor)->missed, 0u);
    EXPECT_TRUE(advance_until([&] { return has_seat(); })) << "it is drawn anew";
}

/// A forger has its accomplices report states that its honest auditors keep, so that their turn comes too late. Its
/// accomplice beside them must not decide the audit alone, however often that happens.
TEST_F(KeptWork, OfHonestAuditorsLeavesNoAuditToAnAccomplice) {
    wrong_from = 1;
    start({"v1", "v2", "v3"}, 2);
    const std::vector<std::string> honest = {"v2", "v3"};
    for (const std::string& name : honest) give_answers(name, 20 * params.unbond_blocks);
    const auto agree = [&] {  // v1 says what alice says
        const Hash32 mine = solver_root(1, 0), secret = word("verdict v1");
        if (audit().phase == AuditPhase::collecting)
            send("v1", CommitVerdict{1, solver::verdict_commitment(mine, secret, party("v1").bytes, 1)});
        if (audit().phase == AuditPhase::verdicts) send("v1", RevealVerdict{1, mine, secret});
    };
    const auto draws = [&] { return all<AuditorsDrawn>().size(); };
    for (int i = 0; i < 1'200 && draws() < params.redraws + 3; ++i) {
        serve("alice");
        if (has_seat()) agree();
        ASSERT_NE(segment(0).state, market::SegmentState::verified);
        next_block();
    }
    ASSERT_GE(draws(), params.redraws + 3);
    for (const std::string& name : honest) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        end_kept_work(fx, party(name), 20 * params.unbond_blocks);
        state.apply(next.diff());
    }
    lazy = {"v1"};
    ASSERT_TRUE(advance_until([&] { return serve("alice"), check_audits(), views::dispute_count(state) != 0; }));
}

/// A verdict that comes before the audit stops waiting counts, whatever else its auditor still has to do.
TEST_F(KeptWork, AVerdictThatIsEarlyCounts) {
    start({"v1"});
    give_answers("v1", params.unbond_blocks);
    ASSERT_TRUE(advance_until([&] { return serve("alice"), has_seat(); }));
    ASSERT_TRUE(advance_until([&] {
        serve("alice");
        check_audits();
        return segment(0).state == market::SegmentState::verified;
    }));
    EXPECT_EQ(counter(state, keys::latest_place(1, party("v1"))), 0u);
}

}  // namespace
}  // namespace retrace::contracts
