// SPDX-License-Identifier: MIT
// Every refusal of a group's calls, by name. A refused call changes nothing (the fixture checks it). SPEC 21.
#include <functional>

#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupRefusals : public GroupTest {
protected:
    using Change = std::function<void(TaskSpec&, market::GroupSpec&)>;

    /// What a posting is refused for. The plan's root fits the changed terms, unless `broken_root`.
    std::string posted(const Change& change, bool broken_root = false) {
        market::GroupSpec group = small_terms();
        TaskSpec spec = spec_of(group);
        change(spec, group);
        if (!broken_root) spec.program_root = plan_root(group);
        return std::string(slug(post_group(spec, group)));
    }
    std::string terms(const std::function<void(market::GroupSpec&)>& change) {
        return posted([&](TaskSpec&, market::GroupSpec& group) { change(group); });
    }
    std::string committed(std::uint32_t index, const std::function<void(CommitRound&)>& change) {
        CommitRound call = next_commit(index, group().round, 10);
        change(call);
        return std::string(slug(send(solver_of(index), call)));
    }
    void start(const market::GroupSpec& terms) {
        start_group(terms);
        begin_rounds();
    }
    static std::string name(CallStatus status) { return std::string(slug(status)); }
};

TEST_F(GroupRefusals, PostingsOutOfRange) {
    using G = market::GroupSpec;
    const std::string range = "group_terms_out_of_range";
    EXPECT_EQ(terms([](G& g) { g.rounds = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.rounds = 4; }), range) << "the task has a segment for each of 3 rounds, and one more";
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.interval = 2; }), range);
    EXPECT_EQ(terms([](G& g) { g.steps_max = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.steps_max = 65'537; }), range);
    EXPECT_EQ(terms([](G& g) { g.least = 1; }), range);
    EXPECT_EQ(terms([](G& g) { g.least = 5; }), range) << "of 4 seats";
    EXPECT_EQ(posted([](TaskSpec& s, G& g) { s.replicas = 1, g.least = 1; }), range);
    EXPECT_EQ(terms([](G& g) { g.round_blocks = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.grace_blocks = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.fetch_blocks = 1'000'000'001; }), range);
    EXPECT_EQ(terms([](G& g) { g.reveal_blocks = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.absence_limit = 0; }), range);
    EXPECT_EQ(terms([](G& g) { g.absence_limit = 9; }), range) << "messages are kept for 8 rounds";
    EXPECT_EQ(terms([](G& g) { g.max_age = 2; }), range) << "who trains for two rounds has left";
    EXPECT_EQ(terms([](G& g) { g.absence_limit = 5, g.max_age = 4; }), range) << "messages are kept for 8 rounds";
    EXPECT_EQ(terms([](G& g) { g.max_age = UINT32_MAX; }), range);
    EXPECT_EQ(
        posted([](TaskSpec& s, G& g) { s.replicas = 255, g.catch_up_max = 255, g.steps_max = 65'536, g.max_age = 1; }),
        range)
        << "weights are below 2^24";
    const auto rolls_back = [](G& g) { g.rounds = 16, g.rollbacks = 1, g.ahead = 4; };
    const auto refused = [&](const std::function<void(G&)>& change) {
        return posted([&](TaskSpec& s, G& g) { rolls_back(g), change(g), s.steps = g.rounds + 1u; });
    };
    EXPECT_EQ(refused([](G&) {}), "ok");
    EXPECT_EQ(refused([](G& g) { g.rollbacks = 9, g.rounds = 4 * 9 * 4; }), range) << "at most 8 rollbacks";
    EXPECT_EQ(refused([](G& g) { g.rollbacks = 0; }), range) << "a group that keeps its records is not ahead of any";
    EXPECT_EQ(refused([](G& g) { g.ahead = 0; }), range);
    EXPECT_EQ(refused([](G& g) { g.ahead = 7, g.rounds = 28; }), range) << "messages are kept for 8 rounds";
    EXPECT_EQ(refused([](G& g) { g.ahead = 65, g.keep_rounds = 256, g.rounds = 260; }), range);
    EXPECT_EQ(refused([](G& g) { g.rounds = 15; }), range) << "a quarter of the rounds may be undone";
    EXPECT_EQ(refused([](G& g) { g.max_age = 1; }), range);
    EXPECT_EQ(posted([&](TaskSpec& s, G& g) {
                  rolls_back(g), g.ahead = 17, g.rounds = 68, g.keep_rounds = 32, g.catch_up_max = 8'000;
                  s.steps = 69, s.replicas = 255;
              }),
              range)
        << "a loss reads all messages that it may undo";
    EXPECT_EQ(terms([](G& g) { g.round_blocks = 240; }), range) << "two rounds last longer than stake unbonds";
    EXPECT_EQ(terms([](G& g) { g.keep_rounds = 257; }), range);
    EXPECT_EQ(terms([](G& g) { g.catch_up_max = 3; }), range) << "a record may have 4 messages";
    EXPECT_EQ(terms([](G& g) { g.catch_up_max = (1u << 20) - 1; }), range) << "a segment has fewer positions";
    EXPECT_EQ(posted([&](TaskSpec& s, G&) { s.checkpoint_blocks = params.unbond_blocks; }), range)
        << "members would be locked while one does not make its first state";
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.replicas = 0; }), "replicas_out_of_range");
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.price_ceiling = U256(); }), "price_zero");
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.contract_hash = word("other"); }), "wrong_contract");
    market::GroupSpec group = small_terms();
    EXPECT_EQ(send("requester", PostGroup{spec_of(group), group}, U256(1)), CallStatus::wrong_value);
    EXPECT_EQ(posted([](TaskSpec&, G&) {}), "ok");
}

