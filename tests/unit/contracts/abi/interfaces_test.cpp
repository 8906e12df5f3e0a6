// SPDX-License-Identifier: MIT
// The committed interface files agree with the tables.
#include "contracts/interfaces.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace retrace::abi {
namespace {

std::string read(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}
const std::string kFolder = std::string(RETRACE_VECTORS) + "/../../contracts/abi/";

TEST(Interfaces, CommittedFilesAreUpToDate) {
    // RETRACE_WRITE_ABI=1 rewrites them after an intended change.
    const bool write = std::getenv("RETRACE_WRITE_ABI") != nullptr;
    for (const auto contract : contracts::kContracts) {
        const std::string name(contracts::interface_name(contract));
        for (const auto& [path, text] : {std::pair{kFolder + name + ".json", abi_json(contract)},
                                         std::pair{kFolder + name + ".sol", solidity(contract)}}) {
            if (write) std::ofstream(path) << text;
            EXPECT_EQ(read(path), text) << path;
        }
    }
}

TEST(Interfaces, TheJsonIsJsonAndNamesEveryParameter) {
    for (const auto contract : contracts::kContracts) {
        const auto entries = boost::json::parse(abi_json(contract)).as_array();
        EXPECT_GT(entries.size(), 3u);
        for (const auto& entry : entries) {
            EXPECT_FALSE(entry.at("name").as_string().empty());
            for (const auto& input : entry.at("inputs").as_array()) EXPECT_FALSE(input.at("name").as_string().empty());
        }
    }
}

}  // namespace
}  // namespace retrace::abi
