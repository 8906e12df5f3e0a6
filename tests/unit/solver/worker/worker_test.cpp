// SPDX-License-Identifier: MIT
// Messages between a party and its worker process. Here the worker runs on a thread; tests/functional/worker tests it
// as a process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <limits>
#include <thread>

#include "solver/worker/connection.hpp"
#include "solver/worker/messages.hpp"
#include "solver/worker/record.hpp"
#include "solver/worker/serve.hpp"
#include "solver/worker/tensors.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using namespace solver;
using ::testing::HasSubstr;

std::vector<WorkerRequest> every_request() {
    return {SetProgram{7, 9, DeviceChoice::automatic},
            Load{3},
            Advance{1},
            Leave{2},
            solver::Store{},
            Commit{},
            BeginCommitment{},
            FinishCommitment{},
            StoreCommitted{},
            Trace{},
            Outputs{{0, 2, 5}},
            Partial{1, 2, 3, 4, 5},
            SetInputs{6}};
}
std::vector<WorkerReply> every_reply() {
    return {Ready{9, true, 7},
            Done{},
            Stepped{{{{"loss", 0.5f}, {"", -1.0f}}, {}}},
            Left{},
            Stored{4},
            Roots{4, {Hash32{}, Hash32{}}},
            Computed{},
            Failed{true, "why"}};
}

TEST(WorkerMessages, HaveOneEncodingAndNothingShorterOrLongerIsOne) {
    const auto check = [](const auto& messages, auto decode) {
        EXPECT_EQ(messages.size(), std::variant_size_v<std::decay_t<decltype(messages.front())>>) << "one of each";
        for (const auto& message : messages) {
            Bytes bytes = encode(message);
            const auto again = decode(bytes);
            ASSERT_TRUE(again.has_value()) << message.index();
            EXPECT_EQ(again->index(), message.index());
            EXPECT_EQ(encode(*again), bytes);
            for (std::size_t size = 0; size < bytes.size(); ++size)
                EXPECT_FALSE(decode(View(bytes).first(size)).has_value()) << message.index() << " cut to " << size;
            bytes.push_back(0);
            EXPECT_EQ(decode(bytes).error(), CodecError::trailing) << message.index();
        }
    };
    check(every_request(), [](View bytes) { return decode_worker_request(bytes); });
    check(every_reply(), [](View bytes) { return decode_worker_reply(bytes); });
}

TEST(WorkerMessages, WithMorePlannedBytesOrMetricsThanThereCanBeAreRefusedByName) {
    EXPECT_TRUE(decode_worker_reply(encode(WorkerReply(Ready{kPlannedMax, true, kPlannedMax}))).has_value());
    for (const std::uint64_t bytes : {kPlannedMax + 1, UINT64_MAX}) {
        const auto refused = decode_worker_reply(encode(WorkerReply(Ready{bytes, true, 0})));
        ASSERT_FALSE(refused.has_value()) << bytes;
        EXPECT_EQ(refused.error(), CodecError::too_long);
    }
    const auto with_steps = [](std::size_t steps, std::size_t metrics) {
        return encode(WorkerReply(Stepped{{steps, std::vector<kernels::Metric>(metrics)}}));
    };
    const ReplyLimits three{3, 1};
    EXPECT_TRUE(decode_worker_reply(with_steps(kStepsMax, 3), three).has_value());
    EXPECT_EQ(decode_worker_reply(with_steps(1, 4), three).error(), CodecError::too_long) << "of one step";
    EXPECT_TRUE(decode_worker_reply(with_steps(2, kMetricsAtOnce - 1)).has_value());
    EXPECT_EQ(decode_worker_reply(with_steps(2, kMetricsAtOnce)).error(), CodecError::too_long) << "of all steps";
    EXPECT_EQ(decode_worker_reply(encode(WorkerReply(Roots{4, {Hash32{}, Hash32{}}})), three).error(),
              CodecError::too_long);
}

