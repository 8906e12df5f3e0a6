// SPDX-License-Identifier: MIT
#include "ledger/mempool/journal.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <new>

#include "tests/unit/ledger/temp_dir.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::TempDir;

TxPtr make(std::uint64_t nonce) { return sign_tx(test::transfer(nonce, test::number(1), 1), test::key(0)); }

std::vector<Bytes> recovered(const std::string& path) { return MempoolJournal::open(path).value()->take_recovered(); }

TEST(Journal, FindsAgainWhatWasAppended) {
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

TEST(Journal, ATornOrDamagedTailIsCutOffAtEveryByte) {
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

TEST(Journal, RewriteKeepsWhatWaits) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        for (std::uint64_t nonce = 0; nonce < 5; ++nonce) ASSERT_TRUE(journal->append(*make(nonce)));
        ASSERT_TRUE(journal->rewrite([] { return std::vector{make(4)}; }));
        ASSERT_TRUE(journal->append(*make(5)));
        EXPECT_FALSE(journal->wants_rewrite(0)) << "small files are left alone";
    }
    const auto found = recovered(path);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0], make(4)->raw);
    EXPECT_EQ(found[1], make(5)->raw);
}

TEST(Journal, WhatIsAppendedDuringARewriteIsKept) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->rewrite([&] {
            EXPECT_TRUE(journal->append(*make(1))) << "and waits for nothing";
            return std::vector{make(0)};
        }));
        ASSERT_TRUE(journal->append(*make(2)));
        std::filesystem::copy_file(path, path + ".copy");
        EXPECT_EQ(recovered(path + ".copy").size(), 3U);
        ASSERT_TRUE(journal->rewrite([&] { return std::vector{make(0), make(1), make(2)}; }));
    }
    EXPECT_EQ(recovered(path).size(), 3U) << "once each: the next rewrite begins anew";
}

TEST(Journal, WhatWasGivenUpDoesNotComeBack) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        for (std::uint64_t nonce = 0; nonce < 4; ++nonce) ASSERT_TRUE(journal->append(*make(nonce)));
        ASSERT_TRUE(journal->forget({make(1), make(2)}));
        ASSERT_TRUE(journal->append(*make(2))) << "was sent again";
        ASSERT_TRUE(journal->append(*make(4)));
    }
    EXPECT_EQ(recovered(path), (std::vector<Bytes>{make(0)->raw, make(3)->raw, make(2)->raw, make(4)->raw}));
}

TEST(Journal, WhatIsGivenUpDuringARewriteDoesNotComeBack) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*make(0)));
        ASSERT_TRUE(journal->rewrite([&] {
            EXPECT_TRUE(journal->forget({make(0)}));
            EXPECT_TRUE(journal->append(*make(1)));
            return std::vector{make(0)};
        }));
    }
    EXPECT_EQ(recovered(path), std::vector<Bytes>{make(1)->raw});
}

TEST(Journal, ATornRecordOfWhatWasGivenUpIsCutOff) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*make(0)));
        ASSERT_TRUE(journal->forget({make(0)}));
    }
    const auto whole = std::filesystem::file_size(path);
    for (auto size = whole - 40; size < whole; ++size) {
        const std::string copy = dir.path() + "/copy";
        std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(copy, size);
        ASSERT_EQ(recovered(copy).size(), 1U) << size;
        ASSERT_EQ(std::filesystem::file_size(copy), whole - 40);
    }
    EXPECT_TRUE(recovered(path).empty());
}

TEST(Journal, AsksToBeRewrittenWhenItHasGrownThoughNoBlockComes) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    const auto journal = MempoolJournal::open(path).value();
    Transaction tx = test::transfer(0, test::number(1), 1);
    tx.data = Bytes(100'000);
    const TxPtr large = sign_tx(tx, test::key(0));
    const auto fill = [&] {
        int appended = 0;
        for (; appended < 1000 && !journal->has_grown(large->raw.size()); ++appended)
            if (!journal->append(*large)) break;
        return appended;
    };
    EXPECT_EQ(fill(), 44) << "4 MiB and twice what waits";
    EXPECT_THROW((void)journal->rewrite([]() -> std::vector<TxPtr> { throw std::bad_alloc(); }), std::bad_alloc);
    EXPECT_GE(fill(), 40) << "after a failure not at each append";
    ASSERT_TRUE(journal->rewrite([&] { return std::vector{large}; }));
    EXPECT_EQ(fill(), 43);
}

