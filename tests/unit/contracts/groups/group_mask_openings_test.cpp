// SPDX-License-Identifier: MIT
// Masks over messages are shown when their segments are drawn for an audit, and read by positions: 21.11.32 to 21.11.40,
// market 15.8.
#include "contracts/lifecycle/staking/beacon.hpp"
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"

namespace retrace::contracts {
namespace {

using kernels::Phase;

class GroupMaskOpenings : public GroupMasks {
protected:
    void all_deal() {
        begin();
        agree_on_keys({0, 1, 2, 3});
        deal_all({0, 1, 2, 3});
        ASSERT_EQ(mask_step(), MaskStep::messages);
    }
    std::vector<market::MaskTerm> terms_of(std::uint32_t run) const {
        return market::message_terms({1, 0, 0}, run, mask_opening(run));
    }
    static Hash32 facts_root(std::uint32_t row) {
        kernels::ThreadPool pool(1);
        return kernels::tensor_root(kernels::fact_tensor(kernels::mask_facts(row)), pool);
    }
    market::Audit audit_of(std::uint32_t run, std::uint64_t segment) const {
        return views::audit(state, views::segment(state, 1, run, segment).value().audit).value();
    }
    bool is_drawn(std::uint32_t run, std::uint64_t segment) const {
        const auto found = views::segment(state, 1, run, segment);
        return found && found->audit != 0;
    }
    /// All train, and all but run 0 do what is due until the audit of its first segment asks for the start.
    void train_until_first_is_drawn() {
        for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(others_serve_until([&] { return is_drawn(0, 0) && audit_of(0, 0).phase == AuditPhase::opening; }));
    }
    template <class Condition>
    ::testing::AssertionResult others_serve_until(Condition condition) {
        for (std::uint64_t i = 0; i < 400; ++i) {
            if (condition()) return ::testing::AssertionSuccess();
            for (const std::uint32_t index : {1u, 2u, 3u}) serve_member(index);
            audit_members();
            next_block();
        }
        return ::testing::AssertionFailure() << "not within 400 blocks";
    }
};

TEST_F(GroupMaskOpenings, AMessageHasTheMasksOfAllThatDealt) {
    all_deal();
    auto call = next_commit(0, 0, 10);
    call.masks = Hash32();
    EXPECT_EQ(name(send("alice", call)), "wrong_message");
    ASSERT_EQ(train(0), CallStatus::ok);
    const auto segment = views::member_segment(state, 1, 0, 0).value();
    EXPECT_EQ(segment.masks, 4u);
    EXPECT_EQ(segment.positions, 10u + 1 + 4);
    const auto message = views::round_message(state, 1, 0, 0).value();
    EXPECT_EQ(message.mask_root, mask_root_of(terms_of(0)));
    EXPECT_TRUE(message.masks.empty()) << "nobody sees them before the segment is drawn";
    // A position reads the table that the member committed to, and its row.
    for (std::uint32_t row = 0; row < 4; ++row) {
        const auto facts = facts_of_position(state, 1, 0, 0, 11 + row).value();
        EXPECT_EQ(facts.played_root, word("phase 10"));
        EXPECT_EQ(facts.data_roots, (std::vector<Hash32>{message.mask_root, facts_root(row)}));
        EXPECT_EQ(facts.op_step, 0u) << "a key gives one stream";
    }
}

TEST_F(GroupMaskOpenings, ASegmentTakesTheMasksOfARecordOutOfItsSum) {
    play_to_unmasking({2});
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    ASSERT_EQ(recorded_runs(0), (RunList{0, 1, 3}));
    ASSERT_EQ(round(0).masks.size(), 6u);
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    ASSERT_EQ(train(1), CallStatus::ok) << last.revert_reason;
    // begin, three messages, six masks, end, ten steps, press, four masks.
    EXPECT_EQ(views::member_segment(state, 1, 1, 1)->positions, 1u + 3 + 6 + 1 + 10 + 1 + 4);
    for (std::uint32_t row = 0; row < 6; ++row) {
        const auto facts = facts_of_position(state, 1, 1, 1, 4 + row).value();
        EXPECT_EQ(facts.played_root, word("phase 9"));
        EXPECT_EQ(facts.data_roots, (std::vector<Hash32>{round(0).terms, facts_root(row)}));
    }
    EXPECT_EQ(facts_of_position(state, 1, 1, 1, 10)->played_root, word("phase 5"));
}

TEST_F(GroupMaskOpenings, NoAuditorIsDrawnBeforeTheMasksAreShown) {
    all_deal();
    const std::vector<market::MaskTerm> terms = terms_of(0);
    const market::MaskOpening right = mask_opening(0);
    const auto shown = [&](const Bytes& masks) { return name(send("alice", ShowMasks{1, 0, 0, masks})); };
    EXPECT_EQ(shown(encode(right)), "unknown_audit") << "it is not drawn, and shows nothing";
    train_until_first_is_drawn();
    ASSERT_EQ(send("alice", opening(0, 0)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::opening) << "its auditors could not replay its masks";
    EXPECT_EQ(shown({}), "wrong_masks");
    EXPECT_EQ(shown(Bytes(101, 1)), "wrong_masks");
    market::MaskOpening wrong = right;
    wrong.mask = secrets_.at(1).mask;
    EXPECT_EQ(shown(encode(wrong)), "wrong_masks") << "of another member";
    wrong = right;
    wrong.self = wrong.self + market::Scalar(1);
    EXPECT_EQ(shown(encode(wrong)), "wrong_masks");
    wrong = right;
    wrong.dealers.erase(2);
    EXPECT_EQ(shown(encode(wrong)), "wrong_masks");
    wrong.dealers.emplace(2, right.dealers.at(3));
    EXPECT_EQ(shown(encode(wrong)), "wrong_masks");
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::opening);
    EXPECT_EQ(shown(encode(right)), "ok");
    EXPECT_EQ(views::round_message(state, 1, 0, 0)->masks, terms);
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::drawing);
    EXPECT_EQ(shown(encode(right)), "already_opened");
    ASSERT_TRUE(others_serve_until([&] { return audit_of(0, 0).phase == AuditPhase::revealing; }));
    EXPECT_EQ(send("alice", opening(0, 1)), CallStatus::ok) << "the end shows no secrets";
}

TEST_F(GroupMaskOpenings, MasksThatAreShownFirstWaitForTheStart) {
    all_deal();
    const Bytes right = encode(mask_opening(0));
    train_until_first_is_drawn();
    ASSERT_EQ(send("alice", ShowMasks{1, 0, 0, right}), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::opening);
    ASSERT_EQ(send("alice", opening(0, 0)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::drawing);
}

TEST_F(GroupMaskOpenings, WhoShowsItsMasksLateDoesNotChooseItsAuditors) {
    all_deal();
    const Bytes right = encode(mask_opening(0));
    train_until_first_is_drawn();
    ASSERT_EQ(send("alice", opening(0, 0)), CallStatus::ok);
    // The beacons of some epochs pass, any of which might have drawn friends.
    const std::uint64_t open = height;
    ASSERT_TRUE(others_serve_until([&] { return height >= open + 3 * params.epoch_blocks; }));
    ASSERT_EQ(audit_of(0, 0).phase, AuditPhase::opening);
    ASSERT_EQ(send("alice", ShowMasks{1, 0, 0, right}), CallStatus::ok) << last.revert_reason;
    const std::uint64_t shown = height;
    EXPECT_TRUE(audit_of(0, 0).seats.empty());
    ASSERT_TRUE(others_serve_until([&] { return !audit_of(0, 0).seats.empty(); }));
    EXPECT_GE(height, next_draw_height(params, shown));
}

TEST_F(GroupMaskOpenings, AnAuditWhoseStartIsOpenWaitsForTheMasks) {
    draw_all_ = true;
    all_deal();
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::unmasking; }));
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    const std::uint32_t now = group().round;
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    // Run 0 opens what is due, and shows the masks over its first message only.
    const auto serve = [&] {
        for (const std::uint64_t i : {0u, 1u}) {
            const auto point = views::checkpoint(state, 1, 0, i).value();
            if (point.opened || !is_opening_due(0, i, point)) continue;
            EXPECT_EQ(send("alice", opening(0, i)), CallStatus::ok) << last.revert_reason;
        }
        const bool first = is_drawn(0, 0) && audit_of(0, 0).phase == AuditPhase::opening;
        if (first && !views::shows_masks(state, 1, 0, 0)) {
            EXPECT_EQ(send("alice", masks_of(0, 0)), CallStatus::ok) << last.revert_reason;
        }
    };
    ASSERT_TRUE(others_serve_until([&] {
        serve();
        const bool open = views::checkpoint(state, 1, 0, 1)->opened && is_drawn(0, 1);
        return open && audit_of(0, 1).phase == AuditPhase::opening;
    }));
    for (int i = 0; i < 20; ++i) next_block();
    EXPECT_EQ(audit_of(0, 1).phase, AuditPhase::opening);
    EXPECT_NE(audit_of(0, 1).deadline, 0u);
    EXPECT_TRUE(audit_of(0, 1).seats.empty()) << "no auditor's clock runs";
    ASSERT_EQ(send("alice", masks_of(0, 1)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit_of(0, 1).phase, AuditPhase::drawing);
    EXPECT_EQ(views::round_message(state, 1, now, 0)->masks.size(), 4u);
}

