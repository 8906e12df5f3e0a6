// SPDX-License-Identifier: MIT
// `retrace demo` with each of its frauds, as a user runs it: the --json output must match the documented outcome.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <fstream>
#include <thread>

#include "node/platform/process.hpp"
#include "node/server/comet/supervisor.hpp"
#include "node/tasks/data/idx.hpp"

namespace retrace::node {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr auto kTimeout = 220s;

/// A fraud and the length of its tasks. Fewer steps save time where the model is still good enough.
struct Play {
    std::string cheat, outcome;
    std::uint64_t steps, interval;
    std::string engine = "solo";
    std::uint64_t segments() const { return steps / interval; }
};

std::string name_of(const Play& play) { return play.engine == "comet" ? "on_comet" : play.cheat; }

void PrintTo(const Play& play, std::ostream* out) { *out << play.cheat; }

class DemoRun : public testing::Test {
protected:
    void SetUp() override {
        if (!fashion_mnist_folder()) GTEST_SKIP() << "SKIP: Debian's package dataset-fashion-mnist is not installed";
        log_ = std::filesystem::temp_directory_path() / ("retrace_demo_" + std::to_string(::getpid()) + ".log");
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove(log_, ignored);
    }

    /// Skips the test where the engine is missing.
    void need(const std::string& kind) {
        // `retrace` looks for it in the same places, beside itself first.
        if (kind == "comet" &&
            !std::filesystem::exists(std::filesystem::path(RETRACE_PROGRAM).parent_path() / "cometbft") &&
            engine::find_comet("").empty())
            GTEST_SKIP() << "SKIP: no cometbft; where Go is installed, ./dev comet makes it";
    }

