// SPDX-License-Identifier: MIT
// What a user reads who mistypes a command, asks for help, leaves a flag out or has a full disk. No node is needed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "market/reservations.hpp"
#include "market/types.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CommandLine : public TaskTest {
protected:
    void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
    /// A home without files of the user who runs the test.
    std::string at_home(const std::string& more = {}) const {
        return "env -u RETRACE_NODE -u RETRACE_KEY -u RETRACE_CONFIG HOME=" + path("").string() + " " + more + " ";
    }
};

TEST_F(CommandLine, TellsItsVersionAndHelpInEveryUsualWay) {
    for (const char* const words : {"--version", "version"})
        EXPECT_THAT(retrace(words).out, ::testing::StartsWith("retrace ")) << words;
    for (const char* const words : {"help", "--help"}) {
        const Ran ran = retrace(words);
        EXPECT_EQ(ran.status, 0) << words;
        EXPECT_THAT(ran.out, AllOf(HasSubstr("Usage: retrace"), HasSubstr("solver"))) << words;
    }
    EXPECT_EQ(retrace("help task fetch").out, retrace("task fetch --help").out);
    EXPECT_THAT(retrace("help task fetch").out, HasSubstr("Usage: retrace task fetch"));
}

TEST_F(CommandLine, HelpFitsEightyColumns) {
    for (const char* const command : {"", "node", "task", "task compile", "task submit", "solver", "verifier",
                                      "data import", "wallet send", "demo", "econ", "testnet init"}) {
        std::istringstream lines(retrace("help " + std::string(command)).out);
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line); ++count) {
            const bool one_word = line.find(' ', line.find_first_not_of(' ')) == std::string::npos;
            EXPECT_TRUE(line.size() <= 80 || one_word) << command << ": " << line;
        }
        EXPECT_GT(count, 5U) << command;
    }
}

TEST_F(CommandLine, AnErrorThatQuotesAFileDoesNotControlTheTerminal) {
    write("evil.csv", "a,b\n1,2\n\033]0;x\007\033[31mX,3\n");
    const Ran ran = retrace("data import " + path("evil.csv").string() + " -o " + path("out").string());
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("]0;x?"), Not(HasSubstr("\033")), Not(HasSubstr("\007"))));
}

TEST_F(CommandLine, CtrlCAtASecretPromptGivesTheTerminalItsEchoBack) {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_EQ(::grantpt(terminal), 0);
    ASSERT_EQ(::unlockpt(terminal), 0);
    const std::string name = ::ptsname(terminal), keys = path("keys").string();
    // Kept open, so that the terminal keeps its settings when the program ends.
    const int own = ::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();  // The first terminal that it opens is its own.
        const int opened = ::open(name.c_str(), O_RDWR);
        for (const int file : {0, 1, 2}) ::dup2(opened, file);
        ::execl(RETRACE_PROGRAM, "retrace", "wallet", "new", "--keys", keys.c_str(), nullptr);
        ::_exit(127);
    }
    const auto echoes = [&] {
        termios now{};
        EXPECT_EQ(::tcgetattr(own, &now), 0);
        return (now.c_lflag & ECHO) != 0;
    };
    std::string shown;
    std::array<char, 512> buffer;
    while (shown.find("passphrase") == std::string::npos) {
        const ssize_t size = ::read(terminal, buffer.data(), buffer.size());
        ASSERT_GT(size, 0);
        shown.append(buffer.data(), static_cast<std::size_t>(size));
    }
    EXPECT_FALSE(echoes());
    EXPECT_EQ(::write(terminal, "\x03", 1), 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
    EXPECT_TRUE(echoes());
    ::close(own);
    ::close(terminal);
}

TEST_F(CommandLine, AMistypedCommandIsAnsweredWithASimilarOne) {
    const Ran first = retrace("taks list");
    EXPECT_EQ(first.status, 2);
    EXPECT_THAT(
        first.err,
        HasSubstr("no command \"taks\" of `retrace`; did you mean `retrace task`? `retrace --help` lists them"));
    const Ran second = retrace("task ftech 1");
    EXPECT_EQ(second.status, 2);
    EXPECT_THAT(second.err, HasSubstr("did you mean `retrace task fetch`?"));
    EXPECT_THAT(retrace("task xyzzy").err, AllOf(HasSubstr("`retrace task --help`"), Not(HasSubstr("did you mean"))));
    EXPECT_THAT(retrace("task decide 1 --pay", at_home()).err, HasSubstr("--key FILE"))
        << "a group of flags is no command";
    const Ran missing = retrace("task");
    EXPECT_EQ(missing.status, 2);
    EXPECT_THAT(missing.err, HasSubstr("`retrace task` needs a command: compile, "));
}

