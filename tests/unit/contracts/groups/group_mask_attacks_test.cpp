// SPDX-License-Identifier: MIT
// Parties that would open the message of another, spoil rounds for nothing, or have honest members thrown out of a group
// with masks. SPEC 21.11, market 15.
#include <bit>

#include "contracts/calls/gas.hpp"
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupMaskAttacks : public GroupMasks {
protected:
    /// Shares of a run that fit nobody.
    Bytes garbage_of(std::uint32_t run) {
        Bytes out = shares_of(run);
        for (std::size_t i = out.size() - 4 * 64; i < out.size(); ++i) out[i] ^= 0x5a;
        return out;
    }
    void deal_garbage(std::uint32_t run) {
        ASSERT_EQ(send(solver_of(run), MaskShares{1, run, group().round, garbage_of(run)}), CallStatus::ok);
    }
    /// Plays a round in which these do all that they are asked for.
    void play(const RunList& runs) {
        const std::uint32_t now = group().round;
        agree_on_keys(runs);
        deal_all(runs);
        send_messages(runs);
        for (const std::uint32_t run : runs) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    }
    /// A stranger takes a free seat at the newest state of member 0 that it can.
    void join(const std::string& name) {
        add_solver(name);
        std::uint64_t index = run(0).finalised;
        while (index > 0 && views::member_segment(state, 1, 0, index - 1)->shared.empty()) --index;
        ASSERT_NE(index, 0u);
        const U256 fee = market::join_fee(params, views::spec(state, 1).value(), index);
        ASSERT_EQ(send(name, JoinTask{1, 0, index}, fee), CallStatus::ok) << last.revert_reason;
    }
    U256 bonded(std::uint32_t run) const { return views::stake(state, views::run(state, 1, run)->solver).bonded; }
};

TEST_F(GroupMaskAttacks, NobodyPostsAKeyThatIsMadeOfAnothers) {
    begin();
    ASSERT_EQ(post_keys(0), CallStatus::ok);
    const auto secrets = market::MaskSecrets::random(source());
    market::MaskKeys rogue = keys_of(1, secrets);
    const market::CurvePoint of_another = masked().cohort.at(0).deal;
    Bytes deal = to_bytes(of_another.bytes());
    deal[0] ^= 1;  // Complaints about it would open what 0 deals.
    rogue.deal = market::CurvePoint::decode(deal).value();
    EXPECT_EQ(name(send("bob", MaskKeys{1, 1, 0, encode(rogue)})), "mask_wrong_proof");
    EXPECT_EQ(masks().cohort, (RunList{0}));
    EXPECT_EQ(name(send("bob", MaskKeys{1, 1, 0, encode(keys_of(1, secrets))})), "ok");
}

TEST_F(GroupMaskAttacks, ADealerOfGarbageDoesNotLeaveWithItsLock) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    const U256 before = bonded(2), locked = run(2).locked;
    for (const std::uint32_t run : {0u, 1u, 3u}) ASSERT_EQ(deal(run), CallStatus::ok);
    deal_garbage(2);
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return mask_step() == MaskStep::messages; }));
    send_messages({0, 1, 3});  // Nobody waits for a message of 2.
    ASSERT_EQ(group().phase, GroupPhase::unmasking);
    EXPECT_EQ(run(2).state, RunState::running);
    ASSERT_EQ(unmask(0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(bonded(2), before - locked);
}

TEST_F(GroupMaskAttacks, AnHonestDealerThatLeavesEndsWhenTheRoundCloses) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    send_messages({0, 1, 3});
    EXPECT_EQ(run(2).state, RunState::running);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    serve_block();
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_TRUE(all<Slashed>().empty());
}

TEST_F(GroupMaskAttacks, WhoLeavesBeforeItDealsIsFreeAtOnce) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 3u}) ASSERT_EQ(deal(run), CallStatus::ok);
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    EXPECT_EQ(name(deal(2)), "too_late");
    serve_block();
    serve_block();
    EXPECT_EQ(run(2).state, RunState::left);
    EXPECT_EQ(mask_step(), MaskStep::complaints);  // Its shares were not waited for.
}