    /// Its last line is the JSON object; warnings may precede it.
    void play(const std::string& cheat, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"demo", "--json", "--quiet", "--cheat", cheat, "--timeout", "200"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        auto demo = Process::start(RETRACE_PROGRAM, arguments, log_);
        ASSERT_TRUE(demo.has_value());
        const auto end = std::chrono::steady_clock::now() + kTimeout;
        while (demo->running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(50ms);
        std::ifstream in(log_);
        std::string text, line, last;
        while (std::getline(in, line)) {
            text += line + '\n';
            last = line;
        }
        ASSERT_EQ(demo->exit_status(), 0) << text;
        boost::system::error_code malformed;
        const json::value value = json::parse(last, malformed);
        ASSERT_TRUE(!malformed && value.is_object()) << text;
        facts_ = value.as_object();
        std::cout << last << std::endl;
    }

    std::string text(const char* name) const { return std::string(facts_.at(name).as_string()); }
    std::uint64_t number(const json::value& value) const { return value.to_number<std::uint64_t>(); }

    std::filesystem::path log_;
    json::object facts_;
};

class Demo : public DemoRun, public testing::WithParamInterface<Play> {
protected:
    void SetUp() override {
        DemoRun::SetUp();
        need(GetParam().engine);
        if (IsSkipped()) return;
        const Play& play = GetParam();
        DemoRun::play(play.cheat, {"--steps", std::to_string(play.steps), "--checkpoint-every",
                                   std::to_string(play.interval), "--engine", play.engine});
    }
};

TEST_P(Demo, HappensAsPromised) {
    const Play& play = GetParam();
    EXPECT_EQ(text("cheat"), play.cheat);
    EXPECT_EQ(text("outcome"), play.outcome);
    EXPECT_GE(facts_.at("model_accuracy").to_number<double>(), 0.85);
    EXPECT_EQ(number(facts_.at("honest_slashed")), 0U);
    EXPECT_TRUE(facts_.at("supply_conserved").as_bool());
    EXPECT_EQ(number(facts_.at("segments")), play.segments());
    EXPECT_GT(number(facts_.at("audits")), 0U);
    EXPECT_GT(number(facts_.at("verdicts_equal")), 0U);
    EXPECT_EQ(text("engine"), play.engine);
    if (play.engine == "comet") {
        // One of them is killed meanwhile, and comes back.
        EXPECT_EQ(number(facts_.at("validators")), 4U);
        EXPECT_TRUE(facts_.at("app_hashes_equal").as_bool());
        EXPECT_LT(facts_.at("finality_ms").to_number<double>(), 2500);
    } else {
        EXPECT_LT(facts_.at("seconds").to_number<double>(), 90);
    }

    if (play.outcome == "convicted" || play.outcome == "replaced") {
        const json::object& cheater = facts_.at("cheater").as_object();
        EXPECT_NE(cheater.at("slashed").as_string(), "0");
        EXPECT_EQ(number(cheater.at("task")), 2U);
    }
    if (play.outcome == "convicted") {
        // Found where the referee's own arithmetic decides: the last segment is always audited.
        const json::object& cheater = facts_.at("cheater").as_object();
        EXPECT_LT(number(cheater.at("segment")), play.segments());
        EXPECT_LT(number(cheater.at("step")), play.steps);
    }
    if (play.cheat == "ulp") {
        const json::object& cheater = facts_.at("cheater").as_object();
        EXPECT_EQ(number(cheater.at("segment")), play.segments() - 1);
        for (const char* name : {"op", "tile", "link", "element"}) EXPECT_TRUE(cheater.contains(name)) << name;
    }
    if (play.outcome == "accuser_punished") {
        EXPECT_NE(facts_.at("accuser").at("slashed").as_string(), "0");
    }
    if (play.outcome == "convicted" || play.outcome == "accuser_punished") {
        const json::object& dispute = facts_.at("dispute").as_object();
        EXPECT_LE(number(dispute.at("rounds")), 24U);
        EXPECT_LE(number(dispute.at("evidence_bytes")), 160U * 1024);
        EXPECT_LT(dispute.at("referee_us").to_number<double>(), 1000);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Frauds, Demo,
    testing::Values(Play{"ulp", "convicted", 900, 100}, Play{"false_accuser", "accuser_punished", 450, 50},
                    Play{"skip_steps", "convicted", 450, 90}, Play{"wrong_data", "convicted", 450, 90},
                    Play{"stale_checkpoint", "convicted", 450, 90}, Play{"silent", "replaced", 450, 90},
                    Play{"none", "honest", 450, 90}, Play{"ulp", "convicted", 900, 100, "comet"}),
    [](const auto& info) { return name_of(info.param); });

struct RoundsPlay {
    std::string cheat, outcome, engine = "solo", on_fraud = "keep";
};

class RoundsDemo : public DemoRun, public testing::WithParamInterface<RoundsPlay> {
protected:
    void SetUp() override {
        DemoRun::SetUp();
        need(GetParam().engine);
        if (!IsSkipped())
            play(GetParam().cheat, {"--rounds", "--engine", GetParam().engine, "--on-fraud", GetParam().on_fraud});
    }
};

TEST_P(RoundsDemo, HappensAsPromised) {
    const std::string outcome = GetParam().outcome;
    EXPECT_EQ(text("outcome"), outcome);
    EXPECT_EQ(text("engine"), GetParam().engine);
    EXPECT_EQ(number(facts_.at("members")), 8U);
    EXPECT_EQ(number(facts_.at("honest_slashed")), 0U);
    EXPECT_TRUE(facts_.at("supply_conserved").as_bool());
    EXPECT_GE(facts_.at("model_accuracy").to_number<double>(),
              facts_.at("one_machine_accuracy").to_number<double>() - 0.02);
    EXPECT_TRUE(facts_.at("statement_adds_up").as_bool()) << "to the wei";
    EXPECT_EQ(facts_.at("followed_rounds"), facts_.at("rounds"));
    EXPECT_TRUE(facts_.at("followed_equal").as_bool()) << "the requester's replay of the messages";
    // Under masks all changes are sent, in 15 bits each.
    EXPECT_GT(facts_.at("message_ratio").to_number<double>(), GetParam().cheat == "wrong_mask" ? 2 : 100);
    // That is for the one node: four validators take as much of two processors as the members.
    if (GetParam().engine == "solo") {
        EXPECT_LT(facts_.at("seconds").to_number<double>(), 180);
    }
    const json::array& rollbacks = facts_.at("rollbacks").as_array();
    ASSERT_EQ(rollbacks.size(), GetParam().on_fraud == "rollback" ? 1U : 0U);
    if (!rollbacks.empty()) {
        EXPECT_EQ(number(rollbacks[0].at("first")), 0U) << "none of the cheater's messages was final";
    }
    const json::array& members = facts_.at("paid").as_array();
    ASSERT_EQ(members.size(), 8U);
    EXPECT_GT(number(members.back().at("entered")), 0U) << "the eighth joins late";
    if (outcome == "convicted") {
        const json::object& cheater = facts_.at("cheater").as_object();
        EXPECT_EQ(number(cheater.at("segment")), number(cheater.at("round"))) << "it missed no round before";
        for (const char* name : {"position", "op", "tile", "link", "element"})
            EXPECT_TRUE(cheater.contains(name)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Frauds, RoundsDemo,
                         testing::Values(RoundsPlay{"ulp", "convicted"}, RoundsPlay{"poison_nan", "convicted"},
                                         RoundsPlay{"wrong_message", "slashed"}, RoundsPlay{"hide_message", "unpaid"},
                                         RoundsPlay{"list_falsely", "harmless"}, RoundsPlay{"poison_norm", "convicted"},
                                         RoundsPlay{"copy_message", "convicted"}, RoundsPlay{"wrong_mask", "convicted"},
                                         RoundsPlay{"none", "honest"}, RoundsPlay{"ulp", "convicted", "comet"},
                                         RoundsPlay{"ulp", "convicted", "solo", "rollback"}),
                         [](const auto& info) {
                             if (info.param.on_fraud != "keep") return info.param.on_fraud;
                             return info.param.engine == "comet" ? std::string("on_comet") : info.param.cheat;
                         });

}  // namespace
}  // namespace retrace::node
