// SPDX-License-Identifier: MIT
// `retrace solver --config FILE` and `retrace verifier --config FILE` without a node: their messages show which flags
// they read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "node/cmd/cli.hpp"
#include "node/platform/flag_file.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AgentConfig : public ::testing::Test {
protected:
    struct Said {
        int code = 0;
        std::string text;
    };
    Said run(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "retrace");
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        Said said;
        said.code = cli::run_main(static_cast<int>(argv.size()), argv.data());
        said.text = ::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout();
        return said;
    }
    std::string file(const std::string& text) {
        const auto path = folder.path() / "agent.toml";
        std::ofstream(path) << text;
        return path.string();
    }
    test::TemporaryFolder folder;
};

TEST_F(AgentConfig, TakesFlagsFromAFile) {
    const Said said = run({"solver", "--config",
                           file("data_dir = \"/nowhere\"\nkey = \"/missing/from-file\"\n"
                                "price = 0.5\nonly = [3, 4]\npay_for_retention = true\n"
                                "poll_ms = 100\ncheat_segment = 2\n")});
    EXPECT_EQ(said.code, 2);
    EXPECT_THAT(said.text, HasSubstr("--cheat-segment says where a fraud is"));
}

TEST_F(AgentConfig, PrivateDataAreForWhatTheOperatorNames) {
    const auto said = [&](std::vector<std::string> more, const char* role = "solver") {
        std::vector<std::string> arguments{role, "--data-dir", "/nowhere", "--key", "/missing"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run(arguments);
    };
    const std::string account = "0x00000000000000000000000000000000000000";
    EXPECT_THAT(said({"--data", "F"}).text, HasSubstr("--data needs --data-for"));
    EXPECT_EQ(said({"--data", "F"}).code, 2);
    const std::string whom = account + "08", plan = whom + ":" + std::string(64, 'a');
    EXPECT_THAT(said({"--data-for", whom}).text, HasSubstr("name the folder"));
    for (const std::string& wrong : {std::string("0"), std::string("3x"), std::string("0x12"), std::string("alice"),
                                     whom + ":", whom + ":3", plan + "a", plan + "ab", ":" + plan})
        EXPECT_THAT(said({"--data", "F", "--data-for", wrong}).text, HasSubstr("--data-for must be")) << wrong;
    EXPECT_THAT(said({"--data", "F", "--data-for", "3"}).text, HasSubstr("anybody may post the task"));
    EXPECT_THAT(said({"--data", "F", "--data-for", plan, whom}).text, HasSubstr("/missing")) << "it goes on";
    std::vector<std::string> many{"--data", "F", "--data-for", whom, "--consent"};
    for (int i = 10; i < 26; ++i) many.push_back(account + std::to_string(i));
    many.push_back(many.back());
    EXPECT_THAT(said(many).text, HasSubstr("/missing")) << "sixteen, one of them twice";
    many.push_back(account + "99");
    EXPECT_THAT(said(many).text, HasSubstr("--consent names 17 accounts"));
    EXPECT_THAT(said({"--consent", account + "07"}).text, HasSubstr("name the folder"));

    const std::vector<std::string> unnamed{
        "F",         "3:" + account + "07",  account + "07=F",       "0:" + account + "07=F",
        "3:alice=F", "3:" + account + "07=", "x:" + account + "07=F"};
    for (const std::string& wrong : unnamed)
        EXPECT_THAT(said({"--data", wrong}, "verifier").text, HasSubstr("--data must be TASK:ACCOUNT=FOLDER")) << wrong;
    EXPECT_THAT(said({"--data", "3:" + account + "07=/a=b"}, "verifier").text, HasSubstr("/missing"));
}

TEST_F(AgentConfig, TypedFlagsWinOverTheFile) {
    const std::string path = file("data_dir = \"/nowhere\"\nkey = \"/missing/from-file\"\nprice = \"cheap\"\n");
    EXPECT_THAT(run({"solver", "--config", path}).text, HasSubstr("--price must be coins"));
    const Said said = run({"solver", "--price=0.5", "--config=" + path, "--key", "/missing/typed"});
    EXPECT_EQ(said.code, 2) << "another start does not mend it";
    EXPECT_THAT(said.text, HasSubstr("/missing/typed"));
    EXPECT_THAT(run({"verifier", "--config", file("data_dir = \"/nowhere\"\nkey = \"/missing/from-file\"\n")}).text,
                HasSubstr("/missing/from-file"));
}

TEST_F(AgentConfig, RefusesWhatIsWrongByFileAndKey) {
    const auto text = [&](const std::string& lines) {
        const Said said = run({"solver", "--config", file(lines)});
        EXPECT_EQ(said.code, 2) << lines;
        return said.text;
    };
    EXPECT_THAT(text("prize = 1\n"), HasSubstr("agent.toml: prize is no flag of `retrace solver`"));
    EXPECT_THAT(text("config = \"other.toml\"\n"), HasSubstr("config is no flag"));
    EXPECT_THAT(text("help = true\n"), HasSubstr("help is no flag"));
    EXPECT_THAT(text("pay_for_retention = 1\n"), HasSubstr("pay-for-retention must be true or false"));
    EXPECT_THAT(text("price = true\n"), HasSubstr("price needs a value"));
    EXPECT_THAT(text("only = []\n"), HasSubstr("only must be"));
    EXPECT_THAT(text("[solver]\nprice = 1\n"), HasSubstr("solver must be"));
    EXPECT_THAT(text("price = 1\nprice = 2\n"), HasSubstr("agent.toml:2: not TOML"));
    EXPECT_THAT(text("port = 70000\ndata_dir = \"d\"\n"), HasSubstr("--port"));
    EXPECT_THAT(text("price = 1\n"), HasSubstr("--data-dir is required"));
    EXPECT_THAT(run({"solver", "--config", "/no/such/file"}).text, HasSubstr("/no/such/file"));
}

TEST(FlagFile, ReadsTextsNumbersSwitchesAndLists) {
    const auto flags = parse_flags("a_b = \"x y\"\nc = -0.25\nd = [1, \"two\"]\ne = false\n", "f");
    ASSERT_TRUE(flags) << flags.error().message;
    ASSERT_EQ(flags->size(), 4u);
    EXPECT_EQ((*flags)[0].name, "--a-b");
    EXPECT_THAT((*flags)[0].values, ElementsAre("x y"));
    EXPECT_THAT((*flags)[1].values, ElementsAre("-0.25"));
    EXPECT_THAT((*flags)[2].values, ElementsAre("1", "two"));
    EXPECT_FALSE((*flags)[3].on);
    EXPECT_THAT((*flags)[3].values, ElementsAre());
}

}  // namespace
}  // namespace retrace::node
