// SPDX-License-Identifier: MIT
// Rounds of a group whose messages have masks: the clock of keys, shares and unmasking, what is refused, who is paid.
// SPEC 21.11.
#include "contracts/lifecycle/isolate.hpp"
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"

namespace retrace::contracts {
namespace {

TEST_F(GroupMasks, ARoundIsRecordedOnceItsSumIsUnmasked) {
    play_to_unmasking();
    EXPECT_EQ(masks().recorded, (RunList{0, 1, 2, 3}));
    EXPECT_FALSE(views::round(state, 1, 0).has_value());
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    EXPECT_EQ(group().round, 1u);
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 2, 3}));
    EXPECT_EQ(mask_step(), MaskStep::open);
    // The terms are those that anybody computes from the ledger, and that the members' secrets give.
    std::vector<market::MaskTerm> terms;
    for (const std::uint32_t run : {0u, 1u, 2u, 3u})
        terms.push_back({market::self_seed({1, 0, 0}, run, secrets_.at(run).self), true});
    EXPECT_EQ(round(0).terms, mask_root_of(terms));
    EXPECT_EQ(mask_step(1), MaskStep::keys);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) EXPECT_FALSE(views::member_masks(state, 1, 0, run).has_value());
}

TEST_F(GroupMasks, TheMasksOfOneThatSentNothingAreRevealed) {
    play_to_unmasking({2});  // Nobody has its message.
    EXPECT_EQ(masks().recorded, (RunList{0, 1, 3}));
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 3}));
    std::vector<market::MaskTerm> terms;
    for (const std::uint32_t run : {0u, 1u, 3u})
        terms.push_back({market::self_seed({1, 0, 0}, run, secrets_.at(run).self), true});
    for (const std::uint32_t run : {0u, 1u, 3u}) {
        const auto agreed = ledger::shared_point(secrets_.at(run).mask, ledger::public_point(secrets_.at(2).mask));
        terms.push_back({market::pair_seed({1, 0, 0}, run, 2, agreed), run < 2});
    }
    EXPECT_EQ(round(0).terms, mask_root_of(terms));
}

TEST_F(GroupMasks, AMemberThatDoesNotUnmaskIsNotPaidForTheRound) {
    play_to_unmasking();
    for (const std::uint32_t run : {0u, 1u, 2u}) ASSERT_EQ(unmask(run), CallStatus::ok);
    const std::uint64_t deadline = group().deadline;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(height, deadline + 1);
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 2, 3}));
    EXPECT_EQ(mask_step(), MaskStep::open);
    EXPECT_FALSE(views::round_message(state, 1, 0, 0)->unpaid);
    EXPECT_TRUE(views::round_message(state, 1, 0, 3)->unpaid);
    EXPECT_FALSE(earned_in_group(state, run(0), 0, 1).is_zero());
    EXPECT_TRUE(earned_in_group(state, run(3), 0, 1).is_zero());
    EXPECT_EQ(run(3).state, RunState::running);
}

TEST_F(GroupMasks, WithTooFewSharesTheRoundIsVoid) {
    play_to_unmasking();
    for (const std::uint32_t run : {0u, 1u}) ASSERT_EQ(unmask(run), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(mask_step(), MaskStep::lost);
    EXPECT_TRUE(round(0).terms.is_zero());
    EXPECT_TRUE(recorded_runs(0).empty());
    EXPECT_EQ(round(0).committed, 4u);
    EXPECT_FALSE(views::round_message(state, 1, 0, 0)->recorded);
}

TEST_F(GroupMasks, NothingIsUnmaskedOfARecordThatIsTooSmall) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    send_messages({0, 1, 2, 3}, {1, 2});
    EXPECT_EQ(group().round, 1u);
    EXPECT_EQ(mask_step(), MaskStep::lost);
    EXPECT_TRUE(recorded_runs(0).empty());
}

