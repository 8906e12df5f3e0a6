// SPDX-License-Identifier: MIT
#include "ledger/mempool/journal.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/ledger/temp_dir.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::TempDir;

TxPtr make(std::uint64_t nonce) {
    return sign_tx(test::transfer(nonce, test::number(1), 1), test::key(0));
}

std::vector<Bytes> recovered(const std::string& path) {
    return MempoolJournal::open(path).value()->take_recovered();
}

TEST(Journal, finds_again_what_was_appended) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        EXPECT_TRUE(journal->take_recovered().empty());
        for (std::uint64_t nonce = 0; nonce < 3; ++nonce) ASSERT_TRUE(journal->append(*make(nonce)));
    }
    const auto found = recovered(path);
    ASSERT_EQ(found.size(), 3U);
    for (std::uint64_t nonce = 0; nonce < 3; ++nonce) EXPECT_EQ(found[nonce], make(nonce)->raw);
    const auto mode = std::filesystem::status(path).permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(Journal, a_torn_or_damaged_tail_is_cut_off_at_every_byte) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        for (std::uint64_t nonce = 0; nonce < 2; ++nonce) ASSERT_TRUE(journal->append(*make(nonce)));
    }
    const auto whole = std::filesystem::file_size(path);
    const auto record = whole / 2;
    for (auto size = record; size < whole; ++size) {
        const std::string copy = dir.path() + "/copy";
        std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(copy, size);
        ASSERT_EQ(recovered(copy).size(), 1U) << size;
        ASSERT_EQ(std::filesystem::file_size(copy), record) << "new records follow the last good one";
    }
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(record) + 20);
    file.put('x');
    file.close();
    EXPECT_EQ(recovered(path).size(), 1U);
}

TEST(Journal, rewrite_keeps_what_waits) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        for (std::uint64_t nonce = 0; nonce < 5; ++nonce) ASSERT_TRUE(journal->append(*make(nonce)));
        const std::vector<TxPtr> waiting{make(4)};
        ASSERT_TRUE(journal->rewrite(waiting));
        ASSERT_TRUE(journal->append(*make(5)));
        EXPECT_FALSE(journal->wants_rewrite(0)) << "small files are left alone";
    }
    const auto found = recovered(path);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0], make(4)->raw);
    EXPECT_EQ(found[1], make(5)->raw);
}

TEST(Journal, a_path_that_cannot_be_opened_is_named) {
    const auto journal = MempoolJournal::open("/proc/nothing/pool");
    ASSERT_FALSE(journal);
    EXPECT_NE(journal.error().message.find("/proc/nothing/pool"), std::string::npos);
}

}  // namespace
}  // namespace retrace::ledger
