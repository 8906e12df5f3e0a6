// SPDX-License-Identifier: MIT
#include "kernels/offload/transfer_thread.hpp"

#include <gmock/gmock.h>

#include <new>

namespace retrace::kernels {
namespace {

TEST(TransferThread, AnExceptionOfATransferIsItsError) {
    OffloadPlan plan;
    plan.blocks.resize(1);
    plan.transfers.resize(2);
    int ran = 0;
    TransferThread transfers(plan, [&](const Transfer&, const OffloadBlock&) -> Status<> {
        ++ran;
        throw std::bad_alloc();
    });
    (void)transfers.wait_for(2);
    EXPECT_TRUE(transfers.failed());
    const auto stopped = transfers.stop();
    ASSERT_FALSE(stopped);
    EXPECT_THAT(stopped.error().message, ::testing::HasSubstr("a transfer of offloading: std::bad_alloc"));
    EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace retrace::kernels