TEST_F(GroupMasks, WithTooFewKeysOrSharesTheRoundClosesEmptyAfterItsTime) {
    begin();
    const std::uint64_t end = group().deadline;
    agree_on_keys({0, 1});  // Three are the least.
    EXPECT_EQ(mask_step(0), MaskStep::lost);
    EXPECT_EQ(name(train(0)), "wrong_mask_step");
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(height, end + 1);
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1});
    EXPECT_EQ(mask_step(1), MaskStep::lost);
    ASSERT_TRUE(serve_until([&] { return group().round == 2; }));
    EXPECT_TRUE(round(1).entries.empty());
}

TEST_F(GroupMasks, WhoStaysAwayFromKeysOrSharesMissesTheRoundAndTheOthersGoOn) {
    begin();
    const std::uint64_t began = height;
    agree_on_keys({0, 1, 2, 3});
    EXPECT_EQ(height, began + 1);  // All are there, so nobody waits.
    deal_all({0, 1, 2});
    EXPECT_EQ(mask_step(), MaskStep::messages);
    EXPECT_GT(height, masks().deadline);
    EXPECT_EQ(name(train(3)), "not_in_cohort");
    send_messages({0, 1, 2});
    ASSERT_EQ(group().phase, GroupPhase::unmasking);  // Nobody waited for a message of 3.
    EXPECT_EQ(name(send("dave", Unmask{1, 3, 0, encode(revealed_of(0))})), "not_in_cohort");
    for (const std::uint32_t run : {0u, 1u, 2u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 2}));
}

TEST_F(GroupMasks, MessagesWaitForKeysAndShares) {
    begin();
    EXPECT_EQ(name(train(0)), "wrong_mask_step");
    agree_on_keys({0, 1, 2, 3});
    EXPECT_EQ(name(train(0)), "wrong_mask_step");
    deal_all({0, 1, 2, 3});
    EXPECT_EQ(name(train(0)), "ok");
}

TEST_F(GroupMasks, WhoSealedAWrongShareLosesItsLock) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 3u}) ASSERT_EQ(deal(run), CallStatus::ok);
    Bytes wrong = shares_of(2);
    wrong[wrong.size() - 4 * 64 + 40] ^= 1;  // For member 0, the share of the mask key.
    wrong[wrong.size() - 4 * 64 + 8] ^= 1;   // And that of its own mask.
    ASSERT_EQ(send("carol", MaskShares{1, 2, 0, wrong}), CallStatus::ok);
    await_messages(0);
    send_messages({0, 1, 2, 3});
    ASSERT_EQ(group().phase, GroupPhase::unmasking);
    const U256 locked = run(2).locked, bonded = views::stake(state, party("carol")).bonded;
    ASSERT_FALSE(locked.is_zero());
    ASSERT_EQ(unmask(0), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_TRUE(run(2).locked.is_zero());
    EXPECT_EQ(views::stake(state, party("carol")).bonded, bonded - locked) << "it is slashed, not freed";
    for (const std::uint32_t other : {1u, 3u}) ASSERT_EQ(unmask(other), CallStatus::ok) << last.revert_reason;
    // Two shares of its own are left of three that are needed.
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(mask_step(), MaskStep::lost);
    EXPECT_EQ(run(0).state, RunState::running);
}