TEST_F(GroupMaskAttacks, TheRequesterDoesNotEndADealerWithItsLock) {
    advance(params.unaudited_blocks);
    begin();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    auto waiting = run(2);
    waiting.unaudited_since = height - params.unaudited_blocks;
    store(state, keys::run(1, 2), waiting);
    books_are_damaged = true;  // No audit of it waits.
    EXPECT_EQ(name(send("requester", DecideUnaudited{1, 2, false})), "too_early");
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    ASSERT_EQ(mask_step(), MaskStep::lost);
    EXPECT_EQ(name(post_keys(2)), "too_many_open");  // It could not send a message either.
    EXPECT_EQ(name(send("requester", DecideUnaudited{1, 2, false})), "ok");
    EXPECT_EQ(run(2).state, RunState::left);
}

TEST_F(GroupMaskAttacks, WhoStaysAwayHasNobodyElseThrownOut) {
    begin();
    for (std::uint32_t now = 0; now < 2; ++now) {
        agree_on_keys({0, 1, 2, 3});
        deal_all({0, 1});  // Two of four do not deal.
        ASSERT_EQ(mask_step(now), MaskStep::lost);
        ASSERT_TRUE(serve_until([&] { return group().round == now + 1; }));
    }
    for (const std::uint32_t index : {0u, 1u}) EXPECT_EQ(member(index).absent, 0u);
    for (const std::uint32_t index : {2u, 3u}) EXPECT_TRUE(member(index).leaving);
    ASSERT_EQ(post_keys(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return mask_step(2) == MaskStep::lost; }));
    ASSERT_TRUE(serve_until([&] { return group().round == 3; }));
    EXPECT_EQ(member(0).absent, 0u);
    EXPECT_EQ(member(1).absent, 1u);
}

TEST_F(GroupMaskAttacks, WhoDealtAndSendsNothingIsAbsent) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(member(0).absent, 0u);
    EXPECT_EQ(member(1).absent, 1u);
}

TEST_F(GroupMaskAttacks, WhoDealtIsNotAbsentWhenTheClockComesTooLateForMessages) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 3u}) ASSERT_EQ(deal(run), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return mask_step() == MaskStep::complaints; }));
    auto late = masks();
    late.deadline = group().deadline;  // As if the scheduler were behind for so long.
    store(state, keys::round_masks(1, 0), late);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(mask_step(0), MaskStep::lost);
    for (const std::uint32_t index : {0u, 1u, 3u}) EXPECT_EQ(member(index).absent, 0u) << index;
    EXPECT_EQ(member(2).absent, 1u);
}

TEST_F(GroupMaskAttacks, NobodyHidesAmongFewerThanTheLeastMembers) {
    market::GroupSpec terms = masked_terms();
    terms.least = 4;
    terms.absence_limit = 4;
    start_group(terms);
    begin_rounds();
    agree_on_keys({0, 1, 3});
    EXPECT_EQ(mask_step(), MaskStep::lost);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 3});
    EXPECT_EQ(mask_step(1), MaskStep::lost);
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    send_messages({0, 1, 2, 3}, {1});  // Nobody has the message of 1.
    EXPECT_EQ(mask_step(2), MaskStep::lost);
    EXPECT_EQ(last_change(2).members, 3u) << "of a record without the message of 1";
    EXPECT_TRUE(round(2).entries.empty());
}

