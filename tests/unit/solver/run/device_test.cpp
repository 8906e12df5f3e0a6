// SPDX-License-Identifier: MIT
#include "solver/run/device.hpp"

#include <gmock/gmock.h>

namespace retrace::solver {
namespace {

TEST(DeviceChoice, HasThreeNames) {
    EXPECT_EQ(parse_device("cpu"), DeviceChoice::cpu);
    EXPECT_EQ(parse_device("cuda"), DeviceChoice::cuda);
    EXPECT_EQ(parse_device("auto"), DeviceChoice::automatic);
    for (const char* name : {"", "CPU", "gpu", "cuda ", "automatic"}) EXPECT_FALSE(parse_device(name)) << name;
}

TEST(DeviceChoice, TheCpuIsAlwaysThereAndCudaIsRefusedByName) {
    EXPECT_TRUE(check_device(DeviceChoice::cpu));
    EXPECT_TRUE(check_device(DeviceChoice::automatic));
    const auto cuda = check_device(DeviceChoice::cuda);
    // In a build with CUDA, on a machine with a device, the call succeeds.
    if (!cuda) {
        EXPECT_THAT(cuda.error().message, ::testing::HasSubstr("no CUDA"));
    }
    EXPECT_EQ(*open_device(DeviceChoice::cpu, kernels::Program{}), nullptr);
}

}  // namespace
}  // namespace retrace::solver
