// SPDX-License-Identifier: MIT
// A solver is killed permanently: its successor resumes from the last verified and kept checkpoint, with another
// machine's settings, and ends in the state of an undisturbed run. It uses real kernels, real files, and one process
// per machine, because a process chooses its instruction set once.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "kernels/runtime/dispatch.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/train/trainer.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

namespace fs = std::filesystem;
using solver::CheckpointKey;
using solver::CheckpointStore;

constexpr std::uint64_t kSteps = 30, kInterval = 4;
constexpr std::uint64_t kVerified = 2;      // The newest state that an auditor verified and keeps.
constexpr std::uint64_t kKilledAfter = 18;  // Two checkpoints later, in the middle of a segment.

/// Serves the checkpoints of a keeper's disk.
class ArtifactProvider final : public solver::ArtifactSource {
public:
    ArtifactProvider(const CheckpointStore& store, kernels::ThreadPool& pool) : store_(store), pool_(pool) {}
    Result<Bytes> program(const Hash32&, std::uint64_t) override { return error("not here"); }
    Result<solver::StateRoots> state(const Hash32& root) override {
        const auto found = store_.state(root);
        if (!found) return error("no such state");
        return *found;
    }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord&) override {
        return store_.tensor(root, pool_);
    }

private:
    const CheckpointStore& store_;
    kernels::ThreadPool& pool_;
};

std::unique_ptr<CheckpointStore> open_store(const fs::path& folder) {
    auto store = CheckpointStore::open(folder);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return std::move(store).value();
}

/// Trains to the end, saves every checkpoint in `store` and returns the last root. Dies after `die_after` steps if that
/// is not 0.
Hash32 train(TinyTask& task, kernels::State state, CheckpointStore& store, std::uint32_t run, kernels::ThreadPool& pool,
             kernels::Backend backend, std::uint64_t die_after = 0) {
    solver::ProgramRunner runner(task.train.program(), task.inputs(), pool, backend);
    solver::Trainer trainer(task.train, runner, task.terms.schedule, pool);
    Hash32 last;
    const auto done = trainer.run(
        state, task.terms.schedule.segments(),
        [&](const solver::Progress& progress) {
            if (progress.step == die_after) std::raise(SIGKILL);
            return true;
        },
        [&](std::uint64_t index, const kernels::StateCommitment& commitment, const kernels::State& reached) {
            last = commitment.root;
            return store.save({task.terms.id, run, index}, commitment, reached);
        });
    EXPECT_TRUE(done.has_value() && *done);
    return last;
}

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Body of the other processes of the tests below; does nothing when run by itself.
TEST(Recovery, WhatAnotherMachineDoes) {
    const fs::path folder = environment("RETRACE_RECOVERY_FOLDER");
    if (folder.empty()) return;
    TinyTask task(kSteps, kInterval);
    kernels::ThreadPool pool(static_cast<unsigned>(std::stoul(environment("RETRACE_RECOVERY_THREADS"))));
    if (environment("RETRACE_RECOVERY_ROLE") == "first") {
        const auto store = open_store(folder / "first");
        train(task, task.initial(), *store, 0, pool, kernels::Backend::cpu, kKilledAfter);
        FAIL() << "it was to be killed";
    }
    const bool reference = environment("RETRACE_RECOVERY_ROLE") == "reference";
    const auto keeper = open_store(folder / "keeper");
    ArtifactProvider provider(*keeper, pool);
    const auto kept = keeper->commitment({task.terms.id, 0, kVerified});
    ASSERT_TRUE(kept.has_value());
    auto state = solver::fetch_state(provider, task.train, kept->root, task.terms.schedule.step_of(kVerified), pool);
    ASSERT_TRUE(state.has_value()) << state.error().message;
    const auto store = open_store(folder / "successor");
    const Hash32 last = train(task, std::move(*state), *store, 1, pool,
                              reference ? kernels::Backend::reference : kernels::Backend::cpu);
    ASSERT_TRUE(store->forget(task.terms.id, 1).has_value());
    std::ofstream(folder / "final") << kernels::name_of(kernels::cpu_level()) << " " << to_hex(view(last));
}