TEST_F(GroupRefusals, PlansThatAreNone) {
    using G = market::GroupSpec;
    const std::string bad = "bad_plan";
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.program_root = word("other"); }, true), bad);
    EXPECT_EQ(posted([](TaskSpec&, G& g) { g.steps_max = 11; }, true), bad) << "the plan has 10";
    EXPECT_EQ(posted([](TaskSpec& s, G&) { s.init_root = word("other"); }), bad);
    EXPECT_EQ(posted([](TaskSpec& s, G&) { std::swap(s.init_root, s.initial_state_root); }), bad);
    EXPECT_EQ(terms([](G& g) { g.shared = 0; }), bad);
    EXPECT_EQ(terms([](G& g) { g.shared = 17, g.public_tensors = {17}; }), bad);
    EXPECT_EQ(terms([](G& g) { g.public_tensors.clear(); }), bad);
    EXPECT_EQ(terms([](G& g) { g.public_tensors = {0, 2}; }), bad) << "0 is shared";
    EXPECT_EQ(terms([](G& g) { g.public_tensors = {3, 2}; }), bad);
    EXPECT_EQ(terms([](G& g) { g.public_tensors = {2, 2}; }), bad);
    EXPECT_EQ(terms([](G& g) { g.public_tensors = {1, 2, 3, 4, 5, 6, 7, 8, 9}; }), bad);
    EXPECT_EQ(terms([](G& g) { g.phases.pop_back(); }), bad);
    EXPECT_EQ(terms([](G& g) { std::swap(g.phases[2], g.phases[3]); }), bad);
    EXPECT_EQ(terms([](G& g) { g.phases[6].program_root = Hash32(); }), bad);
    EXPECT_EQ(terms([](G& g) { g.phases[3].member_seed = true; }), bad) << "all take in a record alike";
}

TEST_F(GroupRefusals, CommitmentsThatDoNotFit) {
    auto long_terms = small_terms();
    long_terms.rounds = 20;
    long_terms.catch_up_max = 5;
    long_terms.keep_rounds = 3;
    long_terms.absence_limit = 3;
    start(long_terms);
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.commitment = Hash32(); }), "commitment_zero");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.task = 2; }), "unknown_task");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.run = 9; }), "unknown_run");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.run = 1; }), "not_solver");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.index = 0; }), "wrong_index");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.index = 2; }), "wrong_index");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.base = 1; }), "wrong_base") << "round 0 is open";
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.steps = 11; }), "wrong_steps");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.message.pop_back(); }), "wrong_message");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.message.push_back(word("third")); }), "wrong_message");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.message[0] = Hash32(); }), "wrong_message");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.steps = 0; }), "wrong_base") << "a segment takes in or trains";
    EXPECT_EQ(committed(0, [](CommitRound&) {}), "ok");
    EXPECT_EQ(committed(0, [](CommitRound&) {}), "wrong_base") << "twice in a round";
    ASSERT_EQ(train(1), CallStatus::ok);
    ASSERT_EQ(train(2), CallStatus::ok);
    spread({0, 1, 2});
    EXPECT_EQ(committed(3, [](CommitRound&) {}), "wrong_group_phase");
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.base = 0; }), "wrong_base") << "it trains in the open round";
    EXPECT_EQ(name(send("alice", next_commit(0, 1, 0))), "ok");
    EXPECT_EQ(committed(0, [](CommitRound& c) { c.base = 0, c.steps = 0, c.message.clear(); }), "wrong_base");
    play_round({1, 2});
    EXPECT_EQ(committed(3, [](CommitRound&) {}), "ok") << "3 and 2 messages";
}

