// SPDX-License-Identifier: MIT
// Worker processes: their resources, their results, and the handling of work whose worker dies.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>
#include <utility>

#include "kernels/builder/training.hpp"
#include "kernels/exec/dispute_memory.hpp"
#include "solver/run/offloaded_runner.hpp"
#include "solver/run/preemption.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/train/trainer.hpp"
#include "solver/worker/remote_runner.hpp"
#include "tests/functional/worker/children.hpp"
#include "tests/functional/worker/crashing_seed.hpp"
#include "tests/unit/solver/tiny_task.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::testing {
namespace {

using namespace solver;
using test::TinyTask;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Workers : public ::testing::Test {
protected:
    std::shared_ptr<WorkerRecord> record_ =
        std::make_shared<WorkerRecord>([](const std::string& what) { std::cout << what << std::endl; });

    static WorkerOptions options(const char* program = RETRACE_PROGRAM) {
        WorkerOptions out;
        out.executable = program;
        out.limits = {1u << 30, 1, sandbox_is_supported()};
        return out;
    }
    std::unique_ptr<RemoteRunner> runner_of(const TinyTask& task, const WorkerOptions& options) {
        return std::make_unique<RemoteRunner>(task.terms.id, "task 5", task.train.program(), task.inputs(), options,
                                              record_);
    }
    /// They stay alive, but no longer answer.
    static void stop_workers() {
        for (const int worker : workers_of(::getpid())) ::kill(worker, SIGSTOP);
    }
    static std::string what_is_thrown(const std::function<void()>& work) {
        try {
            work();
        } catch (const std::exception& thrown) {
            return thrown.what();
        }
        return "nothing";
    }
    using Roots = std::map<std::uint64_t, Hash32>;
    /// Trains to the end and collects the roots of the checkpoints.
    static void train(TinyTask& task, StepRunner& runner, kernels::State& state, Roots& roots,
                      const Trainer::OnProgress& progress = {}, kernels::State* saved = nullptr) {
        Trainer trainer(task.train, runner, task.terms.schedule, task.pool);
        const auto done = trainer.run(
            state, task.terms.schedule.segments(), progress,
            [&](std::uint64_t index, const kernels::StateCommitment& commitment, const kernels::State& at) -> Status<> {
                roots[index] = commitment.root;
                if (saved != nullptr) *saved = at;
                EXPECT_EQ(kernels::commit_state(task.train.root(), at, task.pool).root, commitment.root);
                return Unit{};
            });
        EXPECT_TRUE(done.has_value() && *done);
    }
    static Roots train(TinyTask& task, StepRunner& runner, kernels::State& state) {
        Roots roots;
        train(task, runner, state, roots);
        return roots;
    }
};

TEST_F(Workers, HaveNoKeyNoFilesNoEnvironmentAndASandbox) {
    ::setenv("RETRACE_TEST_SECRET", "a secret of the party", 1);
    const TinyTask task;
    const auto runner = runner_of(task, options());
    ::unsetenv("RETRACE_TEST_SECRET");
    const auto workers = workers_of(::getpid());
    ASSERT_EQ(workers.size(), 1u);
    EXPECT_EQ(text_of_process(workers[0], "environ"), "");
    EXPECT_THAT(text_of_process(workers[0], "cmdline"), HasSubstr("task 5"));
    std::size_t pipes = 0, others = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/" + std::to_string(workers[0]) + "/fd")) {
        const std::string target = std::filesystem::read_symlink(file.path()).string();
        if (target.starts_with("pipe:"))
            ++pipes;
        else if (target != "/dev/null")
            ++others;
    }
    EXPECT_EQ(pipes, 2u) << "to the party";
    EXPECT_EQ(others, 0u) << "no file and no socket";
    if (sandbox_is_supported()) {
        EXPECT_THAT(text_of_process(workers[0], "status"),
                    AllOf(HasSubstr("Seccomp:\t2\n"), HasSubstr("NoNewPrivs:\t1\n")));
    }
}

