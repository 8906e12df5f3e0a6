// SPDX-License-Identifier: MIT
// Groups whose messages are merged in regions, with mergers that are away, or lie. SPEC 21.20.
#include "contracts/calls/gas.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/region_views.hpp"
#include "ledger/chain/genesis.hpp"
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
    market::Division division() const { return views::division(state, 1); }
    std::uint32_t region_of(std::uint32_t run) const {
        const auto division = views::division(state, 1);
        const auto found = std::ranges::find(division.order, run);
        return static_cast<std::uint32_t>(found - division.order.begin()) % division.regions;
    }
    /// The runs of a region, in their order.
    std::vector<std::uint32_t> runs_in(std::uint32_t region) const {
        std::vector<std::uint32_t> out;
        for (const std::uint32_t run : division().order)
            if (region_of(run) == region) out.push_back(run);
        return out;
    }
    /// The order of the mergers of a region is that of this list.
    std::vector<std::uint32_t> mergers_in(std::uint32_t region) const {
        std::vector<std::uint32_t> out;
        for (const std::uint32_t run : mergers())
            if (region_of(run) == region) out.push_back(run);
        return out;
    }
    void play_training(const std::vector<std::uint32_t>& members, const std::set<std::uint32_t>& hidden = {}) {
        const std::uint32_t now = group().round;
        train_all(members);
        list_all(hidden);
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    void train_all(const std::vector<std::uint32_t>& members) {
        for (const std::uint32_t index : members) ASSERT_EQ(train(index), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    }
    /// Each member lists what `bits` says for it.
    template <class Bits>
    void list_as(const Bits& bits) {
        const auto listers = holders();
        for (const std::uint32_t index : listers)
            ASSERT_EQ(list_messages(index, bits(index)), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const std::uint32_t index : listers)
            ASSERT_EQ(show_messages(index, bits(index)), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().phase != GroupPhase::revealing; }));
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
        ASSERT_TRUE(serve_until([&] { return group().phase != GroupPhase::revealing; }));
        if (group().phase == GroupPhase::spreading) list_all(hidden);  // A region lacks its message.
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
        EXPECT_EQ(views::run(state, 1, run)->earned, price * U256(2) + market::merge_pay(price) * U256(2))
            << run << ": two rounds, and two messages that it merged, or would have if the other had not";
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
        if (region_of(member) == 1) of_region.push_back(member);  // Ascending, as in a record.
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

TEST_F(GroupRegions, ASilentMergerIsReplacedAndNotPaidForTheRound) {
    start();
    play_training({0, 1, 2, 3});
    const auto of_region = mergers_in(0);
    const std::uint64_t begun = round(0).height;
    EXPECT_FALSE(is_settled_in_group(state, run(of_region[0]), 0)) << "its pay depends on what it does now";
    play_merging({of_region[1], mergers_in(1)[0], mergers_in(1)[1]});
    EXPECT_GT(round(1).height, begun + 12) << "it was waited for";
    ASSERT_EQ(round(1).entries.size(), 2u);
    EXPECT_EQ(round(1).total, 40u);
    EXPECT_TRUE(views::round_message(state, 1, 1, of_region[1])->recorded);
    for (std::uint32_t run = 0; run < 4; ++run) {
        EXPECT_EQ(member(run).absent, 0u) << run;
        EXPECT_EQ(views::round_message(state, 1, 0, run)->unpaid, run == of_region[0]) << run;
    }
    play_training({0, 1, 2, 3});
    play_merging(mergers());
    deliver({0, 1, 2, 3});
    const U256 price = group().price, pay = market::merge_pay(price);
    EXPECT_EQ(run(of_region[0]).earned, price + pay) << "for the second round alone";
    EXPECT_EQ(run(of_region[1]).earned, price * U256(2) + pay * U256(2));
}

TEST(MergePay, IsMoreThanTheCallsOfAMergerCost) {
    // At the least base fee of a new chain, and a tenth of the price in the README's examples.
    const U256 fee = ledger::Genesis{}.base_fee *
                     U256(gas_of(CommitRound{}, 500) + gas_of(CommitHoldings{}, 200) + gas_of(RevealHoldings{}, 300));
    const U256 price = U256(50) * U256(market::kMilli);
    EXPECT_GT(market::merge_pay(price), fee * U256(2));
    EXPECT_LT(market::segment_pay(price, 1, 10), fee) << "which one step of ten would not pay";
}

TEST_F(GroupRegions, ARegionThatNobodyMergesIsLeftOutAndItsMergersAreNotPaid) {
    start(6);
    play_training({0, 1, 2, 3, 4, 5});
    const auto lost = mergers_in(0);
    play_merging(mergers_in(1));
    ASSERT_EQ(round(1).entries.size(), 1u);
    EXPECT_EQ(round(1).total, 30u);
    for (std::uint32_t run = 0; run < 6; ++run)
        EXPECT_EQ(views::round_message(state, 1, 0, run)->unpaid, std::ranges::find(lost, run) != lost.end())
            << run << ": the third of the region has done what it could";
    play_training({0, 1, 2, 3, 4, 5});
    for (const std::uint32_t run : lost)
        EXPECT_EQ(segment_of(run, views::run(state, 1, run)->next_state - 2).omitted, market::MemberSegment::kNone)
            << "it has no merged message to take back";
    play_merging(mergers());
    deliver({0, 1, 2, 3, 4, 5});
    for (const std::uint32_t run : lost)
        EXPECT_EQ(views::run(state, 1, run)->earned, group().price + market::merge_pay(group().price));
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

TEST_F(GroupRegions, OneListerKeepsNobodyOut) {
    start(6);
    train_all({0, 1, 2, 3, 4, 5});
    const std::uint32_t liar = runs_in(0)[0];
    list_as([&](std::uint32_t run) { return run == liar ? Bytes{0} : bitmap(run); });
    ASSERT_EQ(group().round, 1u);
    EXPECT_EQ(round(0).entries.size(), 6u) << "a lister's own message has three judges too";
}

TEST_F(GroupRegions, TwoListersOfThreeKeepAMessageOut) {
    start(6);
    train_all({0, 1, 2, 3, 4, 5});
    const auto of_region = runs_in(0);
    const std::uint32_t author = of_region[2];
    const auto liars = std::set<std::uint32_t>{of_region[0], of_region[1]};
    list_as([&](std::uint32_t run) {
        return bitmap(run, liars.contains(run) ? std::set<std::uint32_t>{author} : std::set<std::uint32_t>{});
    });
    EXPECT_EQ(round(0).entries.size(), 5u);
    EXPECT_FALSE(views::round_message(state, 1, 0, author)->recorded);
    EXPECT_EQ(std::ranges::count(mergers(), author), 0) << "whose message is not recorded merges none";
}

TEST_F(GroupRegions, WhatOtherRegionsSayDoesNotCount) {
    start(6);
    train_all({0, 1, 2, 3, 4, 5});
    const std::uint32_t author = runs_in(0)[2];
    const auto judges = views::judges(state, group()).at(author);
    ASSERT_EQ(judges.size(), 3u);
    list_as([&](std::uint32_t run) {
        const bool judges_it = std::ranges::find(judges, run) != judges.end();
        return bitmap(run, judges_it ? std::set<std::uint32_t>{} : std::set<std::uint32_t>{author});
    });
    EXPECT_TRUE(views::round_message(state, 1, 0, author)->recorded);
}

TEST_F(GroupRegions, AMessageWhoseListersAreSilentIsLeftOut) {
    start(6);
    train_all({0, 1, 2, 3, 4, 5});
    const std::uint32_t author = runs_in(0)[2];
    const auto judges = views::judges(state, group()).at(author);
    std::vector<std::uint32_t> speaking = holders();
    std::erase(speaking, judges[0]);
    std::erase(speaking, judges[1]);
    for (int time = 0; time < 2; ++time) {
        ASSERT_EQ(group().phase, GroupPhase::spreading);
        EXPECT_EQ(group().extended, time == 1);
        for (const std::uint32_t run : speaking) ASSERT_EQ(list_messages(run, bitmap(run)), CallStatus::ok);
        ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
        for (const std::uint32_t run : speaking) ASSERT_EQ(show_messages(run, bitmap(run)), CallStatus::ok);
        ASSERT_TRUE(serve_until([&] { return group().phase != GroupPhase::revealing; }));
    }
    EXPECT_FALSE(views::round_message(state, 1, 0, author)->recorded);
    EXPECT_GE(round(0).entries.size(), 3u) << "the others go on";
}

TEST_F(GroupRegions, AMemberThatIsAloneInItsRegionIsHeard) {
    start();
    play_training({0, 1, 2, 3});
    play_merging(mergers());
    std::vector<std::uint32_t> sending{0, 1, 2, 3};
    std::erase(sending, runs_in(0)[1]);
    play_training(sending);
    EXPECT_EQ(round(2).entries.size(), 3u);
    ASSERT_EQ(mergers_in(0).size(), 1u);
    play_merging(mergers());
    EXPECT_EQ(round(3).entries.size(), 2u);
    EXPECT_EQ(round(3).total, 30u);
}

TEST_F(GroupRegions, ARecordOfOneMessageIsMerged) {
    start();
    train_all({0, 1, 2, 3});
    const std::uint32_t author = division().order[0];
    std::set<std::uint32_t> others{0, 1, 2, 3};
    others.erase(author);
    list_as([&](std::uint32_t run) { return bitmap(run, others); });
    ASSERT_EQ(round(0).entries.size(), 1u);
    ASSERT_EQ(mergers(), (std::vector<std::uint32_t>{author}));
    EXPECT_GT(holders().size(), 1u) << "who listed it lists what is made of it";
    play_merging({author});
    ASSERT_EQ(round(1).entries.size(), 1u);
    EXPECT_EQ(round(1).entries[0].run, author);
}

TEST_F(GroupRegions, AFirstMergerThatServesSomeIsReplaced) {
    start(6);
    play_training({0, 1, 2, 3, 4, 5});
    const auto of_region = mergers_in(0), of_other = mergers_in(1);
    const auto sending = mergers();
    for (const std::uint32_t run : sending) ASSERT_EQ(train(run, 1), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    // Half have the first one's and fetch no other; half were refused it.
    list_as([&](std::uint32_t run) {
        return bitmap(run, run < 3 ? std::set<std::uint32_t>{of_region[1]} : std::set<std::uint32_t>{of_region[0]});
    });
    ASSERT_EQ(group().phase, GroupPhase::spreading) << "the time to fetch is given once more";
    EXPECT_TRUE(group().extended);
    // Now all fetch the other one too.
    list_as([&](std::uint32_t run) {
        return bitmap(run, run < 3 ? std::set<std::uint32_t>{} : std::set<std::uint32_t>{of_region[0]});
    });
    ASSERT_EQ(round(1).entries.size(), 2u) << "its region is not kept out";
    EXPECT_TRUE(views::round_message(state, 1, 1, of_region[1])->recorded);
    EXPECT_FALSE(views::round_message(state, 1, 1, of_region[0])->recorded);
    const auto pay = [&](std::uint32_t run) {
        return views::pay_of(*views::group_spec(state, 1), 1, *views::round_message(state, 1, 1, run), U256(100));
    };
    EXPECT_EQ(pay(of_region[1]), U256(50));
    EXPECT_EQ(pay(of_region[0]), U256()) << "it replaces nobody";
    EXPECT_EQ(pay(of_other[1]), U256(50)) << "it would have replaced the first one";
}

TEST_F(GroupRegions, WhoHasOneOfTwoEqualMessagesHasBoth) {
    start(6);
    play_training({0, 1, 2, 3, 4, 5});
    const auto of_region = mergers_in(0);
    const CommitRound first = next_commit(of_region[0], 1, 1);
    CommitRound second = next_commit(of_region[1], 1, 1);
    second.message = first.message;
    ASSERT_EQ(send(solver_of(of_region[0]), first), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send(solver_of(of_region[1]), second), CallStatus::ok) << last.revert_reason;
    for (const std::uint32_t run : mergers_in(1)) ASSERT_EQ(train(run, 1), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    list_as([&](std::uint32_t run) {
        return bitmap(run, run < 3 ? std::set<std::uint32_t>{of_region[1]} : std::set<std::uint32_t>{of_region[0]});
    });
    ASSERT_EQ(round(1).entries.size(), 2u);
    EXPECT_TRUE(views::round_message(state, 1, 1, of_region[0])->recorded) << "the first one's";
}

TEST_F(GroupRegions, AMergedMessageIsDrawnAsOftenAsThoseOfWhichItIsMade) {
    start_group(regional_terms());
    auto spec = views::spec(state, 1).value();
    spec.audit_bp = 5'000;  // Two messages: always.
    store(state, keys::spec(1), spec);
    begin_rounds();
    play_training({0, 1, 2, 3});
    const auto first = mergers_in(0), second = mergers_in(1);
    play_merging(mergers());
    EXPECT_EQ(views::messages_moved(state, 1, first[0], 1), 2u);
    EXPECT_EQ(views::messages_moved(state, 1, first[1], 1), 1u) << "it moves nothing";
    EXPECT_EQ(views::messages_moved(state, 1, first[0], 0), 1u) << "it trained";
    ASSERT_TRUE(serve_until([&] {
        return std::ranges::count_if(all<SegmentDrawn>(), [](const SegmentDrawn& e) { return e.segment == 1; }) == 4;
    }));
    for (const SegmentDrawn& drawn : all<SegmentDrawn>())
        if (drawn.segment == 1 && (drawn.run == first[0] || drawn.run == second[0])) {
            EXPECT_TRUE(drawn.audited) << drawn.run;
        }
}

TEST_F(GroupRegions, PlacesFollowFromABeaconThatNobodyKnewWhenJoining) {
    start(6);
    const auto terms = *views::group_spec(state, 1);
    const auto order_with = [&](std::uint8_t number, std::uint64_t epoch) {
        views::Beacon beacon{epoch, word("beacon " + std::to_string(number))};
        store(state, keys::beacon(), beacon);
        return views::draw_division(state, group(), terms, params).order;
    };
    const std::uint64_t newest = views::beacon(state)->epoch;
    std::set<std::uint32_t> firsts;
    for (std::uint8_t number = 0; number < 40; ++number) firsts.insert(order_with(number, newest + 10)[0]);
    EXPECT_EQ(firsts.size(), 6u) << "each of them may be first";
    // Run 3 has its first state when the beacon is known already.
    auto late = views::checkpoint(state, 1, 3, 0).value();
    late.height = (newest + 11) * params.epoch_blocks;
    store(state, keys::checkpoint(1, 3, 0), late);
    for (std::uint8_t number = 0; number < 40; ++number) EXPECT_EQ(order_with(number, newest + 10).back(), 3u);
}

TEST_F(GroupRegions, PlacesAreDrawnByRevealsThatBeginAfterTheRound) {
    start(6);
    const std::uint64_t opened = height, due = division().due;
    EXPECT_EQ(due, (opened / params.epoch_blocks + 2) * params.epoch_blocks);
    EXPECT_EQ(division().regions, 0u);
    for (std::uint32_t run = 0; run < 6; ++run) ASSERT_EQ(train(run), CallStatus::ok);
    // All have sent, and nobody gets another draw by sending late: the round waits for this one.
    ASSERT_TRUE(serve_until([&] { return height + 1 == due; }));
    EXPECT_EQ(group().phase, GroupPhase::training);
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }, 3));
    EXPECT_EQ(division().due, 0u);
    EXPECT_EQ(division().order.size(), 6u);
}

TEST_F(GroupRegions, WhoComesLaterIsLastUntilTheNextDraw) {
    start(6);
    play_training({0, 1, 2, 3, 4});
    const auto before = division();
    EXPECT_EQ(before.order.size(), 6u) << "with the one that is away";
    market::Group open = group();
    open.committed = {9, 5, 0};
    const auto after = views::with_newcomers(before, open);
    ASSERT_EQ(after.order.size(), 7u);
    EXPECT_EQ(after.order.back(), 9u);
    EXPECT_EQ(after.regions, before.regions);
    open.round = kernels::kRegionRounds;
    EXPECT_EQ(views::draw_division(state, open, *views::group_spec(state, 1), params).epoch, 1u);
}

TEST_F(GroupRegions, AMergerThatLeavesGivesUpItsPlaceAtOnce) {
    start(6);
    play_training({0, 1, 2, 3, 4, 5});
    const auto before = mergers_in(0);
    const std::uint32_t third = runs_in(0)[2];
    EXPECT_EQ(train(third, 1), CallStatus::not_merger);
    ASSERT_EQ(send(solver_of(before[0]), LeaveTask{1, before[0]}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(mergers_in(0), (std::vector<std::uint32_t>{before[1], third}));
    EXPECT_EQ(train(before[0], 1), CallStatus::too_late);
    const auto listers = holders();
    EXPECT_EQ(std::ranges::count(listers, before[0]), 0) << "nobody waits for its list";
    play_merging(mergers());
    EXPECT_EQ(round(1).entries.size(), 2u);
    EXPECT_TRUE(views::round_message(state, 1, 1, before[1])->recorded);
    EXPECT_TRUE(views::round_message(state, 1, 0, before[0])->unpaid) << "it had been drawn";
}

TEST_F(GroupRegions, WhoHasLeftBeforeTheRecordMergesNothing) {
    start(6);
    train_all({0, 1, 2, 3, 4, 5});
    const auto of_region = runs_in(0);
    ASSERT_EQ(send(solver_of(of_region[0]), LeaveTask{1, of_region[0]}), CallStatus::ok) << last.revert_reason;
    list_all();
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    ASSERT_EQ(round(0).entries.size(), 6u) << "its message stands";
    EXPECT_EQ(mergers_in(0), (std::vector<std::uint32_t>{of_region[1], of_region[2]}));
    play_merging(mergers());
    EXPECT_FALSE(views::round_message(state, 1, 0, of_region[0])->unpaid) << "it had no place to give up";
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
            EXPECT_GE(views::run(state, 1, run)->earned, group().price * U256(3) + market::merge_pay(group().price))
                << run;
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
    EXPECT_EQ(refused([](Spec& g) { g.round_blocks = 7; }), CallStatus::group_terms_out_of_range) << "under two epochs";
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
    train_all({0, 1, 2, 3, 4, 5});
    EXPECT_EQ(holders().size(), 6u) << "in regions of three each has a message to list";
    const auto judges = views::judges(state, group());
    EXPECT_EQ(list_messages(0, bitmap(0)), CallStatus::ok);
    // In one of eight two have none.
    market::Group more = group();
    market::Division larger = division();
    for (std::uint32_t run = 6; run < 16; ++run) more.committed.push_back(run), larger.order.push_back(run);
    store(state, keys::group(1), more);
    store(state, keys::division(1), larger);
    std::vector<std::uint32_t> first_of_each;
    for (const std::uint32_t run : holders())
        if (run < 6) first_of_each.push_back(run);
    EXPECT_EQ(first_of_each.size(), 6u);
    larger.order.erase(larger.order.begin(), larger.order.begin() + 6);
    for (std::uint32_t run = 0; run < 6; ++run) larger.order.push_back(run);
    store(state, keys::division(1), larger);
    const auto listers = holders();
    for (std::uint32_t run = 1; run < 6; ++run) {
        const bool lists = std::ranges::find(listers, run) != listers.end();
        EXPECT_EQ(list_messages(run, bitmap(run)), lists ? CallStatus::ok : CallStatus::not_lister) << run;
    }
    EXPECT_EQ(std::ranges::count_if(listers, [](std::uint32_t run) { return run < 6; }), 2) << "places five of 0 and 1";
}

}  // namespace
}  // namespace retrace::contracts
