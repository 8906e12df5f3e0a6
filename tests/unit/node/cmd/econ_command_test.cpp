// SPDX-License-Identifier: MIT
// `retrace econ` as used by people and scripts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <fstream>

#include "node/cmd/cli.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

struct Said {
    int code = 0;
    std::string out, err;
    json::object json() const { return json::parse(out).as_object(); }
};

Said econ(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"retrace", "econ"});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Said said;
    said.code = cli::run_main(static_cast<int>(argv.size()), argv.data());
    said.out = ::testing::internal::GetCapturedStdout();
    said.err = ::testing::internal::GetCapturedStderr();
    return said;
}

TEST(EconCommand, SaysThatNoFraudPaysWithTheBuiltInParameters) {
    const Said said = econ({"--json"});
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    const json::object report = said.json();
    EXPECT_FALSE(report.at("cheating_pays").as_bool());
    EXPECT_EQ(report.at("frauds").as_array().size(), 15u);
    for (const json::value& fraud : report.at("frauds").as_array()) {
        const json::object& row = fraud.as_object();
        const bool asserted = row.at("asserted").as_bool(), pays = row.at("pays").as_bool();
        EXPECT_FALSE(asserted && pays) << row.at("fraud");
        EXPECT_EQ(row.at("gain").as_string().starts_with("-"), !pays) << row.at("fraud");
    }
    EXPECT_NEAR(report.at("detection").as_object().at("10").as_double(), 0.4013, 1e-4);
    EXPECT_NEAR(report.at("replay_share").as_double(), 0.138, 1e-9);
    EXPECT_THAT(econ({}).out, HasSubstr("skip_segment"));
}

TEST(EconCommand, NoPriceMakesCheatingPay) {
    for (const char* price :
         {"0.000000000000000001", "0.000001", "0.005", "1", "1000", "1000000000", "100000000000000000000"}) {
        const Said said = econ({"--json", "--price", price});
        EXPECT_EQ(said.code, 0) << price << said.out << said.err;
        EXPECT_FALSE(said.json().at("cheating_pays").as_bool()) << price;
    }
    EXPECT_THAT(econ({"--price", "1"}).out, HasSubstr("segments of any price"));
    EXPECT_THAT(econ({"--price", "1000000000000000000000"}).err, HasSubstr("--price"));
}

TEST(EconCommand, FailsWhereCheatingPays) {
    EXPECT_EQ(econ({"--json", "--price", "1", "--set", "audit_fee_bp=0"}).code, 1)
        << "then the audit fee is too low for such segments";
    EXPECT_EQ(econ({"--json", "--stake", "0.01"}).code, 1);
    const Said low = econ({"--json", "--set", "collusion_bp=3000", "--stake", "0.2375"});
    EXPECT_EQ(low.code, 1) << "a stake that was made for no collusion";
    EXPECT_TRUE(low.json().at("cheating_pays").as_bool());
    EXPECT_THAT(econ({"--stake", "0.01"}).out, HasSubstr("** PAYS **"));
}

TEST(EconCommand, ReadsAGenesisFile) {
    test::TemporaryFolder folder;
    const std::string path = (folder.path() / "genesis.json").string();
    std::ofstream(path) << R"({"chainId": 7, "alloc": {}, "contracts": {"audit_fee": "0.5", "beacon_penalty": "20"}})";
    const Said said = econ({"--json", "--genesis", path, "--price", "0.5", "--segments", "10"});
    EXPECT_EQ(said.code, 0) << said.out << said.err;
    EXPECT_EQ(said.json().at("beacon_penalty").as_string(), "20000000000000000000");
    const Said none = econ({"--json", "--genesis", path + ".no"});
    EXPECT_EQ(none.code, 1);
    EXPECT_TRUE(none.json().contains("error"));
}

TEST(EconCommand, PlaysAnEconomyThatItsSeedRepeats) {
    const Said said = econ({"--json", "--simulate", "200", "--seed", "3"});
    const json::object simulation = said.json().at("simulation").as_object();
    EXPECT_TRUE(simulation.at("conserved").as_bool());
    EXPECT_EQ(simulation.at("tasks").to_number<int>(), 200);
    EXPECT_EQ(econ({"--json", "--simulate", "200", "--seed", "3"}).out, said.out);
}

TEST(EconCommand, RefusesBadInputByName) {
    for (const auto& [arguments, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--set", "nope=1"}, "nope is not a parameter; there are developer_chain, epoch_blocks"},
             {{"--set", "epoch_blocks"}, "NAME=VALUE"},
             {{"--set", "epoch_blocks=x"}, "x is no value"},
             {{"--set", "epoch_blocks=0"}, "epoch_blocks must be from 1 to 1000000000"},
             {{"--price", "0"}, "--price"},
             {{"--price", "many"}, "--price"},
             {{"--stake", "much"}, "--stake"},
             {{"--segments", "0"}, "--segments"},
             {{"--auditors", "6"}, "--auditors"},
             {{"--audit-bp", "0"}, "no stake is enough"},
             {{"--audit-bp", "10001"}, "--audit-bp"},
             {{"--cost-bp", "10001"}, "--cost-bp"},
             {{"--verifiers", "0"}, "--verifiers"},
             {{"--simulate", "1000001"}, "--simulate"}}) {
        const Said said = econ(arguments);
        EXPECT_EQ(said.code, 2) << arguments[0];
        EXPECT_THAT(said.err, HasSubstr(words)) << arguments[0];
        EXPECT_EQ(said.out, "");
    }
    EXPECT_EQ(econ({"--segments", "many"}).code, 2);
}

}  // namespace
}  // namespace retrace::node
