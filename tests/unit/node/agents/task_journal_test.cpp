// SPDX-License-Identifier: MIT
// What a solver keeps for a requester, who may read it, and what a solver that lies can make a reader believe or store.
#include <gmock/gmock.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "node/agents/public_reason.hpp"
#include "node/agents/solver_journal.hpp"
#include "node/agents/task_journal_wire.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const ledger::SecretKey& requester() {
    static const ledger::SecretKey key = ledger::SecretKey::random();
    return key;
}
const JournalPlace kPlace{7298, ledger::Address{{5}}};

struct TaskJournalTest : testing::Test {
    std::unique_ptr<TaskJournals> open() const {
        auto opened = TaskJournals::open(fs::path(folder.path()) / "task-logs");
        EXPECT_TRUE(opened.has_value());
        return std::move(*opened);
    }
    fs::path file(std::uint64_t task) const {
        return fs::path(folder.path()) / "task-logs" / (std::to_string(task) + ".jsonl");
    }
    test::TempFolder folder;
};

TEST_F(TaskJournalTest, IsThereAfterARestart) {
    auto journals = open();
    journals->begin(3, requester().address());
    journals->add(3, {10, 0, "commits to checkpoint 1"});
    journals->add(3, {10, 0, "commits to checkpoint 1"});
    journals->add(3, {12, 1, "declines: no room"});
    journals->add(4, {12, 0, "of a task that nobody began"});
    const Journal before = *journals->of(3);
    EXPECT_THAT(before.lines,
                ElementsAre(JournalLine{10, 0, "commits to checkpoint 1"}, JournalLine{12, 1, "declines: no room"}));
    EXPECT_FALSE(journals->of(4));
    journals.reset();
    EXPECT_EQ(open()->of(3), before);
}

TEST_F(TaskJournalTest, KeepsTheNewestLinesAndIsDeletedAfterItsTime) {
    auto journals = open();
    journals->begin(3, requester().address());
    constexpr std::size_t kAdded = 3 * Journal::kLinesMax + 7;
    for (std::size_t i = 0; i < kAdded; ++i) journals->add(3, {i, 0, "line " + std::to_string(i)});
    const Journal kept = *journals->of(3);
    EXPECT_EQ(kept.lines.size(), Journal::kLinesMax);
    EXPECT_EQ(kept.dropped, kAdded - Journal::kLinesMax);
    EXPECT_EQ(kept.lines.back().text, "line " + std::to_string(kAdded - 1));
    EXPECT_LT(fs::file_size(file(3)), 2 * Journal::kLinesMax * 64);
    EXPECT_EQ(open()->of(3), kept) << "the file has what memory has";
    journals->update(50, {3}, 100);
    EXPECT_EQ(journals->of(3)->ended, 0u);
    journals->update(60, {}, 100);
    EXPECT_EQ(journals->of(3)->ended, 60u);
    journals->update(160, {}, 100);
    EXPECT_TRUE(journals->of(3)) << "a hundred blocks after the end";
    journals->update(161, {}, 100);
    EXPECT_FALSE(journals->of(3));
    EXPECT_FALSE(fs::exists(file(3)));
}

