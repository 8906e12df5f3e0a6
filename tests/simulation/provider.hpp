// SPDX-License-Identifier: MIT
#pragma once

#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/rounds/message_store.hpp"

namespace retrace::sim {

/// Serves a party's checkpoints and messages to others.
class StoreProvider final : public solver::ArtifactSource {
public:
    StoreProvider(const solver::CheckpointStore& store, kernels::ThreadPool& pool,
                  const solver::MessageStore* messages = nullptr)
        : store_(store), messages_(messages), pool_(pool) {}
    Result<Bytes> program(const Hash32&, std::uint64_t) override { return error("programs are at the node"); }
    Result<solver::StateRoots> state(const Hash32& root) override {
        const auto found = store_.state(root);
        if (!found) return error("no such state here");
        return *found;
    }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord&) override {
        return store_.tensor(root, pool_);
    }
    Result<kernels::Tensor> message_tensor(const Hash32& root, const kernels::TensorRecord& record, std::uint64_t,
                                           std::uint32_t) override {
        if (messages_ == nullptr) return error("no messages here");
        return messages_->tensor(root, record, pool_);
    }

private:
    const solver::CheckpointStore& store_;
    const solver::MessageStore* messages_;
    kernels::ThreadPool& pool_;
};

}  // namespace retrace::sim
