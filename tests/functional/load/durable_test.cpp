// SPDX-License-Identifier: MIT
// The data on disk after a file was written. This program replaces `fsync` by one that records its calls.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "merkle/base/durable_file.hpp"
#include "node/agents/sealed_bids.hpp"
#include "node/net/certificate.hpp"
#include "node/platform/data_dir.hpp"
#include "node/platform/permissions.hpp"
#include "node/wallet/key_folder.hpp"

namespace {

std::vector<std::string>& synced() {
    static std::vector<std::string> out;
    return out;
}

}  // namespace

extern "C" int fsync(int fd) {
    std::error_code ignored;
    synced().push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored).string());
    return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Durable : public testing::Test {
protected:
    Durable() {
        std::string name = (fs::temp_directory_path() / "retrace_durable_XXXXXX").string();
        folder_ = fs::canonical(::mkdtemp(name.data()));
        synced().clear();
    }
    ~Durable() override { fs::remove_all(folder_); }

    static bool is_synced(const fs::path& path) {
        return std::find(synced().begin(), synced().end(), path.string()) != synced().end();
    }
    static unsigned mode(const fs::path& path) {
        return static_cast<unsigned>(fs::status(path).permissions() & fs::perms::mask);
    }

    fs::path folder_;
};

TEST_F(Durable, AFileIsOnDiskWithItsName) {
    ASSERT_TRUE(write_durably(folder_ / "note", {view(std::string_view("text"))}, 0640).has_value());
    EXPECT_EQ(mode(folder_ / "note"), 0640U);
    ASSERT_EQ(synced().size(), 2U) << "its bytes before the rename, its name after it";
    EXPECT_NE(synced()[0], folder_.string());
    EXPECT_EQ(synced()[1], folder_.string());
    EXPECT_FALSE(write_durably(folder_ / "missing" / "note", {view(std::string_view("text"))}, 0640).has_value());
}

TEST_F(Durable, ANewFolderIsItsOwnersAlone) {
    ASSERT_TRUE(make_private_folder(folder_ / "a" / "b").has_value());
    EXPECT_EQ(mode(folder_ / "a" / "b"), 0700U);
    ASSERT_TRUE(write_durably(folder_ / "file", {view(std::string_view("x"))}, 0600).has_value());
    EXPECT_FALSE(make_private_folder(folder_ / "file" / "c").has_value());
}

TEST_F(Durable, WhatEarlierVersionsLeftOpenIsClosed) {
    fs::create_directories(folder_ / "agent" / "checkpoints");
    fs::permissions(folder_ / "agent", static_cast<fs::perms>(0755));
    ASSERT_TRUE(make_private_folder(folder_ / "agent").has_value());
    EXPECT_EQ(mode(folder_ / "agent"), 0700U) << "and with it everything below";

    fs::create_directory(folder_ / "node");
    fs::permissions(folder_ / "node", static_cast<fs::perms>(0755));
    ASSERT_TRUE(DataDir::open(folder_ / "node").has_value());
    EXPECT_EQ(mode(folder_ / "node"), 0755U) << "a node's certificate is for others: its owner's choice stays";

    const auto made = tls::self_signed(folder_ / "node", "");
    ASSERT_TRUE(made.has_value());
    fs::permissions(made->key, static_cast<fs::perms>(0644));
    EXPECT_THAT(tls::server_context(*made).error().message, HasSubstr(made->key + "; chmod o-rwx it"));
    fs::permissions(made->key, static_cast<fs::perms>(0640));
    EXPECT_TRUE(tls::server_context(*made).has_value()) << "a group may";
    ASSERT_TRUE(tls::self_signed(folder_ / "node", "").has_value());
    EXPECT_EQ(mode(made->key), 0600U) << "but not that of a node's own";

    const std::string absent = folder_ / "absent";
    EXPECT_THAT(close_to_others(absent).error().message, HasSubstr(absent));
}

/// The file may belong to another program, and its folder may be chosen by anyone: opening or listing it gives a
/// warning.
TEST_F(Durable, AKeystoreThatEverybodyMayReadIsNamedAndKeepsItsMode) {
    const auto keystore = folder_ / "keys" / "alice.json";
    fs::create_directory(folder_ / "keys");
    ASSERT_TRUE(write_durably(keystore, {view(std::string_view("{}"))}, 0644).has_value());
    EXPECT_FALSE(wallet::unlock(keystore, "").has_value());
    EXPECT_EQ(mode(keystore), 0644U) << "what is only read stays as its owner has it";
    EXPECT_THAT(warning_if_open(keystore).value_or(""), HasSubstr(keystore.string() + "; chmod o-rwx it"));
    fs::permissions(keystore, static_cast<fs::perms>(0640));
    EXPECT_FALSE(warning_if_open(keystore).has_value()) << "a group may";

    const auto key = ledger::SecretKey::random();
    const auto made = wallet::KeyFolder(folder_ / "own").add(key, "p", wallet::kLightScrypt);
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(mode(*made), 0600U);
    EXPECT_EQ(mode(folder_ / "own"), 0700U);
}

TEST_F(Durable, AFileThatLiesInTheWayIsNotWrittenThrough) {
    const fs::path key = folder_ / "key", stranger = folder_ / "stranger";
    ASSERT_TRUE(write_durably(stranger, {view(std::string_view("mine"))}, 0666).has_value());
    fs::create_symlink(stranger, unfinished_path(key));
    ASSERT_TRUE(write_durably(key, {view(std::string_view("secret"))}, 0600).has_value());
    EXPECT_EQ(read_file(stranger, 100).value(), to_bytes(view(std::string_view("mine"))));
    EXPECT_EQ(read_file(key, 100).value(), to_bytes(view(std::string_view("secret"))));
    EXPECT_FALSE(fs::is_symlink(key));
    EXPECT_EQ(mode(key), 0600U);
}

TEST_F(Durable, ASealedBidSurvivesACrashAndIsNobodyElses) {
    const SealedBids bids(folder_ / "bids");
    const SealedBid bid{ledger::U256{12345}, 77};
    ASSERT_TRUE(bids.remember(3, 1, bid).has_value());
    EXPECT_TRUE(is_synced(folder_ / "bids"));
    EXPECT_TRUE(is_synced(folder_)) << "the new folder's name";
    EXPECT_EQ(mode(folder_ / "bids"), 0700U);
    EXPECT_EQ(mode(folder_ / "bids" / "3-1"), 0600U);
    const auto recalled = SealedBids(folder_ / "bids").recall(3, 1);
    ASSERT_TRUE(recalled.has_value());
    EXPECT_EQ(recalled->price, bid.price);
    EXPECT_EQ(recalled->finish, bid.finish);
    EXPECT_FALSE(bids.recall(3, 2).has_value());
}

TEST_F(Durable, ABidThatCannotBeKeptIsNotMade) {
    ASSERT_TRUE(write_durably(folder_ / "bids", {view(std::string_view("a file in the way"))}, 0600).has_value());
    EXPECT_FALSE(SealedBids(folder_ / "bids").remember(3, 1, {ledger::U256{1}, 2}).has_value());
}

TEST_F(Durable, AFolderOfAnEarlierVersionIsClosed) {
    fs::create_directory(folder_ / "bids");
    fs::permissions(folder_ / "bids", static_cast<fs::perms>(0755));
    ASSERT_TRUE(SealedBids(folder_ / "bids").remember(3, 1, {ledger::U256{1}, 2}).has_value());
    EXPECT_EQ(mode(folder_ / "bids"), 0700U);
}

}  // namespace
}  // namespace retrace::node