TEST_F(Workers, GiveTheBitsOfARunnerInThisProcess) {
    TinyTask task;
    ProgramRunner here(task.train.program(), task.inputs(), task.pool);
    const auto there = runner_of(task, options());
    kernels::State own = task.initial(), other = task.initial();
    EXPECT_EQ(there->trace(other), here.trace(own));
    EXPECT_EQ(there->outputs(other, {0, 2}), here.outputs(own, {0, 2}));
    EXPECT_EQ(there->step(other).size(), here.step(own).size());
    EXPECT_EQ(other, own);
    EXPECT_EQ(train(task, *there, other), train(task, here, own));
    EXPECT_EQ(other, own);
    EXPECT_GT(there->planned_bytes(), here.planned_bytes()) << "it has the state and the data sets too";
    EXPECT_EQ(record_->figures().starts, 1u);
    EXPECT_EQ(record_->figures().deaths, 0u);
}

/// The evidence that a party shows in a dispute, including a partial tile.
TEST_F(Workers, GiveTheEvidenceOfARunnerInThisProcess) {
    kernels::ModelSpec model;
    model.hidden = {9};  // Images have 28 × 28 pixels, so that products have links.
    model.classes = 3;
    kernels::TrainingSpec training;
    training.samples = training.batch = 8;
    auto programs = kernels::build_training(model, training, 8, 8);
    ASSERT_TRUE(programs.has_value());
    const kernels::CommittedProgram train(std::move(programs->train));
    const kernels::Program& program = train.program();
    kernels::ThreadPool pool(1);
    std::vector<kernels::Tensor> data;
    kernels::Inputs inputs{42, {}};
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        const kernels::TensorRecord& record = program.tensors[program.states + program.constants + i];
        data.push_back(kernels::zeros(record.dtype, record.dims));
        for (std::size_t at = 0; at < data.back().data.size(); ++at)
            data.back().data[at] = static_cast<std::uint8_t>(i == 0 ? 37 * at : at % 3);
    }
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    ProgramRunner here(program, inputs, pool);
    RemoteRunner there(5, "task 5", program, inputs, options(), record_);
    const auto account = [&](StepRunner& runner) {
        return verifier::Replayer({&train, &train, &runner, &pool, inputs.seed, inputs.datasets},
                                  kernels::run_initialiser(programs->init, inputs.seed, pool), 8);
    };
    verifier::Replayer own = account(here), other = account(there);
    const std::vector<std::uint64_t> steps{2, 4, 8};
    EXPECT_EQ(other.roots_at(0, steps), own.roots_at(0, steps));
    EXPECT_EQ(other.end_root(), own.end_root());
    EXPECT_EQ(other.output_of(5).root, own.output_of(5).root);
    EXPECT_EQ(other.trace_of(5), own.trace_of(5));
    std::size_t chains = 0;
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        const std::uint64_t links = kernels::link_count(kernels::facts_of(program, op));
        if (links < 2) continue;
        ++chains;
        EXPECT_EQ(other.partial_of(5, op, 0, links - 1), own.partial_of(5, op, 0, links - 1)) << op;
    }
    EXPECT_GT(chains, 0u);
    EXPECT_EQ(record_->figures().deaths, 0u);
}