TEST_F(GroupRefusals, SegmentsThatTakeInTooMuch) {
    auto long_terms = small_terms();
    long_terms.rounds = 20;
    long_terms.catch_up_max = 5;
    long_terms.keep_rounds = 3;
    long_terms.absence_limit = 3;
    start(long_terms);
    play_round({0, 1, 2, 3});
    play_round({1, 2});
    EXPECT_EQ(committed(0, [](CommitRound&) {}), "too_many_messages") << "4 and 2";
    ASSERT_EQ(name(send("alice", next_commit(0, 1, 0))), "ok");
    EXPECT_EQ(committed(0, [](CommitRound&) {}), "ok");
    for (int i = 0; i < 2; ++i) play_round({1, 2});
    ASSERT_EQ(group().round, 4u);
    EXPECT_EQ(committed(3, [](CommitRound&) {}), "too_late") << "three rounds away";
}

TEST_F(GroupRefusals, RecordsThatAreNotKept) {
    auto long_terms = small_terms();
    long_terms.rounds = 20;
    long_terms.keep_rounds = 2;
    long_terms.absence_limit = 2;
    start(long_terms);
    // Absences: 1, 0, 1, then 2 rounds after the last segment.
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2, 3});
    play_round({0, 1, 2});
    const CommitRound late = next_commit(3, group().round, 10);
    EXPECT_EQ(late.base - member(3).base, 2u);
    auto record = member(3);
    record.base = 0;
    store(state, keys::member(1, 3), record);
    EXPECT_EQ(name(send("dave", late)), "wrong_base");
}

TEST_F(GroupRefusals, ListsThatDoNotFit) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u}) ASSERT_EQ(train(index), CallStatus::ok);
    const auto commit = [&](std::uint32_t run, std::uint32_t round) {
        return name(send(solver_of(run), CommitHoldings{1, run, round, word("blind")}));
    };
    EXPECT_EQ(commit(0, 0), "wrong_group_phase");
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::spreading; }));
    EXPECT_EQ(name(send("alice", CommitHoldings{1, 0, 0, Hash32()})), "commitment_zero");
    EXPECT_EQ(name(send("alice", CommitHoldings{1, 1, 0, word("blind")})), "not_solver");
    EXPECT_EQ(commit(0, 1), "wrong_round");
    EXPECT_EQ(commit(3, 0), "no_message");
    ASSERT_EQ(list_messages(0, bitmap(0)), CallStatus::ok);
    EXPECT_EQ(commit(0, 0), "already_committed");
    ASSERT_EQ(list_messages(1, bitmap(1)), CallStatus::ok);
    EXPECT_EQ(name(show_messages(0, bitmap(0))), "wrong_group_phase");
    ASSERT_TRUE(serve_until([&] { return group().phase == GroupPhase::revealing; }));
    EXPECT_EQ(name(show_messages(0, Bytes(33))), "wrong_bitmap");
    EXPECT_EQ(name(show_messages(0, Bytes(2))), "wrong_bitmap");
    EXPECT_EQ(name(show_messages(0, Bytes{})), "wrong_bitmap");
    EXPECT_EQ(name(show_messages(0, Bytes{0b1000})), "wrong_bitmap") << "three messages were sent";
    EXPECT_EQ(name(show_messages(0, Bytes{0b111})), "wrong_bitmap") << "its own";
    EXPECT_EQ(name(show_messages(0, Bytes{0b100})), "wrong_opening");
    EXPECT_EQ(name(show_messages(2, bitmap(2))), "not_committed");
    ASSERT_EQ(show_messages(0, bitmap(0)), CallStatus::ok);
    EXPECT_EQ(name(show_messages(0, bitmap(0))), "already_revealed");
}

