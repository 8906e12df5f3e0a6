// SPDX-License-Identifier: MIT
// Each reveal draws segments independently of the others (SPEC 11.6, market 7.2), on a whole chain.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "contracts/records/store.hpp"
#include "market/draw.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class BeaconDraw : public MarketTest {
protected:
    std::vector<market::Reveal> reveals() const {
        const std::uint64_t newest = views::beacon(state)->epoch;
        return load<MixedEpoch>(state, keys::mixed_epoch(newest)).value_or(MixedEpoch{}).reveals;
    }

    bool is_kept(std::uint64_t epoch) const { return load<MixedEpoch>(state, keys::mixed_epoch(epoch)).has_value(); }

    /// Items without an effect, which the scheduler handles before the draws of the epoch after the next one.
    void write_backlog(std::uint64_t items) {
        ledger::State next{static_cast<const ledger::StateView&>(state)};
        Effects fx{next, params, height, {}};
        for (std::uint64_t i = 0; i < items; ++i) schedule(fx, height + 1, {ScheduledKind::wake, 1, 0, 1'000'000});
        state.apply(next.diff());
    }

    /// Returns the audited ones of sixty segments that were all committed in one epoch; with `withheld`, v4 does not
    /// reveal in the next epoch.
    std::set<std::uint64_t> audited(bool withheld, std::uint64_t backlog = 0) {
        begin(small_params());
        events.clear();
        silent.clear();
        for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
        add_solver("alice");
        add_solver("bob");
        advance(9);
        TaskSpec spec = small_spec();
        spec.steps = 600;
        post(spec);
        auction({{"alice", 400}, {"bob", 700}});
        EXPECT_EQ(send("alice", AcceptData{1}), CallStatus::ok);
        while (height % params.epoch_blocks != 2) next_block();  // All members have revealed in this epoch.
        for (std::uint64_t i = 0; i <= 60; ++i) EXPECT_EQ(checkpoint("alice", i), CallStatus::ok) << last.revert_reason;
        if (withheld) silent.insert("v4");
        if (backlog != 0) write_backlog(backlog);
        std::set<std::uint64_t> out;
        const std::uint64_t late = backlog / 256;
        EXPECT_TRUE(advance_until([&] { return all<SegmentDrawn>().size() == 60; }, 2 * params.epoch_blocks + late));
        for (const SegmentDrawn& drawn : all<SegmentDrawn>())
            if (drawn.audited) out.insert(drawn.segment);
        EXPECT_EQ(reveals().size(), withheld ? 3u : 4u);
        return out;
    }
};

TEST_F(BeaconDraw, AWithheldRevealTakesOutOnlyWhatItDrewItself) {
    const std::set<std::uint64_t> open = audited(false);
    const market::Reveal own = [&] {
        for (const market::Reveal& reveal : reveals())
            if (reveal.member == party("v4")) return reveal;
        return market::Reveal{};
    }();
    EXPECT_EQ(own.weight, U256(100) * kCoin);
    const std::set<std::uint64_t> without = audited(true);
    EXPECT_EQ(all<Slashed>().at(0).amount, params.beacon_penalty);
    EXPECT_GT(without.size(), 5u);
    std::size_t lost = 0;
    for (const std::uint64_t segment : open) {
        if (without.contains(segment)) continue;
        ++lost;
        EXPECT_TRUE(market::is_drawn({own}, 1, 0, segment, small_spec().audit_bp)) << segment;
    }
    EXPECT_LT(lost, open.size() / 2) << "of a quarter of the stake";
    EXPECT_TRUE(without.contains(0) && without.contains(59)) << "the first and the last, always";
}

/// 11.6: who sees the reveals of its epoch and delays the draw until the next one is mixed draws nothing anew.
TEST_F(BeaconDraw, ASchedulerThatIsBehindDrawsTheSameSegments) {
    const std::set<std::uint64_t> in_time = audited(false);
    const std::uint64_t drawn_at = height;
    EXPECT_EQ(audited(false, 256 * 4 * params.epoch_blocks), in_time);
    EXPECT_GT(height, drawn_at + params.epoch_blocks) << "another beacon is known";
    std::size_t kept = 0;
    for (std::uint64_t e = 0; e <= views::beacon(state)->epoch; ++e) kept += is_kept(e);
    EXPECT_GT(kept, 3u) << "while the scheduler is behind";
    advance(2 * params.epoch_blocks);
    for (std::uint64_t e = 0; e <= views::beacon(state)->epoch; ++e) {
        EXPECT_EQ(is_kept(e), e == views::beacon(state)->epoch) << e;
    }
}

TEST_F(BeaconDraw, WithoutRevealsTheBeaconDraws) {
    EXPECT_EQ(reveals(), (std::vector{market::Reveal{{}, views::beacon(state)->value, 1}})) << "from genesis on";
    add_verifier("v1");
    advance(2 * params.epoch_blocks);
    ASSERT_EQ(reveals().size(), 1u);
    EXPECT_EQ(reveals()[0].member, party("v1"));
    EXPECT_EQ(reveals()[0].weight, U256(100) * kCoin);
    silent.insert("v1");
    advance(2 * params.epoch_blocks);
    EXPECT_EQ(reveals(), (std::vector{market::Reveal{{}, views::beacon(state)->value, 1}})) << "v1 was dropped";
}

TEST_F(BeaconDraw, StakeCountsFromTheEpochBeforeTheReveal) {
    add_verifier("v1");
    add_verifier("v2");
    advance(2 * params.epoch_blocks);
    while (height % params.epoch_blocks != 2) next_block();
    ASSERT_EQ(send("v1", Deposit{}, U256(50) * kCoin), CallStatus::ok);
    while (height % params.epoch_blocks != 0) next_block();
    for (const market::Reveal& reveal : reveals()) EXPECT_EQ(reveal.weight, U256(100) * kCoin);
    advance(params.epoch_blocks);
    for (const market::Reveal& reveal : reveals())
        EXPECT_EQ(reveal.weight, U256(reveal.member == party("v1") ? 150 : 100) * kCoin);
}

}  // namespace
}  // namespace retrace::contracts