TEST_F(CommandLine, MessagesUnderMasksAreNotMergedInRegions) {
    const std::string compile = "task compile mlp --data nowhere -o nowhere --rounds 4 --members 4 ";
    const Ran both = retrace(compile + "--masked --regions 2");
    EXPECT_EQ(both.status, 2);
    EXPECT_THAT(both.err, AllOf(HasSubstr("--masked"), HasSubstr("--regions")));
    for (const char* const alone : {"--masked", "--regions 2"})
        EXPECT_EQ(retrace(compile + alone).status, 1) << "the data set is missing, and the flags are not wrong";
}

TEST_F(CommandLine, AMissingFlagIsWrongUsageInJsonToo) {
    const Ran fetch = retrace("task fetch 1 --json");
    EXPECT_EQ(fetch.status, 2);
    EXPECT_THAT(fetch.err, HasSubstr("--out is required"));
    EXPECT_THAT(std::string(boost::json::parse(fetch.out).at("error").as_string()), HasSubstr("--out is required"));
    const Ran accept = retrace("task accept 1 --json", at_home());
    EXPECT_EQ(accept.status, 2);
    EXPECT_THAT(accept.err, AllOf(HasSubstr("--key FILE"), HasSubstr("--dev-account N"), HasSubstr("RETRACE_KEY")));
    EXPECT_THAT(std::string(boost::json::parse(accept.out).at("error").as_string()), HasSubstr("--key FILE"));
    EXPECT_EQ(retrace("task show").status, 2);
}

TEST_F(CommandLine, AFullStandardOutputIsAnError) {
    const Ran ran = retrace("version > /dev/full");
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("standard output could not be written (No space left on device)"));
    write("pass", "a long passphrase\n");
    const Ran words = retrace("wallet new --mnemonic --light --keys " + path("keys").string() + " --passphrase-file " +
                              path("pass").string() + " > /dev/full");
    EXPECT_EQ(words.status, 1);
    EXPECT_THAT(words.err, AllOf(HasSubstr("the words were not shown"), HasSubstr("is removed")));
    EXPECT_TRUE(fs::is_empty(path("keys"))) << "a key whose words nobody saw";
    retrace("wallet new --mnemonic --light --keys " + path("keys").string() + " --passphrase-file " +
            path("pass").string() + " | (exec <&-; sleep 1)");
    EXPECT_TRUE(fs::is_empty(path("keys"))) << "a key whose words nobody saw";
}

TEST_F(CommandLine, AnEmptyPassphraseIsRefusedUnlessAskedFor) {
    write("pass", "\n");
    const std::string make =
        "wallet new --light --keys " + path("keys").string() + " --passphrase-file " + path("pass").string();
    const Ran refused = retrace(make);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("the passphrase is empty"), HasSubstr("--empty-passphrase")));
    EXPECT_EQ(retrace(make + " --empty-passphrase").status, 0);
}

