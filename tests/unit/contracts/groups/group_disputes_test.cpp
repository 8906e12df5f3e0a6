// SPDX-License-Identifier: MIT
// Disputes about members of a group: what the ledger supplies to their games. SPEC 15.11.
#include "contracts/records/group_positions.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

using verifier::Choose;
using verifier::OpenState;
using verifier::PostHashes;

class GroupDisputes : public GroupTest {
protected:
    /// Four members have played a round, and sent their messages in the next one.
    void start() {
        auto terms = small_terms();
        terms.round_blocks = 60;
        for (const std::size_t phase : {0, 7}) terms.phases[phase].program_root = plan_.root();
        start_group(terms);
        begin_rounds();
        play_round({0, 1, 2, 3});
        for (const std::uint32_t index : {0u, 1u, 2u, 3u}) ASSERT_EQ(train(index), CallStatus::ok);
    }
    U256 bond() const { return market::challenge_bond(params, views::spec(state, 1).value()); }
    /// v1 challenges segment 1 of run 0: begin, four messages, end, ten inner steps, press.
    void challenge() {
        ASSERT_TRUE(serve_until([&] {
            const auto found = views::segment(state, 1, 0, 1);
            return found && found->window_end != 0;
        }));
        ASSERT_EQ(send("v1", ChallengeSegment{1, 0, 1, word("mine")}, bond()), CallStatus::ok) << last.revert_reason;
    }
    CallStatus move(const std::string& name, const verifier::Move& made) {
        return send(name, PlayMove{1, verifier::encode(made)});
    }
    verifier::Game game() const { return views::game(state, 1).value(); }
    /// Any 32 bytes are accepted as roots; 2, 3, … 16 are the positions that the first search asks for.
    void narrow_to(std::uint64_t position) {
        ASSERT_EQ(move("alice", PostHashes{std::vector<Hash32>(15, word("any"))}), CallStatus::ok);
        EXPECT_FALSE(game().position.has_value());
        ASSERT_EQ(move("v1", Choose{static_cast<std::uint32_t>(position) - 1}), CallStatus::ok);
        EXPECT_EQ(game().found.step, position);
    }
};

TEST_F(GroupDisputes, ThePositionsOfASegmentAreSearchedAndTheRecordsSayWhatOneIs) {
    start();
    challenge();
    const verifier::Claim claim = game().claim;
    EXPECT_TRUE(claim.positions);
    EXPECT_EQ(claim.first_step, 0u);
    EXPECT_EQ(claim.last_step, 17u);
    EXPECT_EQ(claim.start_root, states_.at({0, 1}).commitment.root);
    EXPECT_EQ(claim.end_root, states_.at({0, 2}).commitment.root);
    EXPECT_EQ(game().facts.program_root, views::spec(state, 1)->program_root);
    narrow_to(4);
    EXPECT_EQ(game().phase, verifier::Phase::open_state);
    ASSERT_TRUE(game().position.has_value());
    EXPECT_EQ(*game().position, facts_of_position(state, 1, 0, 1, 4));
    EXPECT_EQ(game().position->played_root, small_terms().phases[3].program_root) << "add";
    const auto message = views::round_message(state, 1, 0, 3)->tensors;
    ASSERT_EQ(game().position->data_roots.size(), 3u);
    EXPECT_TRUE(std::equal(message.begin(), message.end(), game().position->data_roots.begin())) << "of run 3";
    // Nothing hashes to the root that alice posted.
    ASSERT_TRUE(serve_until([&] { return run(0).state == RunState::forfeited; }));
    ASSERT_EQ(all<Slashed>().size(), 1u);
    EXPECT_EQ(all<Slashed>()[0].party, party("alice"));
    for (const std::uint32_t index : {1u, 2u, 3u}) EXPECT_EQ(run(index).state, RunState::running) << index;
}

TEST_F(GroupDisputes, TheSolverOpensTheStateAfterAPosition) {
    start();
    challenge();
    narrow_to(16);
    const auto facts = game().position.value();
    EXPECT_EQ(facts.played_root, plan_.root()) << "press";
    EXPECT_EQ(facts.seed, kernels::member_seed(views::spec(state, 1)->seed, 0));
    EXPECT_EQ(facts.op_step, 1u * 10 + 10);
    EXPECT_EQ(facts.output_step, kernels::header_step(1, 17));
    kernels::StateHeader header = states_.at({0, 2}).commitment.header;
    EXPECT_EQ(move("alice", OpenState{header, {}}), CallStatus::move_wrong_opening);
    ASSERT_EQ(move("alice", OpenState{header, plan_}), CallStatus::ok);
    EXPECT_EQ(game().phase, verifier::Phase::descend_state);
    EXPECT_EQ(game().descent.leaves, 4u);
    ASSERT_TRUE(serve_until([&] { return run(0).state == RunState::forfeited; })) << "alice posts nothing more";
}

TEST_F(GroupDisputes, FirstStatesAreDisputed) {
    start();
    ASSERT_TRUE(serve_until([&] { return views::checkpoint(state, 1, 2, 0)->opened; }));
    ASSERT_EQ(send("v1", ChallengeInitial{1, 2, word("mine")}, bond()), CallStatus::ok) << last.revert_reason;
    EXPECT_TRUE(game().claim.initialiser);
    EXPECT_EQ(game().phase, verifier::Phase::open_state);
    ASSERT_TRUE(game().position.has_value());
    EXPECT_EQ(*game().position, facts_of_entry(state, 1, 2));
    ASSERT_EQ(move("carol", OpenState{states_.at({2, 0}).commitment.header, plan_}), CallStatus::ok);
    EXPECT_EQ(game().phase, verifier::Phase::descend_state);
}

}  // namespace
}  // namespace retrace::contracts
