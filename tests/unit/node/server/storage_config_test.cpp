// SPDX-License-Identifier: MIT
// Configuration of the data that a node keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/server/open_chain.hpp"

namespace retrace::node {
namespace {

using testing::HasSubstr;

Config with(std::string_view toml) {
    Config config;
    config.data_dir = "somewhere";
    const auto parsed = parse_config(toml, "test.toml", config);
    EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
    return config;
}

TEST(StorageConfig, BecomesTheChainsWindows) {
    EXPECT_EQ(chain_options(with("")).state_window, 1024U);
    EXPECT_EQ(chain_options(with("")).block_window, 0U) << "all blocks";
    const Config pruned = with("[storage]\nkeep_states = 200\nkeep_blocks = 5000\n");
    EXPECT_TRUE(check(pruned).has_value());
    EXPECT_EQ(chain_options(pruned).state_window, 200U);
    EXPECT_EQ(chain_options(pruned).block_window, 5000U);
    const Config archive = with("[storage]\narchive = true\n");
    EXPECT_TRUE(check(archive).has_value());
    EXPECT_EQ(chain_options(archive).state_window, ~std::uint64_t{0});
    EXPECT_EQ(chain_options(archive).block_window, 0U);
}

TEST(StorageConfig, RefusesWhatCannotBe) {
    Config config;
    EXPECT_FALSE(parse_config("[storage]\nkeep_states = 5\n", "test.toml", config).has_value())
        << "wallets ask for states that are 20 seconds old";
    EXPECT_FALSE(parse_config("[storage]\nkeep = 5\n", "test.toml", config).has_value());
    EXPECT_THAT(check(with("[storage]\nkeep_blocks = 100\n")).error().message,
                HasSubstr("at least storage.keep_states"));
    EXPECT_THAT(check(with("[storage]\nkeep_blocks = 5000\narchive = true\n")).error().message,
                HasSubstr("keeps everything"));
}

}  // namespace
}  // namespace retrace::node