TEST_F(GroupMaskOpenings, WhoMaskedWithOtherKeysShowsNothingAndLosesItsLock) {
    all_deal();
    auto call = next_commit(0, 0, 10);
    secrets_[7] = market::MaskSecrets::random(source());
    market::MaskOpening other = mask_opening(0);
    other.self = secrets_.at(7).self;
    call.masks = mask_root_of(market::message_terms({1, 0, 0}, 0, other));
    ASSERT_EQ(send("alice", call), CallStatus::ok);
    const market::MaskOpening posted = mask_opening(0);
    for (const std::uint32_t run : {1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(others_serve_until([&] { return is_drawn(0, 0) && audit_of(0, 0).phase == AuditPhase::opening; }));
    ASSERT_EQ(send("alice", opening(0, 0)), CallStatus::ok) << last.revert_reason;
    for (const market::MaskOpening& shown : {posted, other})
        EXPECT_EQ(name(send("alice", ShowMasks{1, 0, 0, encode(shown)})), "wrong_masks");
    ASSERT_TRUE(others_serve_until([&] { return run(0).state != RunState::running; }));
    EXPECT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("alice"));
    EXPECT_EQ(all<Slashed>()[0].reason, "not_opened");
}

TEST_F(GroupMaskOpenings, ASegmentThatIsNotDrawnShowsNothingAndIsNotChallenged) {
    all_deal();
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    spread({0, 1, 2, 3});
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::unmasking; }));
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    const U256 bond = market::challenge_bond(params, views::spec(state, 1).value());
    std::optional<std::uint32_t> hidden;
    ASSERT_TRUE(serve_until([&] {
        for (const std::uint32_t index : {0u, 1u, 2u, 3u}) {
            const auto second = views::segment(state, 1, index, 1).value();
            if (second.window_end != 0 && second.audit == 0) hidden = index;
        }
        return hidden.has_value();
    })) << "one in ten segments is drawn";
    EXPECT_FALSE(views::shows_masks(state, 1, *hidden, 1));
    EXPECT_EQ(name(send("v1", ChallengeSegment{1, *hidden, 1, word("mine")}, bond)), "masks_not_shown");
    EXPECT_EQ(name(send(solver_of(*hidden), masks_of(*hidden, 1))), "unknown_audit");
    EXPECT_TRUE(views::shows_masks(state, 1, *hidden, 0)) << "the first segment is always audited";
    EXPECT_EQ(name(send("v1", ChallengeSegment{1, *hidden, 0, word("mine")}, bond)), "ok");
}