TEST_F(CommandLine, DefaultsComeFromTheEnvironmentAndTheClientFile) {
    const std::string balance = "wallet balance 0x00000000000000000000000000000000000000bb --timeout 0";
    const auto asked = [&](const std::string& before, const std::string& more = {}) {
        return retrace(balance + more, at_home(before)).err;
    };
    EXPECT_THAT(asked("RETRACE_NODE=http://127.0.0.1:1"), HasSubstr("http://127.0.0.1:1"));
    fs::create_directories(path(".retrace"));
    write(".retrace/client.toml", "node = \"http://127.0.0.1:2\"\nfiat = \"0.35 EUR\"\n");
    EXPECT_THAT(asked(""), HasSubstr("http://127.0.0.1:2"));
    EXPECT_THAT(asked("RETRACE_NODE=http://127.0.0.1:1"), HasSubstr("http://127.0.0.1:1")) << "it goes first";
    EXPECT_THAT(asked("RETRACE_NODE=http://127.0.0.1:1", " --node http://127.0.0.1:3"), HasSubstr("127.0.0.1:3"));
    // The node of the file is trusted by the file's fingerprint, in any order; another node is not.
    const std::string node = "node = \"https://127.0.0.1:2\"\n", trust = "tls_fingerprint = \"12\"\n";
    for (const std::string& text : {node + trust, trust + node}) {
        write(".retrace/client.toml", text);
        EXPECT_THAT(asked(""), HasSubstr("--tls-fingerprint: 64 hex digits are needed")) << text;
        EXPECT_THAT(asked("RETRACE_NODE=http://127.0.0.1:1"),
                    HasSubstr("no answer from the node at http://127.0.0.1:1"));
    }
    write(".retrace/client.toml",
          "node = \"http://127.0.0.1:2\"\nkey = \"0x00000000000000000000000000000000000000bb\"\n");
    for (const char* const own : {"wallet balance", "wallet history", "stake show"})
        EXPECT_THAT(retrace(own + std::string(" --timeout 0"), at_home()).err, HasSubstr("no answer from the node"))
            << own;
    EXPECT_THAT(retrace("wallet balance --timeout 0", at_home("RETRACE_CONFIG=/dev/null")).err,
                HasSubstr("--key ADDRESS or --dev-account N"));
    EXPECT_EQ(retrace("version", at_home()).status, 0) << "a command without these flags";
    fs::permissions(path(".retrace/client.toml"), fs::perms(0646));
    EXPECT_THAT(retrace(balance, at_home()).err, HasSubstr("client.toml may have been written by another user"));
    fs::permissions(path(".retrace/client.toml"), fs::perms(0644));
    write(".retrace/client.toml", "price = \"2\"\n");
    const Ran wrong = retrace(balance, at_home());
    EXPECT_EQ(wrong.status, 2);
    EXPECT_THAT(wrong.err, AllOf(HasSubstr("client.toml: price is not one of node, "), HasSubstr("fiat")));
    EXPECT_EQ(retrace(balance + " --fiat much", at_home("RETRACE_CONFIG=/dev/null")).status, 2);
}

TEST_F(CommandLine, TheKeyAndItsPassphraseComeFromTheEnvironment) {
    write("pass", "a long passphrase\n");
    const std::string pass = "RETRACE_PASSPHRASE_FILE=" + path("pass").string();
    const Ran made = retrace("wallet new --light --keys " + path("keys").string(), at_home(pass));
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string key = fs::directory_iterator(path("keys"))->path().string();
    const std::string deposit = "stake deposit 1 --timeout 0 --node http://127.0.0.1:1";
    const auto said = [&](const std::string& before, const std::string& more = {}) {
        return retrace(deposit + more, at_home(before)).err;
    };
    // The key is read before the node is asked.
    EXPECT_THAT(said("RETRACE_KEY=" + key + " " + pass), HasSubstr("no answer from the node"));
    EXPECT_THAT(said("RETRACE_KEY=" + path("none").string() + " " + pass), HasSubstr("no such keystore file"));
    EXPECT_THAT(said("RETRACE_KEY=" + path("none").string() + " " + pass, " --key " + key),
                HasSubstr("give --passphrase-file"))
        << "the passphrase of the environment is that of its key";
    EXPECT_THAT(said("RETRACE_KEY=" + key + " RETRACE_PASSPHRASE_FILE=" + path("none").string()),
                HasSubstr("cannot read a line"));
}

/// Events carry numbers, so a program that reads them needs the page.
TEST_F(CommandLine, ThePageOnJsonRpcNamesEveryNumberOfAState) {
    std::ifstream in(RETRACE_SOURCE_DIR "/docs/json-rpc.md");
    const std::string page(std::istreambuf_iterator<char>(in), {});
    const auto named = [&](auto last, const char* row) {
        std::string numbers;
        for (unsigned i = 1; i <= static_cast<unsigned>(last); ++i)
            numbers +=
                (i == 1 ? "" : ", ") + std::to_string(i) + " " + std::string(slug(static_cast<decltype(last)>(i)));
        EXPECT_THAT(page, HasSubstr("| " + std::string(row) + " | " + numbers + " |"));
    };
    named(market::TaskState::released, "task (`TaskStateChanged`)");
    named(market::RunState::left, "run (`RunEnded`)");
    named(market::SegmentState::verified, "segment");
    named(market::AuditPhase::no_auditors, "audit (`AuditPhaseChanged`)");
    named(market::ReservationState::released, "reservation (`ReservationChanged`)");
    named(market::DisputeState::withdrawn, "dispute");
}

TEST_F(CommandLine, DeveloperAccountsAreNumbered) {
    const Ran ran = retrace("node --dev --data-dir " + path("chain").string() + " --rpc-port 0 --log-level off",
                            "timeout -s TERM 3 ");
    EXPECT_THAT(ran.out, AllOf(HasSubstr("  0  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  0x"),
                               HasSubstr("  9  0xa0Ee7A142d267C1f36714E4a8F75612F20a79720  0x")));
}

}  // namespace
}  // namespace retrace::testing