/// A worker whose states lie on disk: steps, commitments, traces and outputs are those of this process, also after it died.
TEST_F(Workers, WithTheirStatesOnDiskGiveTheBitsOfARunnerInThisProcess) {
    TinyTask task(40, 10, 20'000);  // a state of 9 MB
    const kernels::Program& program = task.train.program();
    const test::TemporaryDirectory disk;
    WorkerOptions little = options();
    little.limits.offload = disk.path;
    little.limits.disk = 1 << 30;
    const std::uint64_t held = 2 * memory_beside_states(program) + kernels::move_memory_bytes(program);
    const std::uint64_t least = held + OffloadedRunner::least_bytes(program, task.pool);
    little.limits.share = least - 1;
    EXPECT_THAT(what_is_thrown([&] { (void)runner_of(task, little); }),
                HasSubstr("with its state on disk the task needs " + std::to_string(2 * least) + " bytes of memory"));
    little.limits.share = least;
    ProgramRunner here(program, task.inputs(), task.pool);
    const auto there = runner_of(task, little);
    EXPECT_GT(there->disk_bytes(), 0u);
    EXPECT_LE(memory_beside_states(program) + there->planned_bytes(), least);
    EXPECT_TRUE(std::filesystem::is_empty(disk.path)) << "its files have no names";
    if (sandbox_is_supported()) {
        EXPECT_THAT(text_of_process(workers_of(::getpid()).at(0), "status"), HasSubstr("Seccomp:\t2\n"));
    }
    kernels::State own = task.initial(), other = task.initial();
    EXPECT_EQ(there->trace(other), here.trace(own));
    EXPECT_EQ(there->outputs(other, {0, 2}), here.outputs(own, {0, 2}));
    EXPECT_EQ(there->step(other).size(), here.step(own).size());
    EXPECT_EQ(other, own);
    const auto wanted = train(task, here, own);
    Roots roots;
    bool killed = false;
    train(task, *there, other, roots, [&](const Progress& progress) {
        if (progress.step == 15 && !std::exchange(killed, true))
            for (const int worker : workers_of(::getpid())) ::kill(worker, SIGKILL);
        return true;
    });
    EXPECT_EQ(roots, wanted);
    EXPECT_EQ(other, own);
    EXPECT_EQ(record_->figures().deaths, 1u);
    little.limits.share = std::uint64_t{1} << 30;
    EXPECT_EQ(runner_of(task, little)->disk_bytes(), 0u) << "what fits the memory stays there";
}

TEST_F(Workers, ThatAreKilledAtAnyMomentCostWorkAndNoBit) {
    const char* const given = std::getenv("RETRACE_SEED");
    const std::uint32_t seed =
        given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    std::cout << "RETRACE_SEED=" << seed << std::endl;
    SCOPED_TRACE("RETRACE_SEED=" + std::to_string(seed));
    TinyTask task(400, 50);
    ProgramRunner here(task.train.program(), task.inputs(), task.pool);
    kernels::State own = task.initial(), other = task.initial();
    const auto wanted = train(task, here, own);
    WorkerOptions often = options();
    often.save_every = std::chrono::milliseconds(20);
    const auto there = runner_of(task, often);
    std::jthread killer([&](const std::stop_token& stop) {
        std::mt19937 random(seed);
        // More and more seldom, so that workers get on where they take long to start.
        for (unsigned longest = 300; !stop.stop_requested(); longest += 30) {
            std::this_thread::sleep_for(std::chrono::milliseconds(40 + random() % longest));
            for (const int worker : workers_of(::getpid())) ::kill(worker, random() % 2 == 0 ? SIGKILL : SIGSEGV);
        }
    });
    // Slows the steps down, so that there are workers to kill.
    const auto slowly = [](const Progress&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return true;
    };
    Roots roots;
    kernels::State saved = other;
    for (bool done = false; !done;) {
        try {
            train(task, *there, other, roots, slowly, &saved);
            done = true;
        } catch (const std::exception& often) {
            // Killed three times at one step, by chance: like an agent, this tries again later. The state is intact,
            // but a checkpoint that it has reached is not reported again. State 0 is no checkpoint of the training.
            const std::uint64_t interval = task.terms.schedule.interval;
            if (other.step != 0 && other.step % interval == 0)
                roots[other.step / interval] = kernels::commit_state(task.train.root(), other, task.pool).root;
            else if (other.step / interval > saved.step / interval)
                other = saved;
            std::cout << often.what() << std::endl;
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
    }
    killer.request_stop();
    killer.join();
    EXPECT_EQ(roots, wanted);
    EXPECT_EQ(other, own);
    EXPECT_GT(record_->figures().deaths, 3u);
    std::cout << record_->figures().deaths << " deaths" << std::endl;
}

TEST_F(Workers, ThatAProgramCrashesEndItsWorkByNameAndAreNotStartedAgainAtOnce) {
    TinyTask task;
    task.terms.seed = kCrashingSeed;
    const auto runner = runner_of(task, options(CRASHING_PROGRAM));
    kernels::State state = task.initial();
    const auto training = runner->train(task.train, state, task.pool);
    training->advance();
    training->advance();
    const std::string what = what_is_thrown([&] { training->advance(); });
    EXPECT_THAT(what, AllOf(HasSubstr("task 5"), HasSubstr("signal 11"), HasSubstr("at step 2, 3 times")));
    EXPECT_EQ(record_->figures().deaths, 3u);
    EXPECT_THAT(what_is_thrown([&] { training->advance(); }), HasSubstr("in backoff"));
    EXPECT_EQ(record_->figures().deaths, 3u) << "no further one was started";
    EXPECT_TRUE(workers_of(::getpid()).empty());
    // Another task of the same party is not affected.
    TinyTask other;
    other.terms.id = 6;
    RemoteRunner beside(6, "task 6", other.train.program(), other.inputs(), options(CRASHING_PROGRAM), record_);
    kernels::State its = other.initial();
    EXPECT_EQ(train(other, beside, its).size(), 3u);
}

TEST_F(Workers, ThatAskForMoreMemoryThanTheyMayHaveSaySoAndNothingElseEnds) {
    kernels::ModelSpec model;
    model.hidden = {4'000, 4'000};  // 64 MB of weights.
    model.input = {1, 5, 7};
    model.classes = 3;
    kernels::TrainingSpec training;
    training.samples = 64;
    training.batch = 8;
    training.steps = 1;
    const auto programs = kernels::build_training(model, training, 64, 8);
    ASSERT_TRUE(programs.has_value());
    WorkerOptions tight = options();
    tight.limits.memory = 48 << 20;
    RemoteRunner runner(5, "task 5", programs->init, {42, {}}, tight, record_);
    kernels::State state = blank_state(programs->init);
    EXPECT_EQ(what_is_thrown([&] { runner.step(state); }), "std::bad_alloc");
    EXPECT_EQ(record_->figures().deaths, 0u) << "it was an answer";
    EXPECT_TRUE(workers_of(::getpid()).empty());
}

TEST_F(Workers, EndWithThePartyInTheMiddleOfWhateverTheyDo) {
    const TinyTask task;
    int report[2];
    ASSERT_EQ(::pipe(report), 0);
    const pid_t party = ::fork();
    if (party == 0) {
        const auto runner = runner_of(task, options());
        const int worker = workers_of(::getpid()).at(0);
        (void)!::write(report[1], &worker, sizeof worker);
        ::pause();
        ::_exit(0);
    }
    int worker = 0;
    ASSERT_EQ(::read(report[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    ::kill(party, SIGKILL);
    ::waitpid(party, nullptr, 0);
    for (int look = 0; look < 500 && ::kill(worker, 0) == 0; ++look) {
        if (text_of_process(worker, "stat").find(") Z ") != std::string::npos) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::string left = text_of_process(worker, "stat");
    EXPECT_TRUE(left.empty() || left.find(") Z ") != std::string::npos) << left;
}

TEST_F(Workers, ThatDoNotAnswerAreEndedAndTheirTaskIsInBackoff) {
    TinyTask task;
    WorkerOptions short_of_time = options();
    short_of_time.answer_within = std::chrono::milliseconds(200);
    const auto runner = runner_of(task, short_of_time);
    stop_workers();
    EXPECT_THAT(what_is_thrown([&] { (void)runner->trace(task.initial()); }), HasSubstr("it did not answer"));
    EXPECT_TRUE(workers_of(::getpid()).empty());
    EXPECT_EQ(record_->figures().tasks_in_backoff, 1u) << "at the first time";
}

TEST_F(Workers, ThatNeverAnswerAStepAreEndedAndTheWorkFailsByName) {
    TinyTask task;
    WorkerOptions short_of_time = options();
    short_of_time.answer_within = std::chrono::milliseconds(300);
    const auto runner = runner_of(task, short_of_time);
    kernels::State state = task.initial();
    const auto training = runner->train(task.train, state, task.pool);
    training->advance();
    stop_workers();
    EXPECT_THAT(
        what_is_thrown([&] { training->advance(); }),
        AllOf(HasSubstr("task 5: its worker process was stopped: it did not answer within"), HasSubstr("at step 1")));
    EXPECT_TRUE(workers_of(::getpid()).empty());
    EXPECT_EQ(record_->figures().tasks_in_backoff, 1u);
}

TEST_F(Workers, ThatSendAByteNowAndThenGetNoMoreTimeForIt) {
    TinyTask task;
    task.terms.seed = kDrippingSeed;
    WorkerOptions short_of_time = options(CRASHING_PROGRAM);
    short_of_time.answer_within = std::chrono::milliseconds(2'000);
    const auto runner = runner_of(task, short_of_time);
    kernels::State state = task.initial();
    const auto training = runner->train(task.train, state, task.pool);
    const auto began = Preemption::Clock::now();
    EXPECT_THAT(what_is_thrown([&] { training->advance(); }), HasSubstr("it did not answer within"));
    EXPECT_LT(Preemption::Clock::now() - began, std::chrono::seconds(60));
}

/// The party can do its other duties, and the task is not at fault before its timeout.
TEST_F(Workers, ThatDoNotAnswerAreLeftWhenSomethingWaitsWhateverTheyWereAsked) {
    TinyTask task;
    Preemption preemption(std::chrono::milliseconds(50));
    const PreemptionScope working(preemption);
    WorkerOptions quick = options();
    quick.leave_within = std::chrono::milliseconds(200);
    const auto is_left = [&](const char* name, const std::function<void(StepRunner&, Training&)>& work) {
        SCOPED_TRACE(name);
        preemption.clear();
        const auto runner = runner_of(task, quick);
        kernels::State state = task.initial();
        const auto training = runner->train(task.train, state, task.pool);
        training->advance();
        stop_workers();
        preemption.request();
        EXPECT_THROW(work(*runner, *training), Preempted);
        EXPECT_TRUE(workers_of(::getpid()).empty());
        preemption.clear();
        EXPECT_EQ(training->step(), 1u);
        training->advance();  // Uses another worker.
        ProgramRunner here(task.train.program(), task.inputs(), task.pool);
        kernels::State own = task.initial();
        for (int i = 0; i < 2; ++i) here.step(own);
        EXPECT_EQ(training->state(), own);
    };
    is_left("save", [](StepRunner&, Training& training) { training.state(); });
    is_left("commit", [](StepRunner&, Training& training) { training.commit(); });
    is_left("step", [](StepRunner&, Training& training) { training.advance(); });
    is_left("trace", [&](StepRunner& runner, Training&) { runner.trace(task.initial()); });
    is_left("outputs", [&](StepRunner& runner, Training&) { runner.outputs(task.initial(), {0}); });
    task.terms.seed = kSilentSeed;
    preemption.request();
    EXPECT_THROW(runner_of(task, options(CRASHING_PROGRAM)), Preempted) << "nor becomes ready";
    EXPECT_TRUE(workers_of(::getpid()).empty());
    EXPECT_EQ(record_->figures().deaths, 0u);
    EXPECT_EQ(record_->figures().tasks_in_backoff, 0u);
}

TEST_F(Workers, LeaveAStepAndTheStateOfBeforeIsKept) {
    TinyTask task(400, 50);
    WorkerOptions often = options();
    often.save_every = std::chrono::milliseconds(0);
    often.leave_within = std::chrono::milliseconds(200);
    const auto runner = runner_of(task, often);
    kernels::State state = task.initial();
    const auto training = runner->train(task.train, state, task.pool);
    for (int i = 0; i < 5; ++i) training->advance();
    EXPECT_EQ(state.step, 5u) << "saved after each step";
    stop_workers();
    EXPECT_FALSE(training->attempt([] { return true; }).has_value()) << "ended, because it does not answer";
    EXPECT_EQ(state.step, 5u);
    ProgramRunner here(task.train.program(), task.inputs(), task.pool);
    kernels::State own = task.initial();
    for (int i = 0; i < 5; ++i) here.step(own);
    EXPECT_EQ(state, own);
}

}  // namespace
}  // namespace retrace::testing
