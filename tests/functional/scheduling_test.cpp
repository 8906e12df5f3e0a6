// SPDX-License-Identifier: MIT
// Who trains a task and when: a higher ceiling, a reserved solver, and a spot task that changes its solver. Real processes,
// each test with its own chain.
#include <gmock/gmock.h>

#include "contracts/records/reservations.hpp"
#include "ledger/crypto/eip55.hpp"
#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

using market::ReservationState;
using market::RunState;
using market::TaskState;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSmall = " --hidden 16 --batch 16 --steps 40 --checkpoint-every 10 --price-ceiling ";

class Scheduling : public MarketTest {
protected:
    std::uint64_t now() const { return client().height().value(); }
    void until_block(std::uint64_t height) const {
        until("the block comes", [&](const node::RemoteState& state) { return state.height() >= height; });
    }
    std::string solver_key() const { return node() + " --dev-account 1"; }
    static std::string text(const json::value& value) { return std::string(value.as_string()); }
};

TEST_F(Scheduling, ATopUpSavesATaskThatNobodyBidsFor) {
    start({{Role::honest_solver, {"--price", "0.5", "--stake", "400000"}}}, {{"bid_blocks", 30}});
    if (HasFatalFailure()) return;
    const std::string task = with_short_replays(compile(kSmall + "0.1"));
    ASSERT_FALSE(say("task submit " + task + requester() + store() + " --allow-unaudited --auctions 1").empty());
    EXPECT_EQ(text(say("task top-up 1 --auctions 1" + requester()).at("escrow")), "0");
    const json::object raised = say("task top-up 1 --auctions 0 --ceiling 1" + requester());
    EXPECT_EQ(raised.at("auctions"), 1);
    until("the second auction has a winner", [](const node::RemoteState& state) {
        const auto task = views::task(state, 1);
        return task && task->runs == 1;
    });
    read([](const node::RemoteState& state) {
        EXPECT_EQ(views::task(state, 1)->round, 2u);
        EXPECT_EQ(views::run(state, 1, 0)->price, ledger::U256(1'000 * market::kMilli)) << "nobody else bids below";
    });
    const Ran books = retrace("task statement 1" + node());
    EXPECT_EQ(books.status, 0) << "they add up: " << books.err;
    EXPECT_THAT(books.out, AllOf(HasSubstr("put into escrow for a higher ceiling by 0x"),
                                 HasSubstr("  at no cost: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 asked that 1 "
                                           "auction in all may follow ones without winners")));
}

/// The solver asks 0.5 coins, which the second of three auctions pays.
TEST_F(Scheduling, ARisingCeilingFindsItsSolverInALaterAuction) {
    start({{Role::honest_solver, {"--price", "0.5", "--stake", "400000"}}}, {{"bid_blocks", 30}});
    if (HasFatalFailure()) return;
    const std::string task = with_short_replays(compile(kSmall + "0.1"));
    const std::string curve = " --auctions 3 --raise-to 1.1";
    EXPECT_THAT(retrace("task submit " + task + requester() + store() + " --auctions 1 --raise-to 1.1").err,
                HasSubstr("a ceiling rises from one auction to the next"));
    const json::object plan = say("task plan " + task + node() + curve);
    ASSERT_EQ(plan.at("auctions").as_array().size(), 3u);
    EXPECT_EQ(text(plan.at("auctions").at(1).at("ceiling")), "600000000000000000");
    const json::object encoded = say("task encode " + task + node() + curve);
    EXPECT_EQ(text(encoded.at("value")), text(plan.at("escrow"))) << "the last ceiling";
    const json::object posted = say("task submit " + task + requester() + store() + " --allow-unaudited" + curve);
    EXPECT_EQ(text(posted.at("escrow")), text(plan.at("escrow")));
    EXPECT_EQ(posted.at("auctions"), 3);
    const json::object told = say("task explain 1" + node());
    EXPECT_THAT(text(told.at("next")),
                AllOf(HasSubstr("another auction begins"), HasSubstr("in which a segment costs at most 0.6 coins")));
    const auto bids = client().call("retrace_explainBids", {"0x1"});
    ASSERT_TRUE(bids.has_value()) << bids.error().message;
    EXPECT_EQ(bids->at("nextCeiling"), "0x853a0d2313c0000");
    EXPECT_EQ(bids->at("auctionsLeft"), 2);
    until("the second auction has a winner", [](const node::RemoteState& state) {
        const auto task = views::task(state, 1);
        return task && task->runs == 1;
    });
    read([](const node::RemoteState& state) {
        EXPECT_EQ(views::task(state, 1)->round, 2u);
        EXPECT_EQ(views::run(state, 1, 0)->price, ledger::U256(600 * market::kMilli)) << "nobody else bids below";
    });
    const json::object shown = say("task show 1" + node());
    EXPECT_EQ(text(shown.at("price_ceiling")), "600000000000000000");
    EXPECT_EQ(text(shown.at("last_ceiling")), "1100000000000000000");
    EXPECT_EQ(shown.at("auctions_failed"), 1);
    EXPECT_EQ(shown.at("auctions_left"), 1);
}

TEST_F(Scheduling, AReservedSolverKeepsItsTimeAndTakesTheTask) {
    start({{Role::honest_solver, {"--price", "0.5", "--stake", "400000"}}});
    if (HasFatalFailure()) return;
    const std::string task = with_short_replays(compile(kSmall + "1")), wanted = network_->folder() / "party-1";
    const std::string solver = ledger::to_checksum(network_->address(Role::honest_solver));
    const std::uint64_t from = now() + 120;
    const auto offer = [&] {
        return say("reservation offer " + task + " --solver " + solver + " --price 0.4 --from " + std::to_string(from) +
                   " --until " + std::to_string(from + 400) + " --deposit 1" + requester() + store());
    };
    const json::object first = offer();
    EXPECT_EQ(first.at("state"), "offered");
    const std::uint64_t offered_at = first.at("offered_height").to_number<std::uint64_t>();
    EXPECT_GT(offered_at, 0u);
    EXPECT_LE(offered_at, now());
    EXPECT_EQ(offer().at("reservation"), 2);
    EXPECT_EQ(say("reservation withdraw 2" + requester()).at("state"), "withdrawn");
    EXPECT_EQ(retrace("reservation withdraw 2" + requester()).status, 1) << "once";
    const auto listed = [&](const std::string& more) {
        return json::parse(retrace("reservation list --json" + more).out).as_array();
    };
    EXPECT_EQ(listed(solver_key() + " --mine").size(), 1u);
    EXPECT_EQ(listed(node() + " --ended").size(), 2u);
    EXPECT_TRUE(listed(node() + " --dev-account 3 --mine").empty());
    const std::string heavy = with_short_replays(
        compile(" --hidden 512 --batch 256 --price-ceiling 1 --steps 1000000 --checkpoint-every 1000000", "heavy"));
    const json::object offered =
        say("reservation offer " + heavy + " --solver " + solver + " --price 0.4 --from " + std::to_string(from) +
            " --until " + std::to_string(from + 400) + " --deposit 1" + requester() + store());
    const std::string third = std::to_string(offered.at("reservation").to_number<std::uint64_t>());
    const Ran refused = retrace("reservation accept " + third + " --device cpu" + solver_key());
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("of this machine's time at the measured speed"), HasSubstr("--skip-checks")));
    EXPECT_EQ(say("reservation show " + third + node()).at("state"), "offered") << "nothing was sent";
    const json::object accepted = say("reservation accept 1 --device cpu" + solver_key());
    EXPECT_EQ(accepted.at("state"), "accepted");
    EXPECT_EQ(accepted.at("next"), "the requester may begin the task");
    EXPECT_EQ(accepted.at("next_height"), from);
    EXPECT_EQ(retrace("reservation begin 1 " + task + requester() + store()).status, 1) << "too early";

    const std::string explain = "solver explain --data-dir " + wanted;
    until("the solver keeps the time", [&](const node::RemoteState&) {
        return retrace(explain).out.find("reservation 1: keeps ") != std::string::npos;
    });
    until_block(from);
    EXPECT_EQ(say("reservation begin 1 " + task + requester() + store()).at("task"), 1);
    until("it is honoured", [](const node::RemoteState& state) {
        return contracts::views::reservation(state, 1)->state == ReservationState::honoured;
    });
    read([&](const node::RemoteState& state) {
        EXPECT_EQ(views::run(state, 1, 0)->solver, network_->address(Role::honest_solver));
        EXPECT_EQ(views::task(state, 1)->state, TaskState::running);
    });
    EXPECT_THAT(text(say("task explain 1" + node()).at("why")),
                HasSubstr("it began by reservation 1 (honoured): the deposit of 1 coin returned"));
    const json::object books = say("task statement 1" + node());
    EXPECT_TRUE(books.at("adds_up").as_bool());
    std::set<std::string> kinds;
    for (const json::value& line : books.at("lines").as_array()) kinds.insert(text(line.at("kind")));
    EXPECT_TRUE(kinds.contains("reserved") && kinds.contains("deposit_returned"));
    const json::value& deposit = books.at("lines").at(0);
    EXPECT_EQ(deposit.at("kind"), "reserved");
    EXPECT_EQ(deposit.at("height"), offered_at) << "the block in which it was paid, not that of the beginning";
    EXPECT_GT(books.at("lines").at(1).at("height").to_number<std::uint64_t>(), offered_at);
}