/// Runs the test above in a new process and returns its exit status.
int start(const fs::path& folder, const std::string& role, std::string_view level, unsigned threads) {
    const std::string self = fs::read_symlink("/proc/self/exe");
    const std::string line = "exec env RETRACE_CPU=" + std::string(level) + " RETRACE_RECOVERY_ROLE=" + role +
                             " RETRACE_RECOVERY_THREADS=" + std::to_string(threads) + " RETRACE_RECOVERY_FOLDER='" +
                             folder.string() + "' '" + self + "' --gtest_filter=Recovery.WhatAnotherMachineDoes > '" +
                             (folder / "log").string() + "' 2>&1";
    return std::system(line.c_str());
}

class Killed : public ::testing::Test {
protected:
    /// The first solver dies; an auditor has replayed its first segments and keeps their end state.
    void SetUp() override {
        const auto own = open_store(directory.path / "undisturbed");
        undisturbed = train(task, task.initial(), *own, 0, task.pool, kernels::Backend::cpu);

        const int status = start(directory.path, "first", name_of(kernels::cpu_levels().back()), 2);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
        const auto first = open_store(directory.path / "first");
        const auto newest = first->newest(task.terms.id, 0, ~std::uint64_t{0});
        ASSERT_TRUE(newest.has_value());
        ASSERT_GT(newest->index, kVerified) << "it had gone on";

        const CheckpointKey key{task.terms.id, 0, kVerified};
        const auto said = first->commitment(key);
        const auto kept = own->commitment(key);
        ASSERT_TRUE(said && kept);
        ASSERT_EQ(said->root, kept->root) << "the auditor's replay agrees";
        auto state = own->load(key, task.pool);
        ASSERT_TRUE(state.has_value());
        const auto keeper = open_store(directory.path / "keeper");
        ASSERT_TRUE(keeper->save(key, *kept, *state).has_value());
        ASSERT_TRUE(keeper->retain(key, true).has_value());
        fs::remove_all(directory.path / "first");  // Permanently.
    }
    std::string end_of(const std::string& role, std::string_view level, unsigned threads) {
        std::error_code ignored;
        fs::remove(directory.path / "final", ignored);
        EXPECT_EQ(start(directory.path, role, level, threads), 0);
        std::string used, root;
        std::ifstream(directory.path / "final") >> used >> root;
        EXPECT_EQ(used, level);
        return root;
    }

    TemporaryDirectory directory;
    TinyTask task{kSteps, kInterval};
    Hash32 undisturbed;
};

TEST_F(Killed, ASuccessorOnAnySettingsEndsWhereAnUndisturbedRunEnds) {
    for (const kernels::CpuLevel level : kernels::cpu_levels())
        for (const unsigned threads : {1u, 3u})
            EXPECT_EQ(end_of("successor", name_of(level), threads), to_hex(view(undisturbed)))
                << name_of(level) << ", " << threads << " threads";
    EXPECT_EQ(end_of("reference", "scalar", 2), to_hex(view(undisturbed))) << "by the element rules alone";
}

TEST_F(Killed, ASuccessorRefusesAStateThatWasDamagedWhereItWasKept) {
    for (const auto& entry : fs::directory_iterator(directory.path / "keeper" / "tensors")) {
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(-1, std::ios::end);
        const int byte = file.get();
        file.seekp(-1, std::ios::end);
        file.put(static_cast<char>(byte ^ 1));
        break;
    }
    EXPECT_NE(start(directory.path, "successor", "scalar", 1), 0);
    EXPECT_FALSE(fs::exists(directory.path / "final"));
}

}  // namespace
}  // namespace retrace::test
