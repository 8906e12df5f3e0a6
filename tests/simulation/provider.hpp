// SPDX-License-Identifier: MIT
#pragma once

#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::sim {

/// Serves a party's checkpoints to others.
class StoreProvider final : public solver::ArtifactSource {
public:
    StoreProvider(const solver::CheckpointStore& store, kernels::ThreadPool& pool) : store_(store), pool_(pool) {}
    Result<Bytes> program(const Hash32&, std::uint64_t) override { return error("programs are at the node"); }
    Result<solver::StateRoots> state(const Hash32& root) override {
        const auto found = store_.state(root);
        if (!found) return error("no such state here");
        return *found;
    }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord&) override {
        return store_.tensor(root, pool_);
    }

private:
    const solver::CheckpointStore& store_;
    kernels::ThreadPool& pool_;
};

}  // namespace retrace::sim