TEST_F(GroupRefusals, OpeningsThatDoNotShowTheState) {
    start(small_terms());
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return is_opening_due(0, 0, views::checkpoint(state, 1, 0, 0).value()); }));
    const auto opened = [&](const std::function<void(OpenMember&, verifier::PublicLeaves&)>& change) {
        OpenMember call = opening(0, 0);
        auto shown = verifier::decode_public_leaves(call.leaves).value();
        change(call, shown);
        if (!call.leaves.empty()) call.leaves = verifier::encode(shown);
        return name(send("alice", call));
    };
    using Shown = verifier::PublicLeaves;
    EXPECT_EQ(opened([](OpenMember& c, Shown&) { c.index = 2'000'000; }), "not_committed");
    EXPECT_EQ(opened([](OpenMember& c, Shown&) { c.leaves.clear(); }), "bad_leaves");
    EXPECT_EQ(opened([](OpenMember& c, Shown&) { c.run = 1; }), "not_solver");
    EXPECT_EQ(opened([](OpenMember& c, Shown&) { c.index = 2; }), "not_committed");
    EXPECT_EQ(opened([](OpenMember& c, Shown&) { c.root = word("other"); }), "wrong_opening");
    EXPECT_EQ(opened([&](OpenMember& c, Shown& s) { c = opening(0, 1), s = {}; }), "would_leak");
    EXPECT_EQ(opened([](OpenMember&, Shown& s) { s.leaves[0] = word("other"); }), "wrong_leaves");
    EXPECT_EQ(opened([](OpenMember&, Shown& s) { s.leaves.push_back(word("more")); }), "wrong_leaves");
    EXPECT_EQ(opened([](OpenMember&, Shown& s) { s.header.step = 1; }), "wrong_leaves");
    EXPECT_EQ(opened([](OpenMember&, Shown& s) { s.program.states = 5; }), "wrong_leaves");
    EXPECT_EQ(opened([](OpenMember&, Shown&) {}), "ok");
    EXPECT_EQ(opened([](OpenMember&, Shown&) {}), "already_opened");
}

TEST_F(GroupRefusals, AStateOfAnotherStepCannotBeOpened) {
    start_group(small_terms());
    // The root is honest about its header, which is not that of a first state.
    auto first = made(0, kernels::header_step(1, 0), 0, 0, "");
    states_[{0, 0}] = {first, false, false};
    ASSERT_EQ(send("alice", CommitCheckpoint{1, 0, 0, solver::checkpoint_commitment(1, 0, 0, salt(0, 0), first.root)}),
              CallStatus::ok);
    for (const std::uint32_t index : {1u, 2u, 3u}) ASSERT_EQ(commit_first(index), CallStatus::ok);
    next_block();
    ASSERT_EQ(train(0), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return is_opening_due(0, 0, views::checkpoint(state, 1, 0, 0).value()); }));
    EXPECT_EQ(name(send("alice", opening(0, 0))), "wrong_leaves");
}

TEST_F(GroupRefusals, WhoMayNotJoin) {
    auto long_terms = small_terms();
    long_terms.rounds = 40;
    start(long_terms);
    const auto spec = views::spec(state, 1).value();
    const U256 fee = market::join_fee(params, spec, 1);
    const auto join = [&](std::string_view who, std::uint32_t anchor = 0, std::uint64_t index = 1) {
        return name(send(who, JoinTask{1, anchor, index}, index == 0 ? U256() : fee));
    };
    EXPECT_EQ(name(send("erin", JoinTask{2, 0, 1}, fee)), "unknown_task");
    EXPECT_EQ(join("requester"), "own_task");
    EXPECT_EQ(join("erin"), "not_registered");
    add_solver("erin");
    EXPECT_EQ(name(send("erin", JoinTask{1, 0, 1}, fee - U256(1))), "wrong_value");
    EXPECT_EQ(join("alice"), "already_running");
    EXPECT_EQ(join("erin"), "seats_taken");
    play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run(3).state == RunState::left; }));
    EXPECT_EQ(join("dave"), "excluded");
    EXPECT_EQ(join("erin", 0, 0), "wrong_anchor") << "state 0 is no finalised state";
    EXPECT_EQ(join("erin", 9, 1), "wrong_anchor");
    ASSERT_EQ(run(0).finalised, 1u);
    EXPECT_EQ(join("erin", 0, 2), "wrong_anchor") << "not finalised";
    ASSERT_EQ(send("erin", BeginUnbond{views::free_stake(state, params, party("erin"))}), CallStatus::ok);
    EXPECT_EQ(join("erin"), "stake_too_low");
    ASSERT_EQ(send("erin", Deposit{}, U256(99) * kCoin), CallStatus::ok);
    EXPECT_EQ(join("erin"), "ok");
    EXPECT_EQ(join("erin"), "already_running");
}