TEST_F(GroupMaskOpenings, WithoutMasksNothingIsShown) {
    start_group(small_terms());
    begin_rounds();
    auto call = next_commit(0, 0, 10);
    call.masks = word("masks");
    EXPECT_EQ(name(send("alice", call)), "wrong_message");
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(others_serve_until([&] { return is_drawn(0, 0) && audit_of(0, 0).phase == AuditPhase::opening; }));
    EXPECT_EQ(name(send("alice", ShowMasks{1, 0, 0, {1}})), "not_masked");
    EXPECT_EQ(name(send("bob", ShowMasks{1, 0, 0, {1}})), "not_solver");
    EXPECT_EQ(name(send("alice", ShowMasks{1, 0, 2'000'000, {1}})), "unknown_audit");
    EXPECT_EQ(name(send("alice", ShowMasks{1, 0, 7, {1}})), "unknown_audit");
    ASSERT_EQ(send("alice", opening(0, 0)), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(audit_of(0, 0).phase, AuditPhase::drawing);
}

TEST_F(GroupMaskOpenings, MasksHaveTheirPhasesAndNoPrivateData) {
    const auto posted = [&](const std::function<void(market::GroupSpec&)>& change) {
        market::GroupSpec terms = masked_terms();
        change(terms);
        return name(post_group(spec_of(terms), terms));
    };
    EXPECT_EQ(posted([](auto&) {}), "ok");
    EXPECT_EQ(posted([](auto& terms) { terms.phases.resize(8); }), "bad_plan");
    EXPECT_EQ(posted([](auto& terms) { terms.phases.resize(9); }), "bad_plan");
    EXPECT_EQ(posted([](auto& terms) { terms.phases[8].member_seed = true; }), "bad_plan")
        << "all members unmask alike";
    EXPECT_EQ(posted([](auto& terms) { terms.mask_bits = 0, terms.mask_blocks = 0; }), "bad_plan");
    EXPECT_EQ(posted([](auto& terms) { terms.private_sets = 1; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto& terms) { terms.catch_up_max = 259; }), "group_terms_out_of_range")
        << "one record may have 256 masks";
    EXPECT_EQ(posted([](auto& terms) { terms.catch_up_max = 260; }), "ok");
}

}  // namespace
}  // namespace retrace::contracts
