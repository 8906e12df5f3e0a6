// SPDX-License-Identifier: MIT
#include "kernels/offload/scratch_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <numeric>

#include "kernels/offload/disk_speed.hpp"
#include "kernels/runtime/pages.hpp"
#include "tests/unit/kernels/offload/open_again.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 5 << 20;

struct Opened {
    ScratchFile file = *ScratchFile::open(::testing::TempDir(), 2 * kBytes);
    Pages memory = take_pages(kBytes);
    std::uint8_t* data() const { return memory.get(); }
};

TEST(ScratchFile, ReadsWhatWasWritten) {
    Opened opened;
    std::iota(opened.data(), opened.data() + kBytes, std::uint8_t{7});
    const std::vector<std::uint8_t> kept(opened.data(), opened.data() + kBytes);
    ASSERT_TRUE(opened.file.write(kBytes, opened.data(), kBytes));
    std::fill_n(opened.data(), kBytes, std::uint8_t{0});
    ASSERT_TRUE(opened.file.read(kBytes, opened.data(), kBytes));
    EXPECT_TRUE(std::equal(kept.begin(), kept.end(), opened.data()));
}

TEST(ScratchFile, HasNoNameAndIsPrivate) {
    const auto entries = [] {
        const std::filesystem::directory_iterator all(::testing::TempDir());
        return std::count_if(begin(all), end(all), [](const auto& entry) {
            return entry.path().filename().string().starts_with("offload-");
        });
    };
    const auto before = entries();
    const Opened opened;
    EXPECT_EQ(entries(), before);
}

TEST(ScratchFile, RefusesWhatChangedOnDisk) {
    Opened opened;
    std::fill_n(opened.data(), kBytes, std::uint8_t{1});
    ASSERT_TRUE(opened.file.write(0, opened.data(), kBytes));
    const int other = testing::open_again(2 * kBytes);
    ASSERT_GE(other, 0);
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{1 << 20}, kBytes - 1}) {
        const std::uint8_t wrong = 3, right = 1;
        ASSERT_EQ(::pwrite(other, &wrong, 1, static_cast<off_t>(at)), 1);
        ASSERT_EQ(::fsync(other), 0);
        const auto read = opened.file.read(0, opened.data(), kBytes);
        ASSERT_FALSE(read) << at;
        EXPECT_THAT(read.error().message, HasSubstr("(damaged)"));
        ASSERT_EQ(::pwrite(other, &right, 1, static_cast<off_t>(at)), 1);
        ASSERT_EQ(::fsync(other), 0);
        EXPECT_TRUE(opened.file.read(0, opened.data(), kBytes));
    }
    ::close(other);
}

TEST(ScratchFile, RefusesWhatWasNotWritten) {
    const Opened opened;
    const auto read = opened.file.read(0, opened.data(), kBytes);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("(damaged)"));
}

TEST(ScratchFile, ADiskWithoutRoomIsRefusedBeforeItIsFull) {
    const std::uint64_t free = std::filesystem::space(::testing::TempDir()).available;
    const auto full = ScratchFile::open(::testing::TempDir(), 2 * free + (1 << 30));
    ASSERT_FALSE(full);
    EXPECT_THAT(full.error().message, HasSubstr("(disk_full)"));
}

TEST(ScratchFile, AProcessThatMayNotWriteSoMuchIsToldSo) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit little{kBytes, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto refused = ScratchFile::open(::testing::TempDir(), kBytes + 1);  // A write would end this process.
    const auto fits = ScratchFile::open(::testing::TempDir(), kBytes);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message,
                HasSubstr("may write " + std::to_string(kBytes) + " (ulimit -f, disk_failed)"));
    EXPECT_TRUE(fits);
}

TEST(ScratchFolder, HasTheFilesThatWereOpenedBeforeAndNoOthers) {
    ScratchFolder folder = *ScratchFolder::opened(::testing::TempDir(), 2);
    const Opened opened;
    for (int i = 0; i < 2; ++i) {
        auto file = folder.make(kBytes);
        ASSERT_TRUE(file) << file.error().message;
        ASSERT_TRUE(file->write(0, opened.data(), kBytes));
        EXPECT_TRUE(file->read(0, opened.data(), kBytes));
    }
    const auto third = folder.make(kBytes);
    ASSERT_FALSE(third);
    EXPECT_THAT(third.error().message, HasSubstr("(disk_failed)"));
}

TEST(DiskSpeed, IsMeasured) {
    const auto speed = measure_disk(::testing::TempDir());
    ASSERT_TRUE(speed) << speed.error().message;
    EXPECT_GT(speed->read, 0);
    EXPECT_GT(speed->written, 0);
}

}  // namespace
}  // namespace retrace::kernels