TEST_F(GroupMasks, KeysThatDoNotFit) {
    begin();
    const auto posted = [&](std::uint32_t run, const Bytes& keys, std::uint32_t round = 0) {
        return name(send(solver_of(run), MaskKeys{1, run, round, keys}));
    };
    const auto secrets = market::MaskSecrets::random(source());
    const Bytes keys = encode(keys_of(0, secrets));
    EXPECT_EQ(posted(0, Bytes(keys.begin(), keys.end() - 1)), "mask_wrong_length");
    Bytes off = keys;
    std::fill_n(off.begin() + 1, 32, 0);
    EXPECT_EQ(posted(0, off), "mask_off_curve");
    EXPECT_EQ(name(send("alice", MaskKeys{1, 1, 0, keys})), "not_solver");
    EXPECT_EQ(posted(0, keys, 1), "wrong_round");
    Bytes twice = keys;
    std::copy_n(keys.begin(), 33, twice.begin() + 99);
    EXPECT_EQ(posted(0, twice), "mask_same_key");
    EXPECT_EQ(posted(1, keys), "mask_wrong_proof");  // Of another run.
    EXPECT_EQ(posted(0, keys), "ok");
    EXPECT_EQ(posted(0, keys), "already_committed");
    EXPECT_EQ(posted(1, keys), "mask_same_key");
    EXPECT_EQ(name(send("alice", MaskShares{1, 0, 0, {}})), "wrong_mask_step");
    EXPECT_EQ(name(send("alice", Unmask{1, 0, 0, {0}})), "wrong_mask_step");
    ASSERT_EQ(send("bob", LeaveTask{1, 1}), CallStatus::ok);
    EXPECT_EQ(name(post_keys(1)), "too_late");
    ASSERT_TRUE(serve_until([&] { return height == masks().deadline; }));
    EXPECT_EQ(post_keys(2), CallStatus::ok);
    ++height;
    EXPECT_EQ(name(post_keys(3)), "too_late");
    --height;
}

TEST_F(GroupMasks, SharesThatDoNotFit) {
    begin();
    agree_on_keys({0, 1, 2});
    const auto dealt = [&](std::uint32_t run, const Bytes& shares) {
        return name(send(solver_of(run), MaskShares{1, run, 0, shares}));
    };
    const Bytes shares = shares_of(0);
    Bytes longer = shares;
    longer.push_back(0);
    EXPECT_EQ(dealt(0, longer), "mask_wrong_length");
    Bytes off = shares;
    off[0] = 7;
    EXPECT_EQ(dealt(0, off), "mask_off_curve");
    EXPECT_EQ(dealt(3, shares), "not_in_cohort");
    EXPECT_EQ(dealt(0, shares), "ok");
    EXPECT_EQ(dealt(0, shares), "already_committed");
}

TEST_F(GroupMasks, RevealedSharesThatDoNotFit) {
    play_to_unmasking();
    const auto revealed = [&](std::uint32_t run, const market::RevealedShares& shares) {
        return name(send(solver_of(run), Unmask{1, run, 0, encode(shares)}));
    };
    const market::RevealedShares honest = revealed_of(0);
    EXPECT_EQ(name(send("alice", Unmask{1, 0, 0, {9}})), "mask_wrong_length");
    EXPECT_EQ(revealed(1, honest), "mask_wrong_share");
    market::RevealedShares wrong = honest;
    wrong.at(2) = market::Scalar(5);
    EXPECT_EQ(revealed(0, wrong), "mask_wrong_share");
    wrong.erase(2);
    EXPECT_EQ(revealed(0, wrong), "mask_wrong_count");
    const auto round = masked();
    const auto complaint = market::complain(round.round, round.cohort, 2, 0, secrets_.at(0), source());
    wrong.emplace(2, complaint);  // The share fits.
    EXPECT_EQ(revealed(0, wrong), "mask_wrong_share");
    auto forged = complaint;
    forged.response = forged.response + market::Scalar(1);
    wrong.at(2) = forged;
    EXPECT_EQ(revealed(0, wrong), "mask_wrong_proof");
    EXPECT_EQ(run(2).state, RunState::running);
    EXPECT_EQ(revealed(0, honest), "ok");
    EXPECT_EQ(revealed(0, honest), "already_revealed");
}

