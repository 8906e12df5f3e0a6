// SPDX-License-Identifier: MIT
// A newcomer earns with one command: quickstart, choice of work, what an agent says, and what it refuses.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <sstream>

#include "tests/functional/market_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

class Earn : public MarketTest {
protected:
    void SetUp() override {
        MarketTest::SetUp();
        std::ofstream(path("pass")) << "secret\n";
        fs::permissions(path("pass"), fs::perms(0600));
    }
    void TearDown() override {
        if (HasFailure())
            for (const char* name : {"agent.log", "other.log"}) std::cout << "--- " << name << "\n" << tail(path(name));
        MarketTest::TearDown();
    }
    std::vector<std::string> quickstart(const std::string& role, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> out{role,
                                     "--quickstart",
                                     "--node",
                                     network_->node_url(),
                                     "--threads",
                                     "1",
                                     "--words-file",
                                     path("words").string(),
                                     "--passphrase-file",
                                     path("pass").string()};
        out.insert(out.end(), more.begin(), more.end());
        return out;
    }
    node::Process start_agent(const std::vector<std::string>& arguments, const std::string& log = "agent.log") const {
        auto started = node::Process::start(RETRACE_PROGRAM, arguments, path(log), {"HOME=" + path("home").string()});
        EXPECT_TRUE(started.has_value()) << (started ? "" : started.error().message);
        return std::move(*started);
    }
    /// Waits until the log has the text.
    void until_says(const std::string& text, int seconds = 60, const std::string& log = "agent.log") const {
        const auto end = Clock::now() + std::chrono::seconds(seconds);
        while (text_of(path(log)).find(text) == std::string::npos) {
            ASSERT_LT(Clock::now(), end) << "never said: " << text;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
    void until_ended(node::Process& process, int code) const {
        const auto end = Clock::now() + std::chrono::seconds(60);
        while (process.running() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(process.exit_status(), code);
    }
    std::string account() const { return text_of(path("home") / ".retrace/solver/account"); }
};

TEST_F(Earn, ANewcomerBidsWithinAMinuteAndSaysWhatItEarned) {
    fs::create_directory(path("home"));
    const std::string task = compile(" --hidden 16 --batch 16 --price-ceiling 1 --steps 60 --checkpoint-every 10");
    start({});
    if (HasFatalFailure()) return;
    const auto begun = Clock::now();
    node::Process solver = start_agent(quickstart("solver", {"--min-price", "0.1"}));
    until_says("step 4 of 5");
    const std::string self = account();
    const json::object posted = say("task submit " + task + requester() + store() + " --allow-unaudited");
    ASSERT_FALSE(posted.empty());
    const std::string id = std::to_string(posted.at("task").to_number<std::uint64_t>());
    until_says("event=bid task=" + id);
    EXPECT_LT(Clock::now() - begun, std::chrono::seconds(60));
    const std::string log = text_of(path("agent.log")), words = text_of(path("words"));
    for (const char* step : {"step 1 of 5: made the key 0x", "step 2 of 5: the machine was tested; it passes: cpu",
                             "step 3 of 5: this is a developer chain: developer account 9 sends", "step 4 of 5: bonds ",
                             "its own page, for you alone: http://127.0.0.1:", "step 5 of 5: earns from now on"})
        EXPECT_THAT(log, HasSubstr(step));
    EXPECT_THAT(log, Not(HasSubstr(words.substr(0, words.size() - 1))));
    EXPECT_THAT(log, HasSubstr("reason=\"it brings at most "));

    const std::string home = "HOME=" + path("home").string() + " ";
    EXPECT_THAT(retrace("solver explain", home).out, HasSubstr("at block "));
    EXPECT_EQ(json::parse(retrace("solver explain --json", home).out).at("choices").is_array(), true);

    EXPECT_EQ(say("task follow " + id + node()).at("state").as_string(), "delivering");
    EXPECT_THAT(retrace("solver explain", home).out,
                AllOf(HasSubstr("before, the newest first:\nuntil block "), HasSubstr("task " + id + ": bids: ")))
        << "also when no task takes bids any more";
    say("task accept " + id + requester());
    const Ran stake = retrace("stake show " + self + node());
    EXPECT_THAT(stake.out, HasSubstr("for 6 segments and 0 audits, slashed 0 coins, since block 1"));
    solver.send(SIGTERM);
    until_ended(solver, 0);
    EXPECT_THAT(text_of(path("agent.log")),
                AllOf(HasSubstr("event=drained runs=0"), HasSubstr("(6 segments, 0 audits); fees 0.")));
    EXPECT_THAT(text_of(path("home") / ".retrace/solver/metrics.prom"), HasSubstr("retrace_agent_earned_coins"));
    EXPECT_THAT(text_of(path("agent.log")), Not(HasSubstr("event=refused"))) << "it sent no call that was refused";
}

TEST_F(Earn, ANewcomerWithoutCoinsWaitsForThem) {
    fs::create_directory(path("home"));
    start({});
    if (HasFatalFailure()) return;
    // The developer account that would send them has spent its own.
    const std::string requester_address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    ASSERT_EQ(retrace("wallet send --to " + requester_address + " --value 999999.5 --dev-account 9" + node()).status,
              0);
    node::Process solver = start_agent(quickstart("solver", {"--skip-checks"}));
    until_says("step 3 of 5: waiting for 48.03");
    EXPECT_THAT(text_of(path("agent.log")), AllOf(HasSubstr("step 2 of 5: the machine is not tested"),
                                                  HasSubstr("47.501 coins to bond (--stake)"), HasSubstr("it has 0")));
    EXPECT_EQ(retrace("wallet send --to " + account() + " --value 60" + requester()).status, 0);
    until_says("step 5 of 5");
    solver.send(SIGTERM);
    until_ended(solver, 0);
    // What it has bonded may answer for tasks, so that missing coins do not delay it when it starts again.
    node::Process again = start_agent(quickstart("solver", {"--stake", "100"}), "other.log");
    until_says("step 5 of 5", 60, "other.log");
    EXPECT_THAT(
        text_of(path("other.log")),
        AllOf(HasSubstr("step 3 of 5: the account has 47.501 coins bonded"),
              HasSubstr("too little for the 100 coins of --stake, so the bond stays"), Not(HasSubstr("waiting for"))));
    // With an endpoint given by hand, a second process of the account could pass for the first.
    const std::string registered = text_of(path("other.log"));
    const std::size_t at = registered.rfind("endpoint=") + 9;
    const std::string endpoint = registered.substr(at, registered.find_first_of(" \n", at) - at);
    node::Process second = start_agent(
        quickstart("solver", {"--endpoint", endpoint, "--data-dir", path("second").string(), "--key", account()}));
    until_ended(second, 1);
    EXPECT_THAT(text_of(path("agent.log")), HasSubstr("another agent with the key of " + account()));
    again.send(SIGTERM);
    until_ended(again, 0);
}

TEST_F(TaskTest, QuickstartShowsItsWordsOnATerminalAndAsksForTwo) {
    std::ofstream(path("pass")) << "secret\n";
    fs::permissions(path("pass"), fs::perms(0600));
    /// Runs it on a terminal and answers by `answer`; returns what the terminal showed.
    const auto run = [&](const std::function<std::string(const std::vector<std::string>&, std::size_t)>& answer) {
        const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        EXPECT_EQ(::grantpt(terminal), 0);
        EXPECT_EQ(::unlockpt(terminal), 0);
        const std::string name = ::ptsname(terminal);
        const pid_t child = ::fork();
        if (child == 0) {
            ::setsid();  // The first terminal that it opens is its own.
            const int own = ::open(name.c_str(), O_RDWR);
            for (const int file : {0, 1, 2}) ::dup2(own, file);
            ::setenv("HOME", path("home").c_str(), 1);
            ::execl(RETRACE_PROGRAM, "retrace", "solver", "--quickstart", "--skip-checks", "--node",
                    "http://127.0.0.1:1", "--timeout", "0", "--passphrase-file", path("pass").c_str(), nullptr);
            ::_exit(127);
        }
        std::string shown;
        std::vector<std::string> words;
        std::size_t asked = 0;
        std::array<char, 512> buffer;
        for (ssize_t size; (size = ::read(terminal, buffer.data(), buffer.size())) > 0;) {
            shown.append(buffer.data(), static_cast<std::size_t>(size));
            const std::size_t question = shown.find("word number ", asked);
            if (question == std::string::npos || shown.find(": ", question) == std::string::npos) continue;
            if (words.empty()) {
                std::istringstream list(shown.substr(shown.find("this once:") + 10));
                for (std::string word; words.size() < 12 && list >> word;) words.push_back(word);
            }
            asked = question + 12;
            const std::string line = answer(words, std::stoul(shown.substr(asked)) - 1) + "\n";
            EXPECT_EQ(::write(terminal, line.data(), line.size()), static_cast<ssize_t>(line.size()));
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        ::close(terminal);
        EXPECT_EQ(WEXITSTATUS(status), 1);
        return shown;
    };
    const std::string wrong = run([](const auto&, std::size_t) { return std::string("nonsense"); });
    EXPECT_THAT(wrong, AllOf(HasSubstr("that is not word number "), HasSubstr("no key was made")));
    EXPECT_FALSE(fs::exists(path("home") / ".retrace/keys"));
    const std::string right = run([](const auto& words, std::size_t index) { return words.at(index); });
    EXPECT_THAT(right, AllOf(HasSubstr("step 1 of 5: made the key 0x"), HasSubstr("no answer from the node")));
    EXPECT_TRUE(fs::exists(path("home") / ".retrace/solver/account"));
}

TEST_F(Earn, ASecondAgentOfAnAccountDoesNotStart) {
    start({{Role::honest_solver, {"--stake", "400000"}}, {Role::verifier_1, {}}});
    if (HasFatalFailure()) return;
    const auto refused = [&](const std::string& role, const std::string& account, const std::string& message) {
        const Ran ran = retrace(role + node() + " --dev-account " + account + " --threads 1 --data-dir " +
                                path("second-" + role + account).string());
        EXPECT_EQ(ran.status, 1) << role;
        EXPECT_THAT(ran.err, HasSubstr(message)) << role;
    };
    refused("solver", "1", "another agent with the key of 0x7");
    refused("verifier", "1", "another agent with the key of 0x7");
    refused("solver", "3", "another agent with the key of 0x9");
    const Ran other_role = retrace("verifier --quickstart --skip-checks --dev-account 1" + node() + " --data-dir " +
                                   path("other-role").string());
    EXPECT_EQ(other_role.status, 1);
    EXPECT_THAT(other_role.err, HasSubstr("is registered as a solver, and its stake is for the duties of one"));
    network_->kill(Role::verifier_1);
    refused("solver", "3", "is a verifier, and its stake is for audits");
    EXPECT_TRUE(network_->running(Role::honest_solver));
}

TEST_F(Earn, ADryRunSendsNothing) {
    const std::string task = compile(" --hidden 16 --batch 16 --price-ceiling 1 --steps 60 --checkpoint-every 10");
    start({}, {{"bid_blocks", 100}});  // The task still takes bids when the last command asks.
    if (HasFatalFailure()) return;
    EXPECT_EQ(retrace("solver --dry-run" + node()).out, "no task takes bids\n");
    say("task submit " + task + requester() + store() + " --allow-unaudited");
    const Ran ran = retrace("solver --dry-run --min-price 0.1 --stake 100 --threads 1" + node());
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("task 1: bids: it brings at most "), HasSubstr("coins an hour")));
    const Ran dear = retrace("solver --dry-run --min-price 100000000 --stake 100 --threads 1 --json" + node());
    const json::object choice = json::parse(dear.out).at("choices").at(0).as_object();
    EXPECT_FALSE(choice.at("taken").as_bool());
    EXPECT_THAT(std::string(choice.at("reason").as_string()), HasSubstr("--min-price asks for 100000000"));
    EXPECT_EQ(retrace("solver --dry-run --min-price 1 --price 1" + node()).status, 2);
    read([&](const node::RemoteState& state) { EXPECT_TRUE(views::task(state, 1)->bidders.empty()); });
}

TEST_F(Earn, ASolverEndsAtItsNextCheckpoint) {
    const std::string task = compile(" --hidden 256 --batch 64 --price-ceiling 1 --steps 4000 --checkpoint-every 200");
    start({{Role::honest_solver, {"--stake", "400000"}}});
    if (HasFatalFailure()) return;
    say("task submit " + task + requester() + store() + " --allow-unaudited");
    std::uint64_t at = 0;
    until("it trains", [&](const node::RemoteState& state) {
        const auto run = views::run(state, 1, 0);
        at = run ? run->next_state : 0;
        return at >= 2;
    });
    network_->process(Role::honest_solver).send(SIGTERM);
    until_ended(network_->process(Role::honest_solver), 0);
    EXPECT_THAT(
        text_of(network_->log_of("honest solver")),
        AllOf(HasSubstr("event=draining"), HasSubstr("event=drained runs=1 action=\"start it again before block"),
              HasSubstr("event=earned")));
    read([&](const node::RemoteState& state) { EXPECT_GT(views::run(state, 1, 0)->next_state, at); });
}

}  // namespace
}  // namespace retrace::testing
