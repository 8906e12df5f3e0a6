// SPDX-License-Identifier: MIT
// Random games of groups whose members are away, leave, join, hide messages, lie or fall silent, with verifiers that
// come to no verdict. In each game the books balance after every call and block, no honest member loses stake, a liar
// that was audited does, and the task ends. SPEC 21.
#include <cstdlib>
#include <random>

#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupGames : public GroupTest {
protected:
    bool with_chance(unsigned percent) { return random_() % 100 < percent; }
    std::uint32_t between(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
    }

    void begin_game(std::uint64_t seed) {
        random_.seed(seed);
        auto terms = small_terms();
        terms.rounds = between(2, 7);
        terms.round_blocks = between(6, 40);
        terms.grace_blocks = between(1, 10);
        terms.fetch_blocks = between(2, 6);
        terms.absence_limit = between(1, 4);
        terms.keep_rounds = between(4, 8);
        terms.catch_up_max = between(4, 12);
        terms.max_age = between(0, std::min(terms.absence_limit - 1, terms.keep_rounds - terms.absence_limit));
        max_age_ = terms.max_age;
        liar_ = with_chance(50) ? std::optional(between(0, 3)) : std::nullopt;
        silent_ = with_chance(30) ? std::optional(between(0, 3)) : std::nullopt;
        start_group(terms);
        for (const char* name : {"erin", "frank"}) add_solver(name);
    }
    bool is_honest(std::uint32_t index) const { return index != liar_ && index != silent_; }

    void commit(std::uint32_t index) {
        const market::Run now = run(index);
        if (now.next_state == 0) {
            if (index != silent_ || with_chance(50)) commit_first(index);
            return;
        }
        const market::Group open = group();
        if (open.phase == GroupPhase::over) {
            if (with_chance(50)) send(solver_of(index), next_commit(index, open.round, 0));
            return;
        }
        if (open.phase != GroupPhase::training || with_chance(85)) return;
        if (index == liar_ && open.round > 0) with_chance(50) ? wrong_members.insert(index) : forks.insert(index);
        const std::uint32_t base = open.round - std::min(open.round, between(0, max_age_));
        if (send(solver_of(index), next_commit(index, base, between(1, 10))) == CallStatus::ok) return;
        if (send(solver_of(index), next_commit(index, open.round, between(1, 10))) == CallStatus::ok) return;
        // It was away for long, and catches up in smaller segments.
        send(solver_of(index), next_commit(index, std::min(open.round, member(index).base + 1), 0));
    }
    void list(std::uint32_t index) {
        const market::Group open = group();
        if (open.phase != GroupPhase::spreading && open.phase != GroupPhase::revealing) return;
        auto& hidden = hidden_[{open.round, index}];
        if (open.phase == GroupPhase::spreading && with_chance(60)) {
            if (hidden.empty() && with_chance(20)) hidden.insert(between(0, 3));
            list_messages(index, bitmap(index, hidden));
        } else if (open.phase == GroupPhase::revealing && with_chance(90)) {
            show_messages(index, bitmap(index, hidden));
        }
    }
    void join_or_leave() {
        if (task().state != TaskState::running) return;
        for (const char* name : {"erin", "frank"}) {
            if (!with_chance(5)) continue;
            const std::uint32_t anchor = between(0, task().runs - 1);
            const std::uint64_t index = run(anchor).finalised;
            const U256 fee = market::join_fee(params, views::spec(state, 1).value(), index);
            send(name, JoinTask{1, anchor, index}, fee);
        }
        for (const std::uint32_t index : task().active)
            if (with_chance(1)) send(solver_of(index), LeaveTask{1, index});
    }
    void play_block() {
        for (const std::uint32_t index : task().active) {
            if (run(index).state != RunState::running) continue;
            commit(index);
            list(index);
            if (index != silent_ || with_chance(15)) serve_member(index);
        }
        audit_members();
        join_or_leave();
        if (task().state == TaskState::delivering && with_chance(20)) send("requester", AcceptModel{1});
        next_block();
    }
    void play_game(std::uint64_t seed) {
        begin_game(seed);
        for (int i = 0; i < 3'000 && !market::is_final(task().state) && !HasFatalFailure(); ++i) play_block();
        EXPECT_TRUE(market::is_final(task().state)) << market::slug(group().phase) << ", round " << group().round;
        EXPECT_TRUE(task().escrow.is_zero());
        for (std::uint32_t index = 0; index < task().runs; ++index) {
            const market::Run now = run(index);
            EXPECT_TRUE(now.locked.is_zero());
            if (index < 4 && is_honest(index)) {
                EXPECT_NE(now.state, RunState::forfeited) << "run " << index << " is honest";
            }
            EXPECT_LE(now.earned, group().price * U256(views::group_spec(state, 1)->rounds));
        }
    }

    std::mt19937_64 random_;
    std::uint32_t max_age_ = 0;
    std::optional<std::uint32_t> liar_, silent_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> hidden_;
};

/// RETRACE_SEED plays one game alone.
class GroupGame : public GroupGames, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(GroupGame, BooksBalanceHonestMembersLoseNothingAndTheTaskEnds) {
    const char* chosen = std::getenv("RETRACE_SEED");
    const std::uint64_t seed = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : GetParam();
    SCOPED_TRACE("seed " + std::to_string(seed));
    play_game(seed);
}
INSTANTIATE_TEST_SUITE_P(Seeds, GroupGame, ::testing::Range(std::uint64_t{1}, std::uint64_t{41}));

}  // namespace
}  // namespace retrace::contracts