TEST_F(GroupMasks, TermsOfMasks) {
    const auto posted = [&](const std::function<void(market::GroupSpec&)>& change, std::uint8_t members = 4) {
        market::GroupSpec terms = masked_terms();
        change(terms);
        return name(post_group(spec_of(terms, members), terms));
    };
    EXPECT_EQ(posted([](auto&) {}), "ok");
    EXPECT_EQ(posted([](auto& terms) { terms.least = 2; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto& terms) { terms.mask_bits = 31; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto& terms) { terms.max_age = 1; }), "group_terms_out_of_range")
        << "a message has the masks of one round";
    EXPECT_EQ(posted([](auto& terms) { terms.mask_bits = 30; }), "ok");
    EXPECT_EQ(posted([](auto& terms) { terms.mask_blocks = 0; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto& terms) { terms.mask_blocks = 9; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto& terms) { terms.round_blocks = 19; }), "group_terms_out_of_range")
        << "after three steps of five blocks a message has more than one turn of a proposer";
    EXPECT_EQ(posted([](auto& terms) { terms.mask_bits = 0; }), "group_terms_out_of_range");
    EXPECT_EQ(posted([](auto&) {}, 33), "group_terms_out_of_range");
    begin_chain(false);
    EXPECT_EQ(posted([](auto&) {}), "group_terms_out_of_range") << "21.11.35";
    const market::GroupSpec plain = small_terms();
    EXPECT_EQ(name(post_group(spec_of(plain), plain)), "ok");
}

TEST_F(GroupMasks, ValidatorsCannotKeepAMemberOutOfAWholeStep) {
    market::GroupSpec terms = masked_terms();
    terms.round_blocks = 24;
    const auto posted = [&](std::uint64_t places, std::uint64_t blocks) {
        market::ValidatorRules rules;
        rules.places = places;
        store(state, keys::validator_rules(), rules);
        terms.mask_blocks = blocks;
        return name(post_group(spec_of(terms), terms));
    };
    EXPECT_EQ(posted(5, 4), "group_terms_out_of_range");
    EXPECT_EQ(posted(5, 5), "ok");
    terms.mask_bits = 0;  // Without masks there is no such step.
    terms.phases.resize(market::kPlanPhases);
    EXPECT_EQ(posted(5, 0), "ok");
}

TEST_F(GroupMasks, AGroupWithoutMasksTakesNoneOfTheCalls) {
    start_group(small_terms());
    begin_rounds();
    EXPECT_EQ(name(post_keys(0)), "not_masked");
    EXPECT_FALSE(views::round_masks(state, 1, 0).has_value());
}

/// Slots of the contract of groups, by the first byte of their keys.
std::map<char, std::size_t> slots_of_groups(const ledger::State& state) {
    std::map<char, std::size_t> out;
    for (const auto& [slot, value] : state.diff().slots)
        if (slot.contract == address_of(Contract::groups) && !value.empty()) ++out[static_cast<char>(slot.key.at(0))];
    return out;
}

