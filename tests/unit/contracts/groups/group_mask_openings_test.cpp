// SPDX-License-Identifier: MIT
// Masks over messages are shown when states are opened, and read by positions: 21.11.32 to 21.11.34, market 15.8.
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
    /// The audited members open what is due, but for state 1 of run 0, until that is due.
    void open_until_first_message_is_due() {
        ASSERT_TRUE(advance_until([&] {
            for (const std::uint32_t index : {1u, 2u, 3u}) serve_member(index);
            const auto first = views::checkpoint(state, 1, 0, 0).value();
            if (!first.opened && is_opening_due(0, 0, first)) {
                EXPECT_EQ(send("alice", opening(0, 0)), CallStatus::ok);
            }
            audit_members();
            return run(0).state != RunState::running || is_opening_due(0, 1, views::checkpoint(state, 1, 0, 1).value());
        }));
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
    EXPECT_TRUE(message.masks.empty()) << "nobody sees them before the state is open";
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

TEST_F(GroupMaskOpenings, AnOpeningShowsTheMasks) {
    all_deal();
    const std::vector<market::MaskTerm> terms = terms_of(0);
    const market::MaskOpening right = mask_opening(0);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    open_until_first_message_is_due();
    const auto shown = [&](const Bytes& masks) {
        OpenMember call = opening(0, 1);
        call.masks = masks;
        return name(send("alice", call));
    };
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
    EXPECT_EQ(shown(encode(right)), "ok");
    EXPECT_EQ(views::round_message(state, 1, 0, 0)->masks, terms);
}

TEST_F(GroupMaskOpenings, WhoMaskedWithOtherKeysCannotOpenAndLosesItsLock) {
    all_deal();
    auto call = next_commit(0, 0, 10);
    secrets_[7] = market::MaskSecrets::random(source());
    market::MaskOpening other = mask_opening(0);
    other.self = secrets_.at(7).self;
    call.masks = mask_root_of(market::message_terms({1, 0, 0}, 0, other));
    ASSERT_EQ(send("alice", call), CallStatus::ok);
    const market::MaskOpening posted = mask_opening(0);
    for (const std::uint32_t run : {1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    open_until_first_message_is_due();
    for (const market::MaskOpening& shown : {posted, other}) {
        OpenMember open = opening(0, 1);
        open.masks = encode(shown);
        EXPECT_EQ(name(send("alice", open)), "wrong_masks");
    }
    ASSERT_TRUE(advance_until([&] {
        for (const std::uint32_t index : {1u, 2u, 3u}) serve_member(index);
        audit_members();
        return run(0).state != RunState::running;
    }));
    EXPECT_EQ(run(0).state, RunState::forfeited);
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("alice"));
    EXPECT_EQ(all<Slashed>()[0].reason, "not_opened");
}

TEST_F(GroupMaskOpenings, WithoutMasksNothingIsShown) {
    start_group(small_terms());
    begin_rounds();
    auto call = next_commit(0, 0, 10);
    call.masks = word("masks");
    EXPECT_EQ(name(send("alice", call)), "wrong_message");
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    open_until_first_message_is_due();
    OpenMember open = opening(0, 1);
    open.masks = {1};
    EXPECT_EQ(name(send("alice", open)), "wrong_masks");
    open.masks = {};
    EXPECT_EQ(name(send("alice", open)), "ok");
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
