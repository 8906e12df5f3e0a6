// SPDX-License-Identifier: MIT
// What the users of a market read in their first hour: why a task ended, what happens to it, what was paid, and that a
// model is not what was bought. Real processes, each test with its own chain.
#include <gmock/gmock.h>

#include <sstream>

#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kSolver{"--price", "0.5", "--stake", "400000"};
const std::string kTraining = " --hidden 16 --batch 16 --price-ceiling 1 --steps 40 --checkpoint-every 10";

class FirstHour : public MarketTest {
protected:
    static std::vector<json::object> lines_of(const std::string& text) {
        std::vector<json::object> out;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line).as_object());
        return out;
    }
    std::string compile_short(const std::string& options) { return with_short_replays(compile(kTraining + options)); }
    /// Waits until the node keeps only later states than that of the block.
    void forget_state_of(std::uint64_t height) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
        for (auto rpc = client();; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
            const auto status = rpc.call("retrace_status", json::array{});
            if (status && status->at("oldest_state").to_number<std::uint64_t>() > height) return;
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "the node keeps the state of block " << height;
        }
    }
    static ledger::U256 wei(const json::value& text) {
        return ledger::U256::from_decimal(std::string(text.as_string())).value();
    }
};

TEST_F(FirstHour, ATaskThatNobodyBidsForSaysWhyAndWhatToDo) {
    start({{Role::honest_solver, {"--price", "0.5", "--stake", "2"}}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const Ran submitted = retrace("task submit " + compile(kTraining) + requester() + store() + " --wait");
    EXPECT_EQ(submitted.status, 1);
    const auto says_why = AllOf(HasSubstr("nobody bid in "), HasSubstr("1 solver without a bid is registered"),
                                HasSubstr("1 with too little free stake (a bid locks "),
                                HasSubstr("the most that one has free is 2 coins"),
                                HasSubstr("bond more (`retrace solver --stake`)"), HasSubstr("lower price_ceiling"));
    EXPECT_THAT(submitted.err,
                AllOf(HasSubstr("the task ended without a model"), says_why, HasSubstr("nobody bid in 3 auctions")));
    const Ran late = retrace("task upload 1 " + path("task").string() + node() + store());
    EXPECT_EQ(late.status, 1);
    EXPECT_THAT(late.err, AllOf(HasSubstr("the task has ended and takes no files"), says_why));
    const Ran again = retrace("task submit " + path("task").string() + requester() + store() +
                              " --wait --auctions 2 --raise-to 1.5 --again 1");
    EXPECT_THAT(again.err, AllOf(HasSubstr("nobody bid in 2 auctions;"),
                                 HasSubstr("in up to 2 auctions whose ceiling rises from 1 coin to 1.5 coins")));
    EXPECT_THAT(again.err, AllOf(HasSubstr("task 2 posted"), HasSubstr("task 3 posted"),
                                 HasSubstr("posting it again (1 of 1), for at most 1.5 coins a segment")));
    EXPECT_THAT(retrace("task show 1" + node()).out, says_why);
    EXPECT_THAT(retrace("task follow 1" + node()).err, says_why);
    EXPECT_THAT(retrace("task explain 1" + node()).out, says_why);
    const Ran challenged = retrace("task challenge 1" + requester() + store());
    EXPECT_EQ(challenged.status, 1);
    EXPECT_THAT(challenged.err, HasSubstr("task 1 never ran (it is expired): there is no segment to challenge"));
    const json::object told = say("task explain 1" + node());
    EXPECT_EQ(told.at("state"), "expired");
    EXPECT_EQ(told.at("reason"), "no_bids");
    EXPECT_THAT(std::string(told.at("why").as_string()), HasSubstr("nobody bid"));
    EXPECT_TRUE(told.at("next_height").is_null());
    auto rpc = client();
    const auto same = rpc.call("retrace_explainTask", {"0x1"});
    ASSERT_TRUE(same.has_value()) << same.error().message;
    EXPECT_EQ(same->at("why"), told.at("why")) << "the same over JSON-RPC";
    EXPECT_TRUE(say("task statement 1" + node()).at("adds_up").as_bool()) << "the escrow came back";

    network_->kill_node();
    const auto back = network_->start_node({"--keep-states", "128"});
    ASSERT_TRUE(back.has_value()) << back.error().message;
    forget_state_of(told.at("height").to_number<std::uint64_t>());
    EXPECT_EQ(say("task explain 1" + node()).at("why"), told.at("why"));
    EXPECT_THAT(retrace("task show 1" + node()).out, says_why);
    EXPECT_THAT(retrace("task follow 1" + node()).err, says_why);
    const auto bids = client().call("retrace_explainBids", {"0x1"});
    ASSERT_TRUE(bids.has_value()) << bids.error().message;
    EXPECT_TRUE(bids->at("bids").as_array().empty());
}

TEST_F(FirstHour, AStandingOrderPostsWhatTheFolderHasUntilItsBudgetEnds) {
    start({{Role::honest_solver, kSolver}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string folder = compile_short("");
    const std::string order = "task submit " + folder + requester() + store() + " --wait ";
    const Ran none = retrace(order + "--budget 0.5");
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, HasSubstr("in escrow, and --budget has 0.5 coins left"));
    const ledger::U256 escrow = wei(say("task plan " + folder + node()).at("escrow"));
    const std::string two_and_a_half = (escrow * ledger::U256(5) / ledger::U256(2)).to_decimal();
    const Ran ran = retrace(order + "--repeat 5 --budget '" + two_and_a_half + " wei'");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.out, "1\n2\n") << "two escrows fit the budget";
    EXPECT_THAT(ran.err, AllOf(HasSubstr("task 2 posted"), HasSubstr("and --budget has ")));
}

TEST_F(FirstHour, FollowTellsWhatHappensAndTheBooksAddUpToTheWei) {
    start({{Role::honest_solver, kSolver}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::uint64_t id = submit(compile_short(" --audit-percent 50"));
    const std::string number = std::to_string(id);
    const Ran followed = retrace("task follow " + number + node() + " --json");
    ASSERT_EQ(followed.status, 0) << followed.err;
    EXPECT_THAT(followed.err, AllOf(HasSubstr("has bid; the price is sealed"), HasSubstr("is audited by"),
                                    HasSubstr("got the same bits"), HasSubstr("for its audit of segment"),
                                    HasSubstr(" segments\nblock "), HasSubstr("running: the solver trains"),
                                    HasSubstr("delivering: the model is ready"), HasSubstr("retrace task accept")));
    const std::vector<json::object> stream = lines_of(followed.out);
    std::set<std::string> once;
    for (const json::object& line : stream) {
        EXPECT_TRUE(once.insert(json::serialize(line)).second) << "twice: " << json::serialize(line);
        EXPECT_EQ(line.at("task"), id);
    }
    EXPECT_GT(stream.size(), 10U);
    EXPECT_EQ(stream.back().at("state"), "delivering");

    const Ran fetched = retrace("task fetch " + number + node() + store() + " -o " + path("model").string());
    EXPECT_EQ(fetched.status, 0) << fetched.err;
    EXPECT_THAT(fetched.out, AllOf(HasSubstr("not accepted yet"), HasSubstr("`retrace task accept " + number),
                                   Not(HasSubstr("NOT AUDITED"))));
    EXPECT_THAT(retrace("receipt verify " + path("model/receipt.json").string() + node()).out,
                Not(HasSubstr("NOT AUDITED")));
    say("task accept " + number + requester());

    const std::string log = "task log " + number + store();
    const auto has_all = AllOf(HasSubstr("has bid; the price is sealed"), HasSubstr("got the same bits"),
                               HasSubstr("delivering"), HasSubstr("settled"));
    EXPECT_THAT(retrace(log + node()).out, has_all) << "also what came after `follow` had ended";
    const Ran alone = retrace(log + " --node http://127.0.0.1:1 --timeout 1");
    EXPECT_EQ(alone.status, 0) << alone.err;
    EXPECT_THAT(alone.out, has_all) << "without a node";
    EXPECT_EQ(retrace("task log 77" + store() + " --node http://127.0.0.1:1 --timeout 1").status, 1);

    const Ran words = retrace(log + requester() + " --solver");
    EXPECT_EQ(words.status, 0) << words.err;
    const auto told = AllOf(HasSubstr(" says (its own word, which nothing proves):"), HasSubstr(" of its processors ("),
                            HasSubstr("prepare task " + number + ": done in "),
                            HasSubstr("train task " + number + " to checkpoint 4: done in "),
                            HasSubstr("commits to checkpoint 4"), HasSubstr("the run is over"));
    EXPECT_THAT(words.out, told);
    EXPECT_THAT(words.out, Not(HasSubstr(path("network").string()))) << "a path of the solver's machine";
    const Ran stranger =
        retrace("task log " + number + node() + " --dev-account 7 --solver --data-dir " + path("stranger").string());
    EXPECT_THAT(stranger.err, HasSubstr("only the requester of task " + number + " may read its log"));
    EXPECT_THAT(stranger.out, Not(HasSubstr("commits to checkpoint 4\n")));
    const Ran kept = retrace(log + " --node http://127.0.0.1:1 --timeout 1 --solver");
    EXPECT_EQ(kept.status, 0) << kept.err;
    EXPECT_THAT(kept.out, told) << "without a node and without a key";

    const json::object statement = say("task statement " + number + node());
    EXPECT_TRUE(statement.at("adds_up").as_bool());
    EXPECT_EQ(statement.at("held"), "0");
    ledger::U256 in, out;
    for (const json::value& line : statement.at("lines").as_array()) {
        in += wei(line.at("in"));
        out += wei(line.at("out"));
    }
    EXPECT_EQ(in, wei(statement.at("paid_in")));
    EXPECT_EQ(in, out) << "to the wei";
    EXPECT_FALSE(in.is_zero());
    const std::string solver = ledger::to_0x(network_->address(Role::honest_solver));
    const std::string csv = retrace("wallet history " + solver + node() + " --csv").out;
    EXPECT_THAT(csv, AllOf(HasSubstr("height,kind,hash,from,to,value_wei,fee_wei,ok,task\n"), HasSubstr(",segments,"),
                           HasSubstr(",transaction,")));
    const std::string begin = retrace("wallet history " + solver + node() + " --csv --from 0 --to 20").out;
    const std::string rest = retrace("wallet history " + solver + node() + " --csv --from 21 --to 40").out;
    EXPECT_EQ(begin + rest.substr(rest.find('\n') + 1),
              retrace("wallet history " + solver + node() + " --csv --from 0 --to 40").out);
    EXPECT_THAT(retrace("wallet history " + solver + node() + " --fiat \"2 EUR\"").out,
                AllOf(HasSubstr("earned by training task " + number), HasSubstr("earned or returned "),
                      HasSubstr(" EUR)"), HasSubstr("other movements, such as deposits and stake that came back: ")));
    EXPECT_THAT(retrace("task list --mine --dev-account 0" + node()).out, HasSubstr("settled        4/4 paid"));
    EXPECT_EQ(retrace("task list --mine --dev-account 7" + node()).out, "");
}

TEST_F(FirstHour, TwoSubmitsThatWaitWorkAtOnce) {
    start({{Role::honest_solver, kSolver}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string task = compile_short(" --audit-percent 1");
    Ran runs[2];
    const std::string submit_it = "task submit " + task + requester() + store() + " --wait --json";
    std::thread one([&] { runs[0] = retrace(submit_it, {}, "one"); });
    std::thread other([&] { runs[1] = retrace(submit_it, {}, "other"); });
    // Meanwhile a model is fetched as soon as there is one, which is before its last challenge window is over.
    const std::string fetch = "task fetch 1" + node() + " --losses 0 --data-dir " + path("early").string() + " -o " +
                              path("early_model").string();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    Ran early;
    while (early.status != 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        early = retrace(fetch);
    }
    EXPECT_EQ(early.status, 0) << early.err;
    EXPECT_THAT(early.out, HasSubstr("PROVISIONAL: segments of this model can still be challenged ("));
    EXPECT_THAT(early.out, HasSubstr("next: `retrace task follow 1`, then fetch again"));
    one.join();
    other.join();
    for (const Ran& ran : runs) {
        EXPECT_EQ(ran.status, 0) << ran.err;
        EXPECT_EQ(lines_of(ran.out).back().at("state"), "delivering");
    }
}

/// The first and the last segment are always audited, so the lie lies between them, and nobody is drawn for it.
TEST_F(FirstHour, AWrongModelIsNotFetchedQuietlyAndCanBeChallenged) {
    std::vector<std::string> cheat = kSolver;
    cheat.insert(cheat.end(), {"--cheat", "ulp", "--cheat-segment", "1"});
    start({{Role::cheating_solver, cheat}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string task = compile_short(" --audit-percent 0.01");
    const std::string first = std::to_string(submit(task));
    ASSERT_EQ(say("task follow " + first + node()).at("state"), "delivering");
    const Ran fetched =
        retrace("task fetch " + first + node() + store() + " --losses 4 --json -o " + path("model").string());
    EXPECT_EQ(fetched.status, 1);
    EXPECT_THAT(fetched.err, AllOf(HasSubstr("CONTRADICTION: segment 1 of task " + first),
                                   HasSubstr("Do not accept it"), HasSubstr("retrace task challenge " + first)));
    EXPECT_THAT(std::string(json::parse(fetched.out).at("error").as_string()), HasSubstr("CONTRADICTION"));
    EXPECT_FALSE(fs::exists(path("model/model.safetensors")));
    EXPECT_EQ(retrace("task fetch " + first + node() + store() + " --losses 0 -o " + path("model").string()).status, 0);
    EXPECT_EQ(retrace("receipt verify " + path("model/receipt.json").string() + node() + " --replay 4 --data-dir " +
                      path("requester").string())
                  .status,
              1);

    const Ran late = retrace("task challenge " + first + requester() + store());
    EXPECT_EQ(late.status, 1) << "nothing is replayed any more";
    EXPECT_THAT(late.err,
                AllOf(HasSubstr("no segment of task " + first + " can be challenged any more (it is delivering)"),
                      HasSubstr("the last window ended at block "), HasSubstr("receipt verify")));

    const std::string second = std::to_string(submit(task));
    const Ran challenged = retrace("task challenge " + second + requester() + store());
    EXPECT_EQ(challenged.status, 0) << challenged.err;
    EXPECT_THAT(challenged.out, AllOf(HasSubstr(" of task " + second + " w"), HasSubstr(" replayed"),
                                      HasSubstr("of segment 1 of run 0 ended: solver_lost")));
}

}  // namespace
}  // namespace retrace::testing
