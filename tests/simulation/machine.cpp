// SPDX-License-Identifier: MIT
#include "tests/simulation/machine.hpp"

#include <algorithm>

#include "kernels/commit/tile_hash.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::sim {
namespace {

thread_local Machine* current = nullptr;  // The machine whose worker this thread is.

/// Spends the time of steps before they are computed, so that their results are there when the time has passed.
class TimedRunner final : public solver::StepRunner {
public:
    TimedRunner(std::unique_ptr<solver::StepRunner> inner, std::uint64_t steps)
        : inner_(std::move(inner)), steps_(steps) {}

    void set_inputs(kernels::Inputs inputs) override { inner_->set_inputs(std::move(inputs)); }
    std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                        const kernels::StopToken& stop) override {
        Machine::take_step(steps_);
        return inner_->attempt(state, stop);
    }
    std::vector<Hash32> trace(const kernels::State& state) override {
        Machine::take_step(steps_);
        return inner_->trace(state);
    }
    std::vector<kernels::Tensor> outputs(const kernels::State& state, const std::vector<std::uint32_t>& ops) override {
        Machine::take_step(steps_);
        return inner_->outputs(state, ops);
    }
    std::uint64_t planned_bytes() const override { return inner_->planned_bytes(); }

private:
    std::unique_ptr<solver::StepRunner> inner_;
    std::uint64_t steps_;
};

}  // namespace

// The linker replaces the two functions that hash tiles by these (CMakeLists.txt), to count the tiles that an order
// hashes, including those whose hashes the agents have cached.
Hash32 whole_sha256(View bytes) __asm__("__real__ZN7retrace6merkle6sha256ESt4spanIKhLm18446744073709551615EE");
Hash32 counted_sha256(View bytes) __asm__("__wrap__ZN7retrace6merkle6sha256ESt4spanIKhLm18446744073709551615EE");
kernels::HashPair no_pair() __asm__("__wrap__ZN7retrace7kernels9hash_pairEv");

Hash32 counted_sha256(View bytes) {
    constexpr std::size_t kShorterThanAnyTile = 1024;
    if (bytes.size() > kShorterThanAnyTile) Machine::note_tile();
    return whole_sha256(bytes);
}
/// Disables hashing in pairs, so that every tile goes through counted_sha256.
kernels::HashPair no_pair() { return nullptr; }

std::uint64_t& seed_of_this_thread() noexcept {
    thread_local std::uint64_t seed = 0;
    return seed;
}

Machine::Machine(Clock& clock, const Costs& costs, std::uint64_t speed_bp)
    : clock_(clock), costs_(costs), speed_bp_(speed_bp), seed_(seed_of_this_thread()) {
    ensure(speed_bp > 0, "a machine computes");
}

Machine::~Machine() {
    cut();
    if (!thread_.joinable()) return;
    quit_ = true;
    go_.release();
    thread_.join();
}

Millis Machine::at_speed(Millis cost) const { return (cost * kJustAllowed + speed_bp_ - 1) / speed_bp_; }

void Machine::start(std::function<void()> job, std::function<void()> done) {
    ensure(!busy_, "a machine computes one order at a time");
    busy_ = true;
    ended_ = cut_ = false;
    job_ = std::move(job);
    done_ = std::move(done);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    resume();
}

void Machine::resume() {
    go_.release();
    back_.acquire();
    if (!ended_) return;
    busy_ = false;
    job_ = {};
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
    const auto done = std::exchange(done_, {});
    if (!cut_) done();
}

void Machine::cut() {
    if (!busy_) return;
    cut_ = true;
    ++waits_;
    resume();
}

void Machine::work() {
    current = this;
    seed_of_this_thread() = seed_;
    for (;;) {
        go_.acquire();
        if (quit_) return;
        try {
            job_();
            spend(costs_.order);
        } catch (const PowerCut&) {
        } catch (...) {
            failed_ = std::current_exception();
        }
        tiles_ = 0;
        ended_ = true;
        back_.release();
    }
}

void Machine::spend(Millis cost) {
    if (cut_) throw PowerCut{};
    const Millis time = std::max<Millis>(1, at_speed(cost + std::exchange(tiles_, 0) * costs_.tile));
    worked_ += time;
    clock_.after(time, [this, wait = ++waits_] {
        if (wait == waits_) resume();
    });
    back_.release();
    go_.acquire();
}

void Machine::take_step(std::uint64_t steps) {
    if (current != nullptr) current->spend(current->costs_.segment / std::max<std::uint64_t>(steps, 1));
}

void Machine::note_tile() {
    if (current != nullptr) ++current->tiles_;
}

solver::RunnerFactory timed_runners(solver::RunnerFactory inner) {
    return [inner = std::move(inner)](const solver::TaskTerms& terms, const kernels::Program& program,
                                      kernels::Inputs inputs,
                                      kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        auto runner = inner(terms, program, std::move(inputs), pool);
        if (runner == nullptr) return nullptr;
        std::uint64_t steps = std::min(terms.schedule.interval, terms.schedule.steps);
        if (const auto& group = terms.group)  // The positions of the longest segment.
            steps = 2 * group->keep_rounds + group->catch_up_max + group->steps_max + 2;
        return std::make_unique<TimedRunner>(std::move(runner), steps);
    };
}

}  // namespace retrace::sim