/// 21.6.8: what only an open round needs is gone when it closes, and no later call or read asks for it.
TEST_F(GroupMasks, ALongGroupKeepsOneRecordARoundAndOneAMessage) {
    const char holdings = static_cast<char>(keys::holding(1, 0, 0).bytes.at(0)),
               masks_of_round = static_cast<char>(keys::round_masks(1, 0).bytes.at(0)),
               masks_of_member = static_cast<char>(keys::member_masks(1, 0, 0).bytes.at(0));
    market::GroupSpec terms = masked_terms();
    terms.rounds = 30;
    start_group(terms);
    begin_rounds();
    std::map<char, std::size_t> before;
    for (std::uint32_t now = 0; now < terms.rounds; ++now) {
        agree_on_keys({0, 1, 2, 3});
        deal_all({0, 1, 2, 3});
        send_messages({0, 1, 2, 3});
        auto slots = slots_of_groups(state);
        EXPECT_EQ(slots[holdings], 4u);
        EXPECT_EQ(slots[masks_of_round], 1u);
        EXPECT_EQ(slots[masks_of_member], 4u);
        const Bytes late = encode(revealed_of(3));
        const auto open = masked(now);
        const Bytes complaint = encode(market::complain(open.round, open.cohort, 1, 0, secrets_.at(0), source()));
        for (const std::uint32_t run : {0u, 1u, 2u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
        slots = slots_of_groups(state);
        EXPECT_EQ(slots[holdings], 0u);
        EXPECT_EQ(slots[masks_of_round], now + 1 < terms.rounds ? 1u : 0u) << "the open round's";
        EXPECT_EQ(slots[masks_of_member], 0u);
        EXPECT_FALSE(round(now).terms.is_zero());
        EXPECT_EQ(name(send("dave", Unmask{1, 3, now, late})), "wrong_round");
        EXPECT_EQ(name(send("alice", MaskKeys{1, 0, now, encode(keys_of(0, secrets_.at(0)))})), "wrong_round");
        EXPECT_EQ(name(send("alice", MaskShares{1, 0, now, Bytes(1)})), "wrong_round");
        EXPECT_EQ(name(send("alice", ComplainOfShare{1, 0, now, 1, complaint})), "wrong_round");
        EXPECT_EQ(name(send("alice", CommitHoldings{1, 0, now, word("list")})), "wrong_group_phase");
        EXPECT_EQ(name(send("alice", RevealHoldings{1, 0, now, Bytes{0}, word("salt")})), "wrong_group_phase");
        EXPECT_FALSE(views::holding(state, 1, now, 0).has_value());
        if (now == 10) before = slots;
        if (now == 20)
            for (const auto& [tag, count] : slots) {
                // Ten rounds, each of a record, four messages and four segments; openings are less than that.
                EXPECT_LE(count, before[tag] + 40) << "records with the tag " << tag;
            }
    }
    deliver({0, 1, 2, 3});
    for (std::uint32_t index = 0; index < 3; ++index) EXPECT_EQ(run(index).earned, group().price * U256(terms.rounds));
    EXPECT_TRUE(run(3).earned.is_zero()) << "it unmasked no round; its messages say so after the masks are gone";
}

TEST_F(GroupMasks, ARoundInWhichAllLeaveIsRemovedByItsClock) {
    begin();
    for (const std::uint32_t index : {0u, 1u, 2u, 3u})
        ASSERT_EQ(send(solver_of(index), LeaveTask{1, index}), CallStatus::ok);
    const std::uint64_t end = group().deadline;
    ASSERT_TRUE(serve_until([&] { return market::is_final(task().state); }));
    ASSERT_LE(height, end);
    while (height <= end) next_block();
    EXPECT_FALSE(views::round_masks(state, 1, 0).has_value());
}

TEST_F(GroupMasks, TheOpenRoundOfATaskThatIsFrozenIsRemovedWithIt) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    deal_all({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    ASSERT_EQ(list_messages(0, bitmap(0)), CallStatus::ok);
    Effects fx{state, params, height, {}};
    freeze_task(fx, 1);
    advance(params.unbond_blocks + 6);
    ASSERT_EQ(task().state, market::TaskState::released);
    auto slots = slots_of_groups(state);
    for (const keys::Key& key : {keys::holding(1, 0, 0), keys::round_masks(1, 0), keys::member_masks(1, 0, 0)})
        EXPECT_EQ(slots[static_cast<char>(key.bytes.at(0))], 0u);
}

TEST_F(GroupMasks, AGroupGoesThroughAllItsRounds) {
    begin();
    for (std::uint32_t now = 0; now < 3; ++now) {
        agree_on_keys({0, 1, 2, 3});
        deal_all({0, 1, 2, 3});
        send_messages({0, 1, 2, 3});
        for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round > now; }));
        EXPECT_EQ(recorded_runs(now), (RunList{0, 1, 2, 3}));
    }
    deliver({0, 1, 2, 3});
}

}  // namespace
}  // namespace retrace::contracts