TEST_F(GroupRefusals, AnAnchorWhoseRoundsAreNotKept) {
    auto long_terms = small_terms();
    long_terms.rounds = 40;
    long_terms.keep_rounds = 2;
    start(long_terms);
    add_solver("erin");
    for (int i = 0; i < 2; ++i) play_round({0, 1, 2, 3});
    ASSERT_EQ(send("dave", LeaveTask{1, 3}), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return run(0).finalised >= 1 && run(3).state == RunState::left; }));
    while (group().round < 3) play_round({0, 1, 2});
    const U256 fee = market::join_fee(params, views::spec(state, 1).value(), 1);
    EXPECT_EQ(name(send("erin", JoinTask{1, 0, 1}, fee)), "wrong_anchor");
}

TEST_F(GroupRefusals, GroupsAndOtherTasksHaveTheirOwnCalls) {
    start(small_terms());
    ASSERT_EQ(train(0), CallStatus::ok);
    EXPECT_EQ(name(checkpoint("alice", 2)), "group_task");
    EXPECT_EQ(name(send("alice", OpenRoots{1, 0, 0, {salt(0, 0)}, {word("x")}})), "group_task");
    EXPECT_EQ(name(send("alice", OpenSegment{1, 0, 0, salt(0, 0), word("x")})), "group_task");
    EXPECT_EQ(name(send("alice", RevealSegment{1, 0, 0, salt(0, 0), word("x")})), "group_task");
    EXPECT_EQ(name(send("requester", RaiseReplicas{1, 5}, U256(1))), "group_task");
    post();
    auction({{"alice", 400}}, 2);
    ASSERT_EQ(send("alice", AcceptData{2}), CallStatus::ok);
    ASSERT_EQ(checkpoint("alice", 0, 0, 2), CallStatus::ok);
    EXPECT_EQ(name(send("alice", CommitRound{2, 0, 1, 0, 1, word("x"), {}})), "not_group");
    EXPECT_EQ(name(send("alice", CommitHoldings{2, 0, 0, word("x")})), "not_group");
    EXPECT_EQ(name(send("alice", RevealHoldings{2, 0, 0, {}, word("x")})), "not_group");
    auto call = opening(0, 0);
    call.task = 2;
    EXPECT_EQ(name(send("alice", call)), "not_group");
    EXPECT_EQ(name(send("alice", LeaveTask{2, 0})), "not_group");
    EXPECT_EQ(name(send("erin", JoinTask{2, 0, 1})), "not_group");
    for (const char* missing : {"groupOf", "roundOf"}) {
        const bool round = std::string_view(missing) == "roundOf";
        const Bytes data = round ? calldata(ReadRound{1, 7}) : calldata(ReadGroup{2});
        const auto answer =
            executor.view_call(state, block(), {party("erin"), address_of(Contract::groups), U256(), data, 1'000'000});
        EXPECT_EQ(decode_refusal(answer.output)->slug, round ? "unknown_round" : "not_group");
    }
}

TEST_F(GroupRefusals, NothingIsCommittedAfterTheDeadlineOfAPhase) {
    start(small_terms());
    // The scheduler is behind: the phase has not ended although its time is over.
    height = group().deadline + 1;
    EXPECT_EQ(committed(0, [](CommitRound&) {}), "too_late");
}

}  // namespace
}  // namespace retrace::contracts
