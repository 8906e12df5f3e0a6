// SPDX-License-Identifier: MIT
// Tensors that are shown in a state, and everything that may be wrong about them.
#include "verifier/game/public_leaves.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace retrace::verifier {
namespace {

using Numbers = std::vector<std::uint32_t>;

Hash32 root_of_number(std::uint8_t n) {
    Hash32 root;
    std::fill_n(root.data(), Hash32::size(), static_cast<std::uint8_t>(n + 1));
    return root;
}

class Shown : public ::testing::Test {
protected:
    Shown() {
        std::vector<Hash32> roots;
        for (std::uint8_t i = 0; i < kTensors; ++i) roots.push_back(root_of_number(i));
        state_ = kernels::commit_roots(root_of_number(100), 77, roots);
        program_.states = kTensors;
        program_.op_tree = root_of_number(101);
    }
    PublicLeaves make(const Numbers& tensors) const { return make_public_leaves(state_, program_, tensors); }
    bool holds(const PublicLeaves& shown, const Numbers& tensors) const {
        return shows(shown, state_.root, tensors, program_.root());
    }

    static constexpr std::uint32_t kTensors = 11;
    kernels::StateCommitment state_;
    kernels::ProgramHeader program_;
};

TEST_F(Shown, EverySetOfTensorsIsProved) {
    for (std::uint32_t set = 1; set < 1u << kTensors; ++set) {
        Numbers tensors;
        for (std::uint32_t i = 0; i < kTensors; ++i)
            if (set >> i & 1) tensors.push_back(i);
        const PublicLeaves shown = make(tensors);
        EXPECT_TRUE(holds(shown, tensors)) << set;
        const auto decoded = decode_public_leaves(encode(shown));
        ASSERT_TRUE(decoded.has_value()) << set;
        EXPECT_EQ(*decoded, shown) << set;
    }
}

TEST_F(Shown, AWrongLeafIsRefused) {
    for (std::size_t i = 0; i < 3; ++i) {
        PublicLeaves shown = make({0, 1, 7});
        shown.leaves[i].data()[31] ^= 1;
        EXPECT_FALSE(holds(shown, {0, 1, 7})) << i;
    }
}

TEST_F(Shown, AnotherNumberOfTensorsIsRefused) {
    PublicLeaves shown = make({0, 1, 7});
    EXPECT_FALSE(holds(shown, {0, 1}));
    EXPECT_FALSE(holds(shown, {0, 1, 7, 8}));
    EXPECT_FALSE(holds(shown, {}));
    shown.leaves.clear();
    EXPECT_FALSE(holds(shown, {}));
    shown = make({0, 1, 7});
    shown.leaves.push_back(root_of_number(8));
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
}

TEST_F(Shown, OtherTensorsAndAnotherOrderAreRefused) {
    EXPECT_FALSE(holds(make({0, 1, 7}), {0, 1, 8}));
    EXPECT_FALSE(holds(make({0, 1, 7}), {1, 0, 7}));
    EXPECT_FALSE(holds(make({0, 1, 7}), {0, 1, kTensors}));
    PublicLeaves shown = make({0, 1, 7});
    std::swap(shown.leaves[0], shown.leaves[1]);
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
}

TEST_F(Shown, AnotherHeaderIsRefused) {
    PublicLeaves shown = make({0, 1, 7});
    ++shown.header.step;
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
    EXPECT_FALSE(shows(make({0, 1, 7}), root_of_number(3), Numbers{0, 1, 7}, program_.root()));
}

TEST_F(Shown, AnotherProgramIsRefused) {
    PublicLeaves shown = make({0, 1, 7});
    EXPECT_FALSE(shows(shown, state_.root, Numbers{0, 1, 7}, root_of_number(3)));
    shown.program.states = kTensors + 1;
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
}

/// The tree of a dishonest state has one more leaf, so that tensor 10 lies elsewhere than where a game looks for it.
TEST_F(Shown, AStateWithAnotherNumberOfTensorsShowsNone) {
    std::vector<Hash32> leaves;
    for (std::uint8_t i = 0; i <= kTensors; ++i) leaves.push_back(kernels::state_leaf(i, root_of_number(i)));
    const merkle::TileTree tree(leaves);
    PublicLeaves shown{state_.header, program_, {root_of_number(10)}, tree.prove(std::vector<std::uint64_t>{10})};
    shown.header.tree_root = tree.root();
    EXPECT_FALSE(shows(shown, shown.header.root(), Numbers{10}, program_.root()));
}

TEST_F(Shown, ProofsWithMoreOrFewerHashesAreRefused) {
    PublicLeaves shown = make({0, 1, 7});
    shown.proof.siblings.push_back(root_of_number(0));
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
    shown.proof.siblings.resize(shown.proof.siblings.size() - 2);
    EXPECT_FALSE(holds(shown, {0, 1, 7}));
}

TEST_F(Shown, DamagedBytesDoNotDecode) {
    const Bytes bytes = encode(make({0, 1, 7}));
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_FALSE(decode_public_leaves(View(bytes.data(), size)).has_value()) << size;
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(decode_public_leaves(longer).error(), CodecError::trailing);
    EXPECT_EQ(decode_public_leaves(Bytes(kPublicLeavesBytesMax + 1)).error(), CodecError::too_long);
    PublicLeaves many = make({0});
    many.leaves.resize(kPublicLeavesMax + 1);
    EXPECT_EQ(decode_public_leaves(encode(many)).error(), CodecError::too_long);
}

}  // namespace
}  // namespace retrace::verifier
