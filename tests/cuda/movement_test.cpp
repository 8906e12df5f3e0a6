// SPDX-License-Identifier: MIT
// Copies of boxes on the emulated device: every element arrives, whatever the order of the axes, and no other is written.
#include "tests/cuda/emulation/cuda.hpp"
//
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::kernels::cuda {
namespace {

TEST(Divisors, GiveTheQuotientOfEveryNumberBelowTheirLimit) {
    std::mt19937 random(31);
    const std::uint32_t most = static_cast<std::uint32_t>(kShortLimit) - 1;
    std::vector<std::uint32_t> divisors = {1,   2,     3,     5,     7,        31,       32,  33,
                                           641, 65535, 65536, 65537, most / 2, most - 1, most};
    for (int i = 0; i < 2000; ++i) divisors.push_back(1 + (random() & most) % (most >> random() % 31));
    for (const std::uint32_t d : divisors) {
        const Divisor<std::uint32_t> divisor(d);
        std::vector<std::uint32_t> numbers = {0, 1, d - 1, d, most, most - 1};
        for (int i = 0; i < 50; ++i) {
            const std::uint32_t n = random() & most,
                                whole = n / d * d;  // Just below a multiple is where rounding fails.
            for (const std::uint32_t near : {n, whole, whole - 1, whole + d - 1}) {
                if (near <= most) numbers.push_back(near);
            }
        }
        for (const std::uint32_t n : numbers) ASSERT_EQ(divisor.quotient(n), n / d) << n << " by " << d;
    }
}

/// A box of these extents, in the axes' order in the source and in another order in the target, with `gap` elements
/// between rows.
BoxCopy box_of(const std::vector<std::uint64_t>& extents, const std::vector<std::uint32_t>& order, std::uint64_t gap) {
    BoxCopy box;
    box.rank = static_cast<std::uint32_t>(extents.size());
    std::uint64_t from = 1, to = 1;
    for (std::uint32_t i = box.rank; i-- > 0;) {
        box.extent[order[i]] = extents[order[i]];
        box.to_stride[order[i]] = to;
        to *= extents[order[i]];
        to += i + 1 == box.rank ? gap : 0;
        box.from_stride[i] = from;
        from *= extents[i];
        from += i + 1 == box.rank ? gap : 0;
    }
    box.from = 8 * gap;
    box.to = 4 * gap;
    return box;
}

/// Copies elements that are their own numbers, and compares the whole target.
template <class T>
void expect_copied(const BoxCopy& box, const std::string& what) {
    std::uint64_t elements = 1, last_from = box.from, last_to = box.to;
    for (std::uint32_t i = 0; i < box.rank; ++i) {
        elements *= box.extent[i];
        last_from += (box.extent[i] - 1) * box.from_stride[i];
        last_to += (box.extent[i] - 1) * box.to_stride[i];
    }
    std::vector<T> want(last_to + 65, T{0x55});
    Memory from = *Memory::take((last_from + 1) * sizeof(T)), to = *Memory::take(want.size() * sizeof(T));
    T* const source = reinterpret_cast<T*>(from.data());
    T* const target = reinterpret_cast<T*>(to.data());
    for (std::uint64_t i = 0; i <= last_from; ++i) source[i] = static_cast<T>(i * 2654435761u);
    std::copy(want.begin(), want.end(), target);
    for (std::uint64_t element = 0; element < elements; ++element) {
        std::uint64_t rest = element, at = box.from, put = box.to;
        for (std::uint32_t i = box.rank; i-- > 0; rest /= box.extent[i]) {
            at += rest % box.extent[i] * box.from_stride[i];
            put += rest % box.extent[i] * box.to_stride[i];
        }
        want[put] = source[at];
    }
    copy_box(nullptr, sizeof(T), box, from.data(), to.data());
    EXPECT_TRUE(std::equal(want.begin(), want.end(), target)) << what << ", elements of " << sizeof(T) << " bytes";
}

void expect_copied_in_every_order(const std::vector<std::uint64_t>& extents, std::uint64_t gap) {
    std::vector<std::uint32_t> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    do {
        std::string what = "extents";
        for (const std::uint64_t extent : extents) what += ' ' + std::to_string(extent);
        what += ", order";
        for (const std::uint32_t axis : order) what += ' ' + std::to_string(axis);
        expect_copied<std::uint32_t>(box_of(extents, order, gap), what);
        expect_copied<std::uint8_t>(box_of(extents, order, gap), what);
    } while (std::next_permutation(order.begin(), order.end()));
}

class Movement : public ::testing::TestWithParam<emulation::Order> {
protected:
    Movement() {
        emulation::device = {};
        emulation::settings = {};
        emulation::settings.order = GetParam();
        emulation::settings.blocks_across = 5;  // Some blocks of the last row have nothing to do.
    }
    ~Movement() override { emulation::settings = {}, emulation::device = {}; }
};

TEST_P(Movement, BoxesWithTheirAxesInAnyOrder) {
    expect_copied_in_every_order({}, 0);
    for (const std::uint64_t gap : {0, 1, 4}) {
        expect_copied_in_every_order({37}, gap);
        expect_copied_in_every_order({33, 70}, gap);
        expect_copied_in_every_order({3, 9, 40}, gap);
        expect_copied_in_every_order({2, 8, 3, 16}, gap);
        expect_copied_in_every_order({12, 1, 4, 8}, gap);
    }
    expect_copied_in_every_order({2, 3, 2, 2, 9, 8}, 0);
}

TEST_P(Movement, ABoxWithoutElementsIsNotCopied) {
    Memory to = *Memory::take(64);
    std::fill_n(to.data(), 64, std::uint8_t{7});
    copy_box(nullptr, 4, box_of({3, 0, 5}, {2, 0, 1}, 0), to.data(), to.data());
    EXPECT_THAT(std::vector<int>(to.data(), to.data() + 64), ::testing::Each(7));
}

INSTANTIATE_TEST_SUITE_P(Threads, Movement,
                         ::testing::Values(emulation::Order::ascending, emulation::Order::descending));

}  // namespace
}  // namespace retrace::kernels::cuda