/// A spot solver that is told to stop gives its run back at the next checkpoint, and loses nothing.
TEST_F(Scheduling, ASpotTaskGoesOnElsewhereWhenItsSolverIsStopped) {
    start({{Role::honest_solver, {"--price", "0.3", "--stake", "400000"}},
           {Role::cheating_solver, {"--price", "0.5", "--stake", "400000"}},  // It cheats only if it is told to.
           {Role::verifier_1, {}},
           {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string task = with_short_replays(
        compile(" --hidden 64 --batch 64 --price-ceiling 1 --steps 900 --checkpoint-every 100 --spot"), 30);
    ASSERT_EQ(submit(task), 1u);
    until("it trains", [](const node::RemoteState& state) {
        const auto run = views::run(state, 1, 0);
        return run && run->next_state >= 2;
    });
    const ledger::Address first = network_->address(Role::honest_solver);
    node::Process& stopped = network_->process(Role::honest_solver);
    stopped.send(SIGTERM);
    until("its run is given back", [](const node::RemoteState& state) { return views::is_given_back(state, 1, 0); });
    const json::object told = say("task explain 1" + node());
    until("another solver goes on", [](const node::RemoteState& state) {
        const auto run = views::run(state, 1, 1);
        return run && run->state == RunState::running && run->next_state > run->first_state;
    });
    EXPECT_EQ(told.at("reason"), "given_back") << json::serialize(told);
    read([&](const node::RemoteState& state) {
        const auto given = views::run(state, 1, 0), next = views::run(state, 1, 1);
        EXPECT_EQ(given->state, RunState::left);
        EXPECT_GT(next->first_state, 0u);
        EXPECT_EQ(next->first_state, given->paid);
        EXPECT_EQ(given->earned, given->price * ledger::U256(given->paid));
        EXPECT_EQ(views::stake(state, first).locked, ledger::U256()) << "all of its stake is free";
    });
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         stopped.running() && std::chrono::steady_clock::now() < end;)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(stopped.exit_status(), 0);
    EXPECT_THAT(text_of(network_->log_of("honest solver")),
                AllOf(HasSubstr("event=give_back"), HasSubstr("event=drained")));
    EXPECT_EQ(say("task follow 1" + node()).at("state"), "delivering");
    EXPECT_EQ(fetched_root(1), root_of(task)) << "the bits of a training that nobody interrupted";
}

}  // namespace
}  // namespace retrace::testing