TEST(WorkerMessages, AreAsLongAsTheAnswersOfAProgramCanBe) {
    TinyTask task;
    const kernels::Program& program = task.train.program();
    const ReplyLimits limits = limits_of(program);
    ProgramRunner runner(program, task.inputs(), task.pool);
    kernels::State state = task.initial();
    EXPECT_EQ(limits.metrics, runner.step(state).size());
    EXPECT_EQ(limits.roots, program.ops.size());
    const std::vector<kernels::Metric> step(kMetricsAtOnce - 1, {std::string(120, 'x'), 0});
    const ReplyLimits many{kMetricsAtOnce - 1, 1};
    EXPECT_LE(encode(WorkerReply(Stepped{{step, step}})).size(), longest_reply(many));
    EXPECT_LE(encode(WorkerReply(Failed{false, std::string(2'000, 'x')})).size(), longest_reply({0, 0}));
    const std::vector<Hash32> roots(200);
    EXPECT_LE(encode(WorkerReply(Roots{4, roots})).size(), longest_reply({0, 200}));
    EXPECT_LT(longest_reply(limits), kMessageMax / 100);
}

TEST(WorkerMessages, OfUnknownKindsOrWithLengthsThatNothingFollowsAreRefused) {
    EXPECT_FALSE(decode_worker_request(Bytes{0}).has_value());
    EXPECT_FALSE(decode_worker_request(Bytes{14}).has_value());
    EXPECT_FALSE(decode_worker_reply(Bytes{9}).has_value());
    EXPECT_FALSE(decode_worker_reply(Bytes{3, 0xff, 0xff, 0xff, 0xff}).has_value()) << "metrics";
    EXPECT_FALSE(decode_worker_reply(Bytes{6, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}).has_value()) << "roots";
    EXPECT_FALSE(decode_worker_reply(Bytes{1, 0, 0, 0, 0, 0, 0, 0, 0, 2}).has_value()) << "a bool";
    EXPECT_FALSE(decode_worker_reply(encode(WorkerReply(Stepped{{{{std::string(121, 'x'), 0}}}}))).has_value());
}

struct Pipe {
    int read = -1, write = -1;
    Pipe() {
        std::array<int, 2> made{};
        EXPECT_EQ(::pipe2(made.data(), O_CLOEXEC), 0);
        read = made[0];
        write = made[1];
    }
};

/// A worker on a thread, and this side's ends of its pipes.
class Served {
public:
    explicit Served(WorkerRunner runner = honest_worker_runner()) {
        std::signal(SIGPIPE, SIG_IGN);
        Pipe to, from;
        here_ = std::make_unique<Channel>(from.read, to.write);
        worker_ = std::thread([in = to.read, out = from.write, runner = std::move(runner)] {
            Channel channel(in, out);
            kernels::ThreadPool pool(1);
            serve(channel, pool, runner);
        });
    }
    ~Served() {
        here_.reset();
        worker_.join();
    }
    Channel& channel() { return *here_; }
    WorkerReply ask(
        const WorkerRequest& request, const std::function<void()>& follow = [] {}) {
        here_->send(encode(request));
        follow();
        here_->flush();
        return answer();
    }
    WorkerReply answer() { return decode_worker_reply(here_->receive(kMessageMax)).value(); }
    WorkerReply set_up(const TinyTask& task, const Bytes& program) {
        return ask(SetProgram{task.terms.seed, program.size(), DeviceChoice::cpu}, [&] {
            here_->send_raw(program);
            send_tensors(*here_, task.data);
        });
    }
    WorkerReply load(const kernels::State& state) {
        return ask(Load{state.step}, [&] { send_tensors(*here_, state.tensors); });
    }
    /// Expects the worker to fail and end; returns the reason.
    std::string failure() {
        const WorkerReply last = answer();
        EXPECT_TRUE(std::holds_alternative<Failed>(last)) << last.index();
        EXPECT_THROW(here_->receive(kMessageMax), ChannelBroken);
        return std::holds_alternative<Failed>(last) ? std::get<Failed>(last).why : "";
    }

private:
    std::unique_ptr<Channel> here_;
    std::thread worker_;
};

TEST(Worker, GivesWhatARunnerInThisProcessGives) {
    TinyTask task;
    ProgramRunner runner(task.train.program(), task.inputs(), task.pool);
    kernels::State state = task.initial();
    Served worker;
    const auto ready = std::get<Ready>(worker.set_up(task, kernels::encode(task.train.program())));
    EXPECT_EQ(ready.planned_bytes, runner.planned_bytes());
    EXPECT_TRUE(std::holds_alternative<Done>(worker.load(state)));
    EXPECT_EQ(std::get<Roots>(worker.ask(Trace{})).roots, runner.trace(state));
    const auto metrics = runner.step(state);
    const auto made = std::get<Stepped>(worker.ask(Advance{1, 1})).steps.at(0);
    ASSERT_EQ(made.size(), metrics.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_EQ(made[i].name, metrics[i].name);
        EXPECT_EQ(made[i].value, metrics[i].value);
    }
    const auto commitment = kernels::commit_state(task.train.root(), state, task.pool);
    EXPECT_EQ(std::get<Roots>(worker.ask(Commit{})).roots, commitment.tensor_roots);
    ASSERT_EQ(std::get<Stored>(worker.ask(solver::Store{})).step, 1u);
    std::vector<kernels::Tensor> came;
    receive_tensors(worker.channel(), std::span(task.train.program().tensors).first(task.train.program().states), came);
    EXPECT_EQ(came, state.tensors);
}

TEST(Worker, TakesOtherInputsForAProgramThatIsSetUp) {
    TinyTask task;
    std::vector<kernels::Tensor> others = task.data;
    std::reverse(others[0].data.begin(), others[0].data.end());
    kernels::Inputs inputs{task.terms.seed + 1, {}};
    for (const kernels::Tensor& tensor : others) inputs.datasets.push_back(&tensor);
    kernels::State state = task.initial();
    Served worker;
    (void)worker.set_up(task, kernels::encode(task.train.program()));
    EXPECT_TRUE(std::holds_alternative<Done>(worker.load(state)));
    EXPECT_TRUE(std::holds_alternative<Done>(
        worker.ask(SetInputs{inputs.seed}, [&] { send_tensors(worker.channel(), others); })));
    EXPECT_TRUE(std::holds_alternative<Done>(worker.load(state)));
    (void)worker.ask(Advance{1, 1});
    ProgramRunner runner(task.train.program(), inputs, task.pool);
    runner.step(state);
    EXPECT_EQ(std::get<Roots>(worker.ask(Commit{})).roots,
              kernels::commit_state(task.train.root(), state, task.pool).tensor_roots);
}

TEST(Worker, EndsWithAReasonWhenItIsAskedWhatNobodyAsks) {
    TinyTask task;
    const Bytes program = kernels::encode(task.train.program());
    const auto after = [&](const WorkerRequest& request, bool set_up) {
        Served worker;
        if (set_up) worker.set_up(task, program);
        worker.channel().send(encode(request));
        worker.channel().flush();
        return worker.failure();
    };
    EXPECT_THAT(after(Advance{1}, false), HasSubstr("no state"));
    EXPECT_THAT(after(Load{1}, false), HasSubstr("no program"));
    EXPECT_THAT(after(Trace{}, true), HasSubstr("no state"));
    EXPECT_THAT(after(FinishCommitment{}, true), HasSubstr("no state"));
    EXPECT_THAT(after(Advance{1, 0}, true), HasSubstr("so many"));
    EXPECT_THAT(after(Partial{1u << 30, 0, 0, 0, 0}, true), HasSubstr("no such op"));
    Served worker;
    worker.set_up(task, program);
    worker.load(task.initial());
    worker.channel().send(encode(WorkerRequest(Outputs{{3, 1}})));
    worker.channel().flush();
    EXPECT_THAT(worker.failure(), HasSubstr("no such ops"));
}

TEST(Worker, EndsInOrderOnFramesThatAreNone) {
    const auto after = [](const Bytes& bytes) {
        Served worker;
        worker.channel().send_raw(bytes);
        worker.channel().flush();
        return worker.failure();
    };
    EXPECT_THAT(after({1, 0, 0, 0, 200}), HasSubstr("none"));
    EXPECT_THAT(after({0, 0, 0, 0}), HasSubstr("none"));
    {
        Served worker;  // Longer than any message: nothing is allocated, and nothing is answered.
        worker.channel().send_raw(Bytes{0xff, 0xff, 0xff, 0xff, 1});
        worker.channel().flush();
        EXPECT_THROW(worker.channel().receive(kMessageMax), ChannelBroken);
    }
    {
        Served worker;  // An invalid program with an announced length beyond its end.
        worker.channel().send(encode(WorkerRequest(SetProgram{1, 5, DeviceChoice::cpu})));
        worker.channel().send_raw(Bytes{1, 2, 3, 4, 5});
        worker.channel().flush();
        EXPECT_THAT(worker.failure(), HasSubstr("the program is none"));
    }
    Served worker;  // Half a message before the other side closes: the destructor must not wait for ever.
    worker.channel().send_raw(Bytes{9, 0, 0, 0, 1});
    worker.channel().flush();
}

TEST(Worker, LeavesAStepThatIsStoppedAndOnlyThatOne) {
    TinyTask task;
    /// In the first step, waits between ops until it is told to stop.
    class Slow final : public ProgramRunner {
    public:
        using ProgramRunner::ProgramRunner;
        std::optional<std::vector<kernels::Metric>> attempt(kernels::State& state,
                                                            const kernels::StopToken& stop) override {
            if (state.step != 0) return ProgramRunner::attempt(state, stop);
            while (!stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            state.tensors.clear();
            return std::nullopt;
        }
    };
    Served worker([](DeviceChoice, const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool) {
        return std::make_unique<Slow>(program, std::move(inputs), pool);
    });
    worker.set_up(task, kernels::encode(task.train.program()));
    kernels::State state = task.initial();
    worker.load(state);
    worker.channel().send(encode(WorkerRequest(Advance{7})));
    worker.channel().send(encode(WorkerRequest(Leave{6})));  // Belongs to the previous request.
    worker.channel().flush();
    EXPECT_FALSE(worker.channel().wait(std::chrono::milliseconds(100)));
    EXPECT_TRUE(std::holds_alternative<Left>(worker.ask(Leave{7})));
    state.step = 3;
    worker.load(state);
    worker.channel().send(encode(WorkerRequest(Leave{7})));
    EXPECT_TRUE(std::holds_alternative<Stepped>(worker.ask(Advance{8}))) << "one that comes too late is for nothing";
}

TEST(Worker, SaysWhatAProgramThrewAndWhatMemoryWasMissing) {
    TinyTask task;
    const auto after = [&](std::function<void()> what) {
        Served worker([what](DeviceChoice, const kernels::Program&, kernels::Inputs,
                             kernels::ThreadPool&) -> std::unique_ptr<StepRunner> {
            what();
            return nullptr;
        });
        return std::get<Failed>(worker.set_up(task, kernels::encode(task.train.program())));
    };
    EXPECT_THAT(after([] { throw std::runtime_error("of a device"); }).why, HasSubstr("of a device"));
    EXPECT_THAT(after([] { ensure(false, "of a plan"); }).why, HasSubstr("of a plan")) << "and not the end of it";
    EXPECT_TRUE(after([] { throw std::bad_alloc(); }).memory);
    EXPECT_THAT(after([] {}).why, HasSubstr("device cannot run"));
}

/// This side of a worker's pipes; the test plays the worker.
struct Exchange : ::testing::Test {
    Pipe to, from;
    std::unique_ptr<Channel> here;
    Exchange() {
        std::signal(SIGPIPE, SIG_IGN);
        EXPECT_EQ(::fcntl(from.read, F_SETFL, O_NONBLOCK), 0);
        EXPECT_EQ(::fcntl(to.write, F_SETFL, O_NONBLOCK), 0);
        here = std::make_unique<Channel>(from.read, to.write);
    }
    ~Exchange() override {
        ::close(from.write);
        ::close(to.read);
    }
    void write(const Bytes& bytes) const {
        ASSERT_EQ(::write(from.write, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    void begin(int milliseconds, const kernels::StopToken& stop = {}) const {
        here->begin_exchange(stop.ending_after(std::chrono::milliseconds(milliseconds)));
    }
    /// Returns why the exchange ended during `work`; nullopt if it did not end.
    static std::optional<ExchangeOver::Why> over(const std::function<void()>& work) {
        try {
            work();
        } catch (const ExchangeOver& thrown) {
            return thrown.why();
        }
        return std::nullopt;
    }
};

TEST_F(Exchange, IsOverAtItsTimeWhetherNothingComesOrHalfAMessageOrNobodyReads) {
    begin(50);
    EXPECT_EQ(over([&] { here->receive(kMessageMax); }), ExchangeOver::Why::late);
    begin(50);
    write({9, 0, 0, 0, 1});
    EXPECT_EQ(over([&] { here->receive(kMessageMax); }), ExchangeOver::Why::late);
    begin(50);
    EXPECT_EQ(over([&] { here->send_raw(Bytes(4 << 20)); }), ExchangeOver::Why::late);
}

TEST_F(Exchange, IsOverAtItsTimeThoughAByteComesNowAndThen) {
    std::jthread drips([&](const std::stop_token& stop) {
        const std::uint8_t one = 1;
        while (!stop.stop_requested() && ::write(from.write, &one, 1) == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    });
    const auto began = Channel::Clock::now();
    begin(100);
    Bytes much(100'000);
    EXPECT_EQ(over([&] { here->receive_raw(much); }), ExchangeOver::Why::late);
    EXPECT_LT(Channel::Clock::now() - began, std::chrono::seconds(20));
}

TEST_F(Exchange, IsLeftWhenAStopIsRequested) {
    int looks = 0;
    begin(600'000, [&] { return ++looks >= 5; });
    EXPECT_EQ(over([&] { here->receive(kMessageMax); }), ExchangeOver::Why::left);
    EXPECT_EQ(looks, 5);
    begin(600'000);
    write({1, 0, 0, 0, 7});
    EXPECT_EQ(here->receive(1), Bytes{7}) << "the next one is another";
    write({2, 0, 0, 0, 7, 7});
    EXPECT_THROW(here->receive(1), ChannelBroken) << "longer than it may be";
}

TEST(ExchangeTime, IsMoreThanAnyHonestStepTakesAndEnds) {
    using std::chrono::seconds;
    TinyTask task;
    const kernels::Program& tiny = task.train.program();
    EXPECT_GE(exchange_time(tiny, seconds(600)), seconds(600));
    EXPECT_LT(exchange_time(tiny, seconds(600)), seconds(601));
    kernels::Program large = tiny;
    const std::uint64_t before = kernels::step_cost(large);
    for (kernels::TensorRecord& tensor : large.tensors)
        if (tensor.dims.size() == 2) tensor.dims = {30'000, 30'000};
    // A current thread computes at least 10^10 multiply-adds per second.
    const auto honest = seconds(kernels::step_cost(large) / 10'000'000'000);
    EXPECT_GT(kernels::step_cost(large), 1'000'000 * before);
    EXPECT_GT(exchange_time(large, seconds(0)), 900 * honest);
    EXPECT_LE(exchange_time(large, std::chrono::milliseconds::max()), std::chrono::hours(24 * 365));
}

TEST(WorkerLimitsTest, AreWordsOfACommandLine) {
    const auto again = parse_worker_limits(words_of({12345, 3, false, {}, 0, 0}));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->memory, 12345u);
    EXPECT_EQ(again->threads, 3u);
    EXPECT_FALSE(again->sandbox);
    EXPECT_FALSE(parse_worker_limits({}).has_value());
    EXPECT_FALSE(parse_worker_limits({"1", "x", "sandbox"}).has_value());
    EXPECT_FALSE(parse_worker_limits({"1", "100000", "sandbox"}).has_value());
    EXPECT_FALSE(parse_worker_limits({"1", "1", "", "memory"}).has_value());
    EXPECT_TRUE(again->offload.empty());
    const auto disk = parse_worker_limits(words_of({12345, 3, true, "/a disk", 678, 90}));
    ASSERT_TRUE(disk.has_value());
    EXPECT_EQ(disk->offload, "/a disk");
    EXPECT_EQ(disk->share, 678u);
    EXPECT_EQ(disk->disk, 90u);
    EXPECT_FALSE(parse_worker_limits({"1", "1", "open", "disk", "1", "1"}).has_value());
    EXPECT_FALSE(parse_worker_limits({"1", "1", "open", "disk", "1", "x", "/d"}).has_value());
    EXPECT_FALSE(parse_worker_limits({"1", "1", "open", "other"}).has_value());
}

TEST(WorkerRecordTest, ATaskThatEndsItsWorkerIsInBackoffAndNoOther) {
    std::vector<std::string> told;
    WorkerRecord record([&](const std::string& what) { told.push_back(what); });
    for (int step = 0; step < 5; ++step) record.died(3, "ended by signal 9", "step " + std::to_string(step));
    record.died(3, "ended by signal 11", "step 7");
    record.died(3, "ended by signal 11", "step 7");
    EXPECT_FALSE(record.backoff(3).has_value()) << "that may be chance";
    record.died(3, "ended by signal 11", "step 7");
    ASSERT_TRUE(record.backoff(3).has_value());
    EXPECT_THAT(*record.backoff(3), HasSubstr("signal 11 at step 7, 3 times"));
    EXPECT_FALSE(record.backoff(4).has_value());
    EXPECT_EQ(record.figures().deaths, 8u);
    EXPECT_EQ(record.figures().tasks_in_backoff, 1u);
    record.worked(3);
    EXPECT_FALSE(record.backoff(3).has_value());
    EXPECT_THAT(told.back(), HasSubstr("task 3: its worker process ended by signal 11 at step 7, 3 times there"));
}

}  // namespace
}  // namespace retrace::test
