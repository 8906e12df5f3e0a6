// SPDX-License-Identifier: MIT
#include "solver/artifacts/group_artifacts.hpp"

#include <gtest/gtest.h>

#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::test {
namespace {

using namespace solver;

/// Sends messages of one tensor after another; of those of `liar` the last tensor is wrong.
class LyingAuthor : public ArtifactSource {
public:
    LyingAuthor(const std::vector<kernels::Tensor>& tensors, std::uint32_t liar) : tensors_(tensors), liar_(liar) {}
    Result<Bytes> program(const Hash32&, std::uint64_t) override { return error("no program"); }
    Result<StateRoots> state(const Hash32&) override { return error("no state"); }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord&) override {
        asked_alone.push_back(root);
        return error("it serves no tensor alone");
    }
    void messages(const std::vector<MessageRequest>& requests, const MessageRecords&,
                  const MessageArrived& arrived) override {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            std::vector<std::optional<kernels::Tensor>> out(tensors_.begin(), tensors_.end());
            if (requests[i].run == liar_) out.back().reset();
            arrived(i, std::move(out));
        }
    }
    std::vector<Hash32> asked_alone;

private:
    const std::vector<kernels::Tensor>& tensors_;
    const std::uint32_t liar_;
};

TEST(GroupArtifacts, NothingIsKeptOfAMessageWithAWrongTensor) {
    TinyGroup task{kernels::UpdateKind::sparse, 6};
    const CommittedPlan plan(task.plan);
    std::vector<kernels::Tensor> tensors;
    std::vector<Hash32> roots;
    for (const std::uint32_t number : plan.public_tensors()) {
        const kernels::TensorRecord& record = plan.states().tensors[number];
        tensors.push_back(kernels::zeros(record.dtype, record.dims));
        roots.push_back(kernels::tensor_root(tensors.back(), task.pool));
    }
    ASSERT_GE(tensors.size(), 2u);
    LyingAuthor source(tensors, 1);
    std::vector<std::pair<std::size_t, bool>> came;
    fetch_messages(source, plan, {{roots, 7, 0}, {roots, 7, 1}, {roots, 7, 2}}, task.pool,
                   [&](std::size_t place, const FetchedMessage& message) {
                       came.emplace_back(place, message.has_value());
                       return true;
                   });
    EXPECT_EQ(came, (std::vector<std::pair<std::size_t, bool>>{{0, true}, {2, true}, {1, false}}));
    ASSERT_FALSE(source.asked_alone.empty());
    EXPECT_EQ(source.asked_alone.front(), roots.front()) << "a right tensor of it, which was not kept";
}

}  // namespace
}  // namespace retrace::test