/// Simulates a full disk: files of this process cannot grow further while this exists.
class FullDisk {
public:
    explicit FullDisk(std::uintmax_t file_bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{file_bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, signal_);
    }

private:
    rlimit before_{};
    void (*signal_)(int) = ::signal(SIGXFSZ, SIG_IGN);
};

TEST(Journal, AnAppendThatFailsHalfWayLeavesNothingThatHidesTheNext) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*make(0)));
        {
            const FullDisk disk(std::filesystem::file_size(path) + 20);
            ASSERT_FALSE(journal->append(*make(1)));
        }
        ASSERT_TRUE(journal->append(*make(2)));
        EXPECT_TRUE(journal->wants_rewrite(1U << 20)) << "for the one that is missing";
    }
    EXPECT_EQ(recovered(path), (std::vector<Bytes>{make(0)->raw, make(2)->raw}));
}

TEST(Journal, ARewriteThatFailsChangesNothingAndIsTriedAgainEverLater) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    const auto all = [] { return std::vector{make(0), make(1)}; };
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*make(0)));
        for (const unsigned pause : {1U, 2U, 4U}) {
            {
                const FullDisk disk(std::filesystem::file_size(path) + 20);
                ASSERT_FALSE(journal->append(*make(1)));
                ASSERT_FALSE(journal->rewrite(all));
            }
            EXPECT_FALSE(std::filesystem::exists(path + ".new")) << "what it wrote would keep the disk full";
            for (unsigned block = 0; block < pause; ++block) EXPECT_FALSE(journal->wants_rewrite(0));
            EXPECT_TRUE(journal->wants_rewrite(0));
        }
        ASSERT_TRUE(journal->append(*make(2)));
        EXPECT_EQ(std::filesystem::file_size(path), 2 * (8 + make(0)->raw.size())) << "still the old one";
        ASSERT_TRUE(journal->rewrite(all));
        EXPECT_FALSE(journal->wants_rewrite(0)) << "nothing is missing any more";
    }
    EXPECT_EQ(recovered(path).size(), 2U);
}

TEST(Journal, ARewriteThatThrowsChangesNothingAndIsTriedAgainLater) {
    const TempDir dir;
    const std::string path = dir.path() + "/pool";
    {
        const auto journal = MempoolJournal::open(path).value();
        ASSERT_TRUE(journal->append(*make(0)));
        {
            const FullDisk disk(std::filesystem::file_size(path) + 20);
            ASSERT_FALSE(journal->append(*make(1)));
        }
        const auto no_memory = []() -> std::vector<TxPtr> { throw std::bad_alloc(); };
        EXPECT_THROW((void)journal->rewrite(no_memory), std::bad_alloc);
        EXPECT_FALSE(journal->wants_rewrite(0)) << "not at once";
        EXPECT_TRUE(journal->wants_rewrite(0));
        ASSERT_TRUE(journal->append(*make(1)));
        std::filesystem::copy_file(path, path + ".copy");
        EXPECT_EQ(recovered(path + ".copy").size(), 2U);
        ASSERT_TRUE(journal->rewrite([] { return std::vector{make(2)}; }));
    }
    EXPECT_EQ(std::filesystem::file_size(path), 8 + make(2)->raw.size());
}

TEST(Journal, APathThatCannotBeOpenedIsNamed) {
    const auto journal = MempoolJournal::open("/proc/nothing/pool");
    ASSERT_FALSE(journal);
    EXPECT_NE(journal.error().message.find("/proc/nothing/pool"), std::string::npos);
}

}  // namespace
}  // namespace retrace::ledger