TEST_F(GroupMaskAttacks, RoundsThatNobodyPlaysDouble) {
    market::GroupSpec terms = masked_terms();
    terms.rounds = 10;
    terms.fetch_blocks = terms.reveal_blocks = 1;
    terms.absence_limit = 8;
    start_group(terms);
    begin_rounds();
    for (std::uint32_t now = 0; now < 3; ++now) {
        EXPECT_EQ(group().deadline, height + (terms.round_blocks << now));
        const std::uint64_t end = group().deadline;
        ASSERT_TRUE(serve_until([&] { return group().round == now + 1; }));
        EXPECT_EQ(height, end + 1);
    }
    // Who comes back in the middle of a long round waits for no more than a round.
    const std::uint64_t came = height + 70;
    ASSERT_TRUE(serve_until([&] { return height == came; }));
    ASSERT_EQ(mask_step(3), MaskStep::keys);
    ASSERT_EQ(post_keys(0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(masks(3).deadline, came + terms.mask_blocks);
    EXPECT_EQ(group().deadline, came + terms.round_blocks);
    ASSERT_TRUE(serve_until([&] { return mask_step(3) == MaskStep::lost; }));
    EXPECT_EQ(height, came + terms.mask_blocks + 1);
}

TEST_F(GroupMaskAttacks, WhoIsGoneIsOfNoCohort) {
    begin();
    for (const std::uint32_t run : {2u, 0u, 1u}) ASSERT_EQ(post_keys(run), CallStatus::ok);
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    EXPECT_EQ(masks().cohort, (RunList{0, 1}));
    EXPECT_FALSE(views::member_masks(state, 1, 0, 2).has_value());
    next_block();
    ASSERT_EQ(mask_step(), MaskStep::keys);  // Three members may send, and two of them have posted keys.
    ASSERT_EQ(post_keys(3), CallStatus::ok);
    next_block();
    EXPECT_EQ(mask_step(), MaskStep::shares);
    EXPECT_EQ(masked().cohort.size(), 3u);
}

TEST_F(GroupMaskAttacks, SeatsThatChangeHandsMakeNoCohortLargerThanTheGroup) {
    market::GroupSpec terms = masked_terms();
    terms.rounds = 10;
    terms.mask_bits = 30;
    terms.absence_limit = 8;
    start_group(terms);
    begin_rounds();
    play({0, 1, 2, 3});
    play({0, 1, 2, 3});
    const auto ready = [&] {
        const bool final = run(0).finalised >= 1 && run(2).finalised + 1 == run(2).next_state;
        return final && mask_step(group().round) == MaskStep::keys;
    };
    ASSERT_TRUE(serve_until(ready));
    ASSERT_EQ(post_keys(2), CallStatus::ok) << last.revert_reason;
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    serve_block();
    ASSERT_EQ(run(2).state, RunState::left);
    join("erin");
    ASSERT_EQ(commit_first(4), CallStatus::ok) << last.revert_reason;
    for (const std::uint32_t run : {4u, 0u, 1u, 3u}) ASSERT_EQ(post_keys(run), CallStatus::ok) << last.revert_reason;
    next_block();
    const auto cohort = masked(group().round).cohort;
    EXPECT_EQ(cohort.size(), 4u);
    EXPECT_LE(30 + std::bit_width(cohort.size() - 1), 32);
}

TEST_F(GroupMaskAttacks, ACohortIsNoLargerThanTheSeats) {
    begin();
    auto full = masks();
    full.cohort = {5, 6, 7, 8};
    store(state, keys::round_masks(1, 0), full);
    EXPECT_EQ(name(post_keys(0)), "mask_wrong_count");
}

TEST_F(GroupMaskAttacks, ANewcomerIsNotAbsentFromARoundThatItCouldNotPlay) {
    market::GroupSpec terms = masked_terms();
    terms.rounds = 40;
    terms.absence_limit = 1;
    start_group(terms);
    begin_rounds();
    play({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    const auto is_free = [&] { return run(0).finalised != 0 && run(3).state == RunState::left; };
    for (int i = 0; i < 30 && !is_free(); ++i) play({0, 1, 2});
    ASSERT_TRUE(is_free());
    join("erin");
    agree_on_keys({0, 1, 2});
    deal_all({0, 1, 2});
    ASSERT_EQ(commit_first(4), CallStatus::ok) << last.revert_reason;
    const std::uint32_t now = group().round;
    send_messages({0, 1, 2});
    for (const std::uint32_t run : {0u, 1u, 2u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round > now; }));
    EXPECT_EQ(member(4).absent, 0u);
    EXPECT_FALSE(member(4).leaving);
}

TEST_F(GroupMaskAttacks, AComplaintPaysForTheEndOfARun) {
    market::RevealedShares shares{{0, market::Scalar(1)}, {1, market::Scalar(1)}};
    const std::uint64_t plain = extra_gas(Unmask{1, 0, 0, encode(shares)});
    shares.at(1) = market::ShareComplaint{ledger::generator(), market::Scalar(1), market::Scalar(1)};
    EXPECT_GE(extra_gas(Unmask{1, 0, 0, encode(shares)}), plain + kGasScheduledItem);
}

}  // namespace
}  // namespace retrace::contracts