TEST_F(TaskJournalTest, HoldsABoundedNumberOfTasks) {
    auto journals = open();
    std::set<std::uint64_t> running;
    for (std::uint64_t task = 1; task <= TaskJournals::kTasksMax; ++task) {
        journals->begin(task, requester().address());
        running.insert(task);
    }
    journals->begin(1'000, requester().address());
    EXPECT_FALSE(journals->of(1'000)) << "none has ended";
    running.erase(9);
    journals->update(40, running, 100);
    running.erase(7);
    journals->update(50, running, 100);
    journals->begin(1'000, requester().address());
    EXPECT_TRUE(journals->of(1'000));
    EXPECT_FALSE(journals->of(9)) << "it ended first";
    EXPECT_FALSE(fs::exists(file(9)));
    EXPECT_TRUE(journals->of(7));
}

TEST_F(TaskJournalTest, ATornLineIsLeftOutAndHarmsNoOther) {
    auto journals = open();
    for (const std::uint64_t task : {3, 4}) {
        journals->begin(task, requester().address());
        journals->add(task, {10, 0, "commits to checkpoint 1"});
    }
    journals.reset();
    std::ofstream(file(3), std::ios::app) << "{\"height\":7";  // What a full disk leaves.
    std::ofstream(file(5)) << "no journal";
    journals = open();
    ASSERT_TRUE(journals->of(3));
    EXPECT_THAT(journals->of(3)->lines, ElementsAre(JournalLine{10, 0, "commits to checkpoint 1"}));
    EXPECT_EQ(journals->of(3)->dropped, 1u);
    EXPECT_TRUE(journals->of(4));
    EXPECT_FALSE(fs::exists(file(5)));
    journals->add(3, {12, 0, "the run is over"});
    const Journal after = *journals->of(3);
    journals = open();
    EXPECT_EQ(journals->of(3), after) << "the next line follows a whole one";
    std::ofstream(file(3), std::ios::app) << "{\"height\":7{\"height\":8}\n" << std::string(2'000, 'x');
    EXPECT_THAT(open()->of(3)->lines, testing::ElementsAreArray(after.lines));
}

TEST_F(TaskJournalTest, ALineThatTheDiskHadNoRoomForIsThereWhenItHas) {
    auto journals = open();
    journals->begin(3, requester().address());
    journals->add(3, {10, 0, "commits to checkpoint 1"});
    fs::rename(file(3), file(3).string() + ".away");
    fs::create_directory(file(3));
    journals->add(3, {11, 0, "commits to checkpoint 2"});  // Which cannot be written.
    fs::remove(file(3));
    journals->add(3, {12, 0, "commits to checkpoint 3"});
    EXPECT_EQ(journals->of(3)->lines.size(), 3u);
    EXPECT_EQ(open()->of(3), journals->of(3));
}

TEST(JournalText, HasNothingOfTheMachine) {
    EXPECT_EQ(journal_text("a\x1b[2J\nb\xe2\x80\xae"), "a?[2J?b???");
    EXPECT_EQ(journal_text(std::string(500, 'x')).size(), JournalLine::kTextMax);
    EXPECT_EQ(public_reason("cannot write /home/alice/solver/checkpoints/7: No space left on device"),
              "a disk is full");
    EXPECT_EQ(public_reason("the task needs 3489660928 bytes of memory and 2147483648 are allowed (--memory), of which "
                            "other tasks hold 7"),
              "the task needs more memory than is allowed (--memory)");
    EXPECT_EQ(public_reason("timeout: 10.1.2.3:9000 was too slow"), "a file of others did not come in time");
    EXPECT_EQ(public_reason("state 7 cannot be fetched: unreachable: Connection refused"), "a peer was not reached");
}

/// Reasons whose words look harmless, and name an account, a machine, another task or what a stranger wants to be read.
TEST(JournalText, HasNoWordOfAReasonThatIsNotOfTheList) {
    for (const char* const reason :
         {"alice is not in the group of the scanner", "the file of task 8812 belongs to uid 1004", "10.1.2.3", "fe80",
          "kitchen-pc", "send a coin to the account of this solver", ""})
        EXPECT_EQ(public_reason(reason), "for a reason that its own log has") << reason;
    EXPECT_EQ(public_reason("untimeout: x"), "for a reason that its own log has") << "no slug";
}

/// What a request is answered by a solver at block 1,000 that has a journal of task 3.
struct JournalAccess : TaskJournalTest {
    JournalAccess() {
        journals->begin(3, requester().address());
        journals->add(3, {10, 0, "commits to checkpoint 1"});
    }
    Result<Bytes, Failure> asked(const std::string& target) const {
        return answer_journal(*journals, kPlace, 1'000, target);
    }
    Fault refused(const std::string& target) const {
        const auto answer = asked(target);
        EXPECT_FALSE(answer.has_value()) << target;
        return answer ? Fault{} : answer.error().fault;
    }
    std::unique_ptr<TaskJournals> journals = open();
};

TEST_F(JournalAccess, IsForTheRequesterOfTheTaskAlone) {
    const std::string good = encode_target(sign_request(requester(), kPlace, 3, 1'000));
    const auto answer = asked(good);
    ASSERT_TRUE(answer.has_value()) << answer.error().message;
    const auto journal = decode_journal(*answer, 3);
    ASSERT_TRUE(journal.has_value()) << journal.error().message;
    EXPECT_THAT(journal->lines, ElementsAre(JournalLine{10, 0, "commits to checkpoint 1"}));
    EXPECT_THAT(std::string(answer->begin(), answer->end()), Not(HasSubstr(ledger::to_0x(requester().address()))));

    const ledger::SecretKey other = ledger::SecretKey::random();
    EXPECT_EQ(refused(encode_target(sign_request(other, kPlace, 3, 1'000))), Fault::not_wanted);
    EXPECT_EQ(refused(encode_target(sign_request(requester(), kPlace, 4, 1'000))), Fault::not_found);
    // A signature for another solver, chain or height is none here.
    EXPECT_EQ(refused(encode_target(sign_request(requester(), {7298, ledger::Address{{6}}}, 3, 1'000))),
              Fault::not_wanted);
    EXPECT_EQ(refused(encode_target(sign_request(requester(), {7299, kPlace.solver}, 3, 1'000))), Fault::not_wanted);
    JournalRequest moved = sign_request(requester(), kPlace, 3, 1'000);
    moved.height = 1'001;
    EXPECT_EQ(refused(encode_target(moved)), Fault::not_wanted);
    JournalRequest of_another = sign_request(requester(), kPlace, 4, 1'000);
    of_another.task = 3;
    EXPECT_EQ(refused(encode_target(of_another)), Fault::not_wanted);
}

TEST_F(JournalAccess, AStrangerMakesTheSolverCopyNothing) {
    for (std::size_t i = 0; i < Journal::kLinesMax; ++i)
        journals->add(3, {i, 0, std::string(JournalLine::kTextMax - 4, 'x') + std::to_string(i)});
    const std::string old = encode_target(sign_request(requester(), kPlace, 3, 1));
    const auto time_of = [](const auto& work) {  // Processor time, in clock ticks.
        const std::clock_t start = std::clock();
        for (int i = 0; i < 500; ++i) work();
        return std::clock() - start;
    };
    const auto copied = time_of([&] { EXPECT_TRUE(journals->of(3)); });
    EXPECT_LT(time_of([&] { EXPECT_FALSE(asked(old)); }), copied / 2);
}

TEST_F(JournalAccess, ASignatureIsForgottenWithItsBlocks) {
    for (const std::uint64_t height : {1'000 - kSignedBlocks, 1'000 + kSignedBlocks})
        EXPECT_TRUE(asked(encode_target(sign_request(requester(), kPlace, 3, height)))) << height;
    for (const std::uint64_t height : {999 - kSignedBlocks, 1'001 + kSignedBlocks, std::uint64_t{0}, UINT64_MAX})
        EXPECT_EQ(refused(encode_target(sign_request(requester(), kPlace, 3, height))), Fault::not_wanted) << height;
}

TEST_F(JournalAccess, ATargetHasOneSpelling) {
    const JournalRequest request = sign_request(requester(), kPlace, 3, 1'000);
    const std::string good = encode_target(request);
    EXPECT_EQ(decode_target(good), request);
    std::string upper = good;
    std::transform(upper.end() - 130, upper.end(), upper.end() - 130, [](char c) { return std::toupper(c); });
    const std::string rest = good.substr(good.find('?'));
    const std::string prefix(kJournalPath);
    const std::vector<std::string> bad_ones{prefix,
                                            prefix + "3",
                                            good + "0",
                                            good.substr(0, good.size() - 2),
                                            prefix + "03" + rest,
                                            prefix + "+3" + rest,
                                            prefix + " 3" + rest,
                                            prefix + "-3" + rest,
                                            prefix + "3/" + rest,
                                            prefix + "99999999999999999999" + rest,
                                            upper,
                                            good + "&x=1"};
    for (const std::string& bad : bad_ones) EXPECT_EQ(refused(bad), Fault::malformed) << bad;
}

/// What a reader gets from a solver that answers `body` to everything.
Result<Journal> told_by(const std::string& body) {
    test::HostilePeer peer(
        [&](const std::string&, const test::HostilePeer::Send& send) { send(test::HostilePeer::ok(body)); });
    return fetch_journal(peer.url(), sign_request(requester(), kPlace, 3, 1'000));
}
const std::string kHead = "{\"task\":3,\"ended\":0,\"dropped\":0}\n";

TEST(HostileSolver, CanSendNothingThatControlsATerminal) {
    const auto told = told_by(kHead + "{\"height\":5,\"run\":0,\"text\":\"\\u001b[2J\\u0007\\r\\n\\u202e gone\"}\n");
    ASSERT_TRUE(told.has_value()) << told.error().message;
    ASSERT_EQ(told->lines.size(), 1u);
    for (const char c : told->lines[0].text) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
    EXPECT_THAT(told->lines[0].text, HasSubstr(" gone"));
}

TEST(HostileSolver, IsRefusedWhereItSendsNoLog) {
    const std::string line = "{\"height\":5,\"run\":0,\"text\":\"x\"}\n";
    std::string many = kHead;
    for (std::size_t i = 0; i <= Journal::kLinesMax; ++i) many += line;
    EXPECT_THAT(told_by(many).error().message, HasSubstr("more than 1000 lines"));
    EXPECT_THAT(
        told_by(kHead + "{\"height\":5,\"run\":0,\"text\":\"" + std::string(600, 'x') + "\"}\n").error().message,
        HasSubstr("too long"));
    EXPECT_THAT(told_by("{\"task\":4,\"ended\":0,\"dropped\":0}\n").error().message, HasSubstr("of task 4"));
    for (const std::string& bad :
         {std::string(), std::string("\n"), kHead + "x\n", kHead + line.substr(0, line.size() - 1),
          kHead + "{\"height\":5,\"run\":4294967296,\"text\":\"x\"}\n",
          kHead + "{\"height\":-5,\"run\":0,\"text\":\"x\"}\n", kHead + "{\"height\":5,\"run\":0,\"text\":\"\"}\n",
          kHead + "{\"run\":0,\"height\":5,\"text\":\"x\"}\n", kHead + "\n", std::string(2'000'000, ' ')})
        EXPECT_FALSE(told_by(bad).has_value()) << bad.substr(0, 80);
    EXPECT_TRUE(told_by(kHead + line).has_value());
}

TEST(HostileSolver, HoldsAReaderUpForItsTimeAtMost) {
    constexpr std::chrono::milliseconds kHeld(1'500);
    test::HostilePeer peer([&](const std::string&, const test::HostilePeer::Send& send) {
        send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");  // And no body.
        std::this_thread::sleep_for(kHeld);
    });
    const JournalRequest request = sign_request(requester(), kPlace, 3, 1'000);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(fetch_journal(peer.url(), request, std::chrono::milliseconds(100)).has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - start, kHeld);
    EXPECT_FALSE(fetch_journal("file:///etc/passwd", request).has_value());
    EXPECT_FALSE(fetch_journal("", request).has_value());
}

struct SolverJournalTest : TaskJournalTest {
    solver::SolverView view(std::uint64_t height, const std::vector<std::uint64_t>& tasks) const {
        solver::SolverView out;
        out.height = height;
        for (const std::uint64_t task : tasks) {
            solver::RunView run;
            run.terms.id = task;
            out.runs.push_back(run);
        }
        return out;
    }
    std::vector<std::string> texts(std::uint64_t task) const {
        std::vector<std::string> out;
        const Journal kept = *journals->of(task);
        for (const JournalLine& line : kept.lines) out.push_back(line.text);
        return out;
    }
    std::unique_ptr<TaskJournals> journals = open();
    SolverJournal journal{*journals, "4 threads of its processors (avx2)", 100};
};

TEST_F(SolverJournalTest, TellsATaskItsOwnStoryAlone) {
    const auto both = std::map<std::uint64_t, ledger::Address>{{3, requester().address()}, {4, ledger::Address{{9}}}};
    journal.on_view(view(10, {3, 4}), both, {});
    journal.on_move(solver::AcceptData{3, 0});
    solver::SolverWork train{"train task 3 to checkpoint 1", [] {
                                 return solver::SolverResult(solver::Reached{3, 0, 1, std::nullopt});
                             }};
    train.fetches_of = {3, 0};
    const auto done = journal.timed(train).run();
    EXPECT_TRUE(std::holds_alternative<solver::Reached>(done));
    journal.on_progress(3, {25, {{"loss", 0.5}}});
    journal.on_progress(3, {50, {{"loss", 0.4}}});
    journal.on_progress(7, {50, {{"loss", 0.4}}});
    journal.on_move(solver::CommitCheckpoint{3, 0, 1, {}});
    const solver::FailedWork failed{4, 0, "train", "cannot write /home/alice/7: No space left on device", 2, 31, 60};
    journal.on_view(view(20, {3, 4}), {}, {failed});
    journal.on_view(view(21, {3, 4}), {}, {failed});
    journal.on_view(view(30, {4}), {}, {});
    EXPECT_THAT(texts(3), ElementsAre("run 0 from checkpoint 0; 4 threads of its processors (avx2) trains it",
                                      "the program and the data are here: accepts",
                                      testing::MatchesRegex("train task 3 to checkpoint 1: done in 0\\.[0-9]+ s"),
                                      "step 25, loss 0.5", "commits to checkpoint 1", "the run is over"));
    EXPECT_THAT(texts(4),
                ElementsAre("run 0 from checkpoint 0; 4 threads of its processors (avx2) trains it",
                            "train failed: a disk is full; attempt 2, the next at block 31, due by block 60"));
    EXPECT_EQ(journals->of(3)->ended, 30u);
    EXPECT_EQ(journals->of(4)->ended, 0u);
    EXPECT_FALSE(journals->of(7));
}

TEST_F(SolverJournalTest, TellsNothingOfPrivateData) {
    solver::SolverView seen = view(10, {3});
    seen.runs[0].terms.group.emplace().private_sets = 1;
    journal.on_view(seen, {{3, requester().address()}}, {});
    journal.on_progress(3, {25, {{"loss", 0.5}}});
    EXPECT_EQ(texts(3).back(), "step 25");
}

}  // namespace
}  // namespace retrace::node
