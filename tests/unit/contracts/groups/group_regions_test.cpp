// SPDX-License-Identifier: MIT
// Groups whose messages are merged in regions, with mergers that are away, or lie. SPEC 21.20.
#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

using kernels::Phase;

class GroupRegions : public GroupTest {
protected:
    GroupRegions() { begin_chain(true); }  // 21.20.1

    /// Two rounds of training, each with one of merged messages, in two regions.
    market::GroupSpec regional_terms() const {
        auto g = small_terms();
        g.rounds = 4;
        g.regions = 2;
        g.merge_blocks = 12;
        for (std::uint8_t phase = 11; phase <= 14; ++phase)
            g.phases.push_back({phase, false, word("phase " + std::to_string(phase))});
        return g;
    }
    void start(std::size_t members = 4) {
        const std::vector<std::string> names{"alice", "bob", "carol", "dave", "erin", "frank"};
        start_group(regional_terms(), {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(members)});
        begin_rounds();
    }
    std::vector<std::uint32_t> mergers() const { return views::mergers(state, group(), *views::group_spec(state, 1)); }
    std::vector<std::uint32_t> holders() const { return views::holders(state, group(), *views::group_spec(state, 1)); }
    std::uint32_t region_of(std::uint32_t run) const { return kernels::region_of(run, group().round, 2); }
    /// The order of the mergers of a region is that of this list.
    std::vector<std::uint32_t> mergers_in(std::uint32_t region) const {
        std::vector<std::uint32_t> out;
        for (const std::uint32_t run : mergers())
            if (region_of(run) == region) out.push_back(run);
        return out;
    }
    void play_training(const std::vector<std::uint32_t>& members, const std::set<std::uint32_t>& hidden = {}) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : members) ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
        list_all(hidden);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    void list_all(const std::set<std::uint32_t>& hidden = {}) {
        const auto listers = holders();
        for (const std::uint32_t index : listers)
            ASSERT_EQ(list_messages(index, bitmap(index, hidden)), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const std::uint32_t index : listers)
            ASSERT_EQ(show_messages(index, bitmap(index, hidden)), CallStatus::ok) << last.revert_reason;
    }
    void play_merging(const std::vector<std::uint32_t>& senders, const std::set<std::uint32_t>& hidden = {}) {
        const std::uint32_t now = group().round;
        for (const std::uint32_t index : senders) ASSERT_EQ(train(index, 1), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
        list_all(hidden);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    market::MemberSegment segment_of(std::uint32_t run, std::uint64_t index) const {
        return views::member_segment(state, 1, run, index).value();
    }
};

TEST_F(GroupRegions, RoundsOfTrainingAndOfMergingAlternate) {
    start();
    play_training({0, 1, 2, 3});
    ASSERT_EQ(group().round, 1u);
    EXPECT_EQ(round(0).entries.size(), 4u);
    ASSERT_EQ(group().phase, GroupPhase::training);
    EXPECT_EQ(group().deadline, round(0).height + 12);
    const auto first = mergers_in(0), second = mergers_in(1);
    ASSERT_EQ(first.size(), 2u);
    ASSERT_EQ(second.size(), 2u);
    play_merging(mergers());
    ASSERT_EQ(round(1).entries.size(), 2u);
    EXPECT_EQ(round(1).total, 40u) << "the weight of all four";
    for (const market::RoundEntry& entry : round(1).entries) {
        EXPECT_EQ(entry.weight, 20u);
        EXPECT_TRUE(entry.run == first[0] || entry.run == second[0]) << "the first merger's";
    }
    EXPECT_FALSE(views::round_message(state, 1, 1, first[1])->recorded);
    play_training({0, 1, 2, 3});
    for (std::uint32_t run = 0; run < 4; ++run)
        EXPECT_EQ(segment_of(run, views::run(state, 1, run)->next_state - 2).base, 2u);
    play_merging(mergers());
    deliver({0, 1, 2, 3});
    const U256 price = group().price;
    for (std::uint32_t run = 0; run < 4; ++run) {
        const bool merged = run == first[0] || run == second[0];
        EXPECT_EQ(views::run(state, 1, run)->earned, price * U256(2) + (merged ? price / U256(10) * U256(2) : U256()))
            << run << ": two rounds, and a step for each message that it merged";
    }
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(all<Slashed>().size(), 0u);
}

TEST_F(GroupRegions, PositionsOfAMergerReadItsRegionAlone) {
    start();
    play_training({0, 1, 2, 3});
    const std::uint32_t run = mergers_in(1)[0];
    ASSERT_EQ(train(run, 1), CallStatus::ok) << last.revert_reason;
    const std::uint64_t index = views::run(state, 1, run)->next_state - 2;
    const auto positions = positions_of(state, 1, run, index);
    ASSERT_TRUE(positions.has_value());
    ASSERT_EQ(positions->count(), 4u);
    EXPECT_EQ(positions->at(0).phase, Phase::merge_begin);
    EXPECT_EQ(positions->at(1).phase, Phase::merge_add);
    EXPECT_EQ(positions->at(3).phase, Phase::merge_press);
    const auto terms = regional_terms();
    const auto facts = facts_of_position(state, 1, run, index, 2);
    ASSERT_TRUE(facts.has_value());
    EXPECT_EQ(facts->played_root, terms.phases[9].program_root);
    ASSERT_EQ(facts->data_roots.size(), 3u) << "the message and its facts";
    // The second message of its region, in ascending order of runs: not that of the second member.
    std::vector<std::uint32_t> of_region;
    for (std::uint32_t member = 0; member < 4; ++member)
        if (region_of(member) == 1) of_region.push_back(member);
    EXPECT_EQ(facts->data_roots[0], views::round_message(state, 1, 0, of_region.at(1))->tensors[0]);
    const kernels::Tensor weights = kernels::fact_tensor({10, 20, 0, 10});
    const Hash32 leaf = merkle::tile_leaf(kernels::tile_bytes(weights, 0));
    EXPECT_EQ(facts->data_roots[2], (kernels::TensorHeader{weights.dtype, weights.dims, leaf}.root()))
        << "the weights are those of its region";
    EXPECT_EQ(header_step_of(state, 1, run, index + 1), kernels::header_step(1, 4));
}

TEST_F(GroupRegions, OnlyMergersSendMergedMessages) {
    start(6);
    play_training({0, 1, 2, 3, 4, 5});
    const auto sending = mergers();
    ASSERT_EQ(sending.size(), 4u);
    for (std::uint32_t run = 0; run < 6; ++run) {
        const bool merges = std::ranges::find(sending, run) != sending.end();
        EXPECT_EQ(train(run, 2), merges ? CallStatus::wrong_steps : CallStatus::not_merger) << run;
        EXPECT_EQ(train(run, 1), merges ? CallStatus::ok : CallStatus::not_merger) << run;
        EXPECT_EQ(train(run, 1), merges ? CallStatus::already_committed : CallStatus::not_merger) << run;
    }
}

TEST_F(GroupRegions, ASilentMergerIsReplacedAndCostsNobody) {
    start();
    play_training({0, 1, 2, 3});
    const auto of_region = mergers_in(0);
    const std::uint64_t begun = round(0).height;
    play_merging({of_region[1], mergers_in(1)[0], mergers_in(1)[1]});
    EXPECT_GT(round(1).height, begun + 12) << "it was waited for";
    ASSERT_EQ(round(1).entries.size(), 2u);
    EXPECT_EQ(round(1).total, 40u);
    EXPECT_TRUE(views::round_message(state, 1, 1, of_region[1])->recorded);
    for (std::uint32_t run = 0; run < 4; ++run) EXPECT_EQ(member(run).absent, 0u) << run;
}

TEST_F(GroupRegions, ARegionThatNobodyMergesIsLeftOutAndPaid) {
    start();
    play_training({0, 1, 2, 3});
    const auto lost = mergers_in(0);
    play_merging(mergers_in(1));
    ASSERT_EQ(round(1).entries.size(), 1u);
    EXPECT_EQ(round(1).total, 20u);
    play_training({0, 1, 2, 3});
    for (const std::uint32_t run : lost)
        EXPECT_EQ(segment_of(run, views::run(state, 1, run)->next_state - 2).omitted, market::MemberSegment::kNone)
            << "it has no merged message to take back";
    play_merging(mergers());
    deliver({0, 1, 2, 3});
    for (const std::uint32_t run : lost)
        EXPECT_GE(views::run(state, 1, run)->earned, group().price * U256(2)) << "for its training in both rounds";
}

TEST_F(GroupRegions, AMergedMessageThatNobodyHasIsTakenBackByTheFirstMerger) {
    start();
    play_training({0, 1, 2, 3});
    const auto lost = mergers_in(0);
    play_merging(mergers(), {lost[0], lost[1]});
    ASSERT_EQ(round(1).entries.size(), 1u);
    play_training({0, 1, 2, 3});
    const auto omitted = [&](std::uint32_t run) {
        return segment_of(run, views::run(state, 1, run)->next_state - 2).omitted;
    };
    EXPECT_EQ(omitted(lost[0]), 1u);
    EXPECT_EQ(omitted(lost[1]), market::MemberSegment::kNone) << "once is enough";
    const auto positions = positions_of(state, 1, lost[0], views::run(state, 1, lost[0])->next_state - 2);
    ASSERT_TRUE(positions.has_value());
    EXPECT_EQ(positions->at(positions->recorded() - 1).phase, Phase::merge_restore);
}

TEST_F(GroupRegions, ARegionDecidesOnItsMessages) {
    start(6);
    // Runs of region 0 say that they have nothing of one of them; what those of region 1 say of it does not count.
    for (std::uint32_t run = 0; run < 6; ++run) ASSERT_EQ(train(run), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    std::vector<std::uint32_t> of_region;
    for (std::uint32_t run = 0; run < 6; ++run)
        if (region_of(run) == 0) of_region.push_back(run);
    const std::uint32_t author = of_region[0];
    const auto shown = [&](std::uint32_t run) {
        return bitmap(run, region_of(run) == 0 ? std::set<std::uint32_t>{author} : std::set<std::uint32_t>{});
    };
    for (const std::uint32_t run : holders()) ASSERT_EQ(list_messages(run, shown(run)), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
    for (const std::uint32_t run : holders()) ASSERT_EQ(show_messages(run, shown(run)), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(round(0).entries.size(), 5u);
    EXPECT_FALSE(views::round_message(state, 1, 0, author)->recorded);
    EXPECT_EQ(std::ranges::count(mergers(), author), 0) << "whose message is not recorded merges none";
}

TEST_F(GroupRegions, ARegionWhoseListersAreSilentIsLeftOut) {
    start(6);
    for (std::uint32_t run = 0; run < 6; ++run) ASSERT_EQ(train(run), CallStatus::ok);
    for (int time = 0; time < 2; ++time) {
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
        EXPECT_EQ(group().extended, time == 1);
        for (const std::uint32_t run : holders())
            if (region_of(run) == 1) {
                ASSERT_EQ(list_messages(run, bitmap(run)), CallStatus::ok);
            }
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const std::uint32_t run : holders())
            if (region_of(run) == 1) {
                ASSERT_EQ(show_messages(run, bitmap(run)), CallStatus::ok);
            }
        ASSERT_TRUE(serve_until([&] { return group().phase != GroupPhase::revealing; }));
    }
    ASSERT_EQ(round(0).entries.size(), 3u);
    for (const market::RoundEntry& entry : round(0).entries) EXPECT_EQ(kernels::region_of(entry.run, 0, 2), 1u);
    EXPECT_EQ(mergers().size(), 2u);
}

TEST_F(GroupRegions, AMemberThatIsAloneInItsRegionIsHeard) {
    start();
    std::vector<std::uint32_t> sending{0, 1, 2, 3};
    std::erase_if(sending, [&](std::uint32_t run) { return region_of(run) == 0 && run > 1; });
    ASSERT_EQ(sending.size(), 3u);
    play_training(sending);
    EXPECT_EQ(round(0).entries.size(), 3u);
    ASSERT_EQ(mergers_in(0).size(), 1u);
    play_merging(mergers());
    EXPECT_EQ(round(1).entries.size(), 2u);
    EXPECT_EQ(round(1).total, 30u);
}

TEST_F(GroupRegions, ARoundWithoutMessagesHasNothingToMerge) {
    start();
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    EXPECT_EQ(round(0).height, round(1).height) << "it closes at once";
    EXPECT_TRUE(round(1).entries.empty());
    EXPECT_EQ(group().deadline, round(1).height + 2 * 20) << "21.6.7 counts rounds of training";
    for (std::uint32_t run = 0; run < 4; ++run) EXPECT_EQ(member(run).absent, 1u) << "and so do absences";
}

TEST_F(GroupRegions, AMergerThatLiesIsConvictedAndTheOthersArePaid) {
    auto terms = regional_terms();
    terms.rounds = 6;
    start_group(terms);
    auto spec = views::spec(state, 1).value();
    spec.audit_bp = 10'000;
    store(state, keys::spec(1), spec);
    begin_rounds();
    play_training({0, 1, 2, 3});
    const std::uint32_t liar = mergers_in(0)[0];
    wrong_members = {liar};
    play_merging(mergers());
    wrong_members.clear();
    const auto others = [&] {
        std::vector<std::uint32_t> out;
        for (std::uint32_t run = 0; run < 4; ++run)
            if (run != liar && views::run(state, 1, run)->state == RunState::running) out.push_back(run);
        return out;
    };
    while (group().round < 6) {
        std::vector<std::uint32_t> merging = mergers();
        std::erase(merging, liar);
        group().round % 2 == 0 ? play_training(others()) : play_merging(merging);
    }
    deliver(others());
    EXPECT_EQ(views::run(state, 1, liar)->state, RunState::forfeited);
    for (const Slashed& slashed : all<Slashed>()) EXPECT_EQ(slashed.party, views::run(state, 1, liar)->solver);
    for (std::uint32_t run = 0; run < 4; ++run)
        if (run != liar) {
            EXPECT_GE(views::run(state, 1, run)->earned, group().price * U256(3)) << run;
        }
    EXPECT_TRUE(views::round_message(state, 1, 1, liar)->recorded) << "the record stands";
}

TEST_F(GroupRegions, TermsThatRegionsDoNotAllowAreRefused) {
    for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
    advance(9);
    const auto refused = [&](const auto& change) {
        auto terms = regional_terms();
        change(terms);
        return post_group(spec_of(terms), terms);
    };
    using Spec = market::GroupSpec;
    EXPECT_EQ(refused([](Spec& g) { g.regions = 1; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.regions = 3; }), CallStatus::group_terms_out_of_range) << "of four members";
    EXPECT_EQ(refused([](Spec& g) { g.merge_blocks = 0; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.regions = 0; }), CallStatus::group_terms_out_of_range) << "mergeBlocks is left";
    EXPECT_EQ(refused([](Spec& g) { g.rounds = 5; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.max_age = 1; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.keep_rounds = 3; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.private_sets = 1; }), CallStatus::group_terms_out_of_range);
    EXPECT_EQ(refused([](Spec& g) { g.phases.pop_back(); }), CallStatus::bad_plan);
    EXPECT_EQ(refused([](Spec& g) { g.regions = 0, g.merge_blocks = 0; }), CallStatus::bad_plan) << "it cannot merge";
    EXPECT_EQ(refused([](Spec&) {}), CallStatus::ok) << last.revert_reason;
    const auto masked = [](Spec& g) {
        g.least = 3;
        g.mask_bits = 10;
        g.mask_blocks = 4;
        g.catch_up_max = 300;
        g.phases.resize(market::kPlanPhases);
        for (std::uint8_t phase = 9; phase <= 10; ++phase) g.phases.push_back({phase, phase == 10, word("masks")});
    };
    EXPECT_EQ(refused(masked), CallStatus::group_terms_out_of_range) << "masked messages are not merged";
    EXPECT_EQ(refused([&](Spec& g) { masked(g), g.regions = 0, g.merge_blocks = 0; }), CallStatus::ok)
        << last.revert_reason;
    EXPECT_EQ(refused([&](Spec& g) {
                  const auto phases = g.phases;
                  masked(g), g.regions = 0, g.merge_blocks = 0, g.phases = phases;
              }),
              CallStatus::bad_plan)
        << "it has phases that merge, and none that mask";
    begin_chain(false);
    EXPECT_EQ(refused([](Spec&) {}), CallStatus::group_terms_out_of_range) << "for developers";
}

TEST_F(GroupRegions, WhoDoesNotListIsRefused) {
    start(6);
    for (std::uint32_t run = 0; run < 6; ++run) ASSERT_EQ(train(run), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    EXPECT_EQ(holders().size(), 6u) << "three of each region";
    // Five rounds of the same: now one region has four members that sent, of which three list.
    market::Group more = group();
    more.committed.push_back(8);
    store(state, keys::group(1), more);
    std::vector<std::uint32_t> runs = more.committed, of_region;
    const auto first = kernels::first_of_region(runs, 0, 2, 0, 3);
    for (std::uint32_t run = 0; run < 6; ++run) {
        const bool lists = region_of(run) == 1 || std::ranges::find(first, run) != first.end();
        EXPECT_EQ(list_messages(run, bitmap(run)), lists ? CallStatus::ok : CallStatus::not_lister) << run;
    }
}

}  // namespace
}  // namespace retrace::contracts
