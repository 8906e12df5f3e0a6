// SPDX-License-Identifier: MIT
// A task small enough for unit tests: an MLP on 64 made-up samples, with its artifacts in memory.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "kernels/builder/training.hpp"
#include "kernels/commit/contract.hpp"
#include "solver/agent/task_cache.hpp"

namespace retrace::test {

/// Serves everything that a test put into it, by root.
class MemorySource final : public solver::ArtifactSource {
public:
    std::map<Hash32, Bytes> programs;
    std::map<Hash32, solver::StateRoots> states;
    std::map<Hash32, kernels::Tensor> tensors;

    Result<Bytes> program(const Hash32& root, std::uint64_t) override { return find(programs, root); }
    Result<solver::StateRoots> state(const Hash32& root) override { return find(states, root); }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord&) override {
        return find(tensors, root);
    }

    void put(const kernels::StateCommitment& commitment, const kernels::State& state) {
        states[commitment.root] = {commitment.header, commitment.tensor_roots};
        for (std::size_t i = 0; i < state.tensors.size(); ++i) tensors[commitment.tensor_roots[i]] = state.tensors[i];
    }

private:
    template <class T>
    static Result<T> find(const std::map<Hash32, T>& where, const Hash32& root) {
        const auto found = where.find(root);
        if (found == where.end()) return error("nobody serves " + to_hex(view(root)));
        return found->second;
    }
};

/// A directory that is removed with its contents on destruction.
struct TemporaryDirectory {
    std::filesystem::path path;
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "retrace-test-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        path = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

struct TinyTask {
    kernels::ThreadPool pool{1};
    MemorySource source;
    solver::TaskTerms terms;
    kernels::CommittedProgram train, init;
    std::vector<kernels::Tensor> data;

    explicit TinyTask(std::uint64_t steps = 10, std::uint64_t interval = 4, std::uint64_t hidden = 9)
        : TinyTask(programs(steps, hidden), steps, interval) {}

    kernels::Inputs inputs() const {
        kernels::Inputs inputs{terms.seed, {}};
        for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
        return inputs;
    }
    kernels::State initial() { return kernels::run_initialiser(init.program(), terms.seed, pool); }

private:
    static kernels::TrainingPrograms programs(std::uint64_t steps, std::uint64_t hidden) {
        kernels::ModelSpec model;
        model.hidden = {hidden};
        model.input = {1, 5, 7};
        model.classes = 3;
        kernels::TrainingSpec training;
        training.samples = 64;
        training.batch = 8;
        training.steps = steps;
        auto built = kernels::build_training(model, training, 64, 8);
        EXPECT_TRUE(built.has_value()) << (built ? "" : built.error().message);
        return std::move(built).value();
    }

    TinyTask(kernels::TrainingPrograms built, std::uint64_t steps, std::uint64_t interval)
        : train(std::move(built.train)), init(std::move(built.init)) {
        source.programs[train.root()] = kernels::encode(train.program());
        source.programs[init.root()] = kernels::encode(init.program());
        std::uint32_t random = 1;
        for (std::uint32_t i = 0; i < train.program().datasets; ++i) {
            const auto& record = train.program().tensors[train.program().states + train.program().constants + i];
            kernels::Tensor tensor = kernels::zeros(record.dtype, record.dims);
            for (std::uint8_t& byte : tensor.data) {
                random = random * 1664525u + 1013904223u;
                byte = static_cast<std::uint8_t>(i == 1 ? (random >> 24) % 3 : random >> 24);  // 1: labels below 3.
            }
            const Hash32 root = kernels::tensor_root(tensor, pool);
            terms.data_roots.push_back(root);
            source.tensors[root] = tensor;
            data.push_back(std::move(tensor));
        }
        terms.id = 5;
        terms.program_root = train.root();
        terms.program_bytes = source.programs[train.root()].size();
        terms.init_root = init.root();
        terms.schedule = {steps, interval};
        terms.seed = 42;
        terms.contract = kernels::contract_hash();
    }
};

}  // namespace retrace::test
