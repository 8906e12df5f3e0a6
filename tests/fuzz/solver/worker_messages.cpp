// SPDX-License-Identifier: MIT
// Messages between a party and a worker process that a stranger's program may have compromised: a decoded message has
// exactly one encoding and no more of anything than the program allows, and a worker exits cleanly for any input.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include "kernels/builder/training.hpp"
#include "solver/worker/messages.hpp"
#include "solver/worker/serve.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace solver;

const Bytes& program() {
    static const Bytes file = [] {
        kernels::ModelSpec model;
        model.hidden = {4};
        model.input = {1, 2, 2};
        model.classes = 2;
        kernels::TrainingSpec training;
        training.samples = training.batch = 2;
        return kernels::encode(kernels::build_training(model, training, 2, 2).value().init);
    }();
    return file;
}

Bytes framed(const WorkerRequest& request) {
    const Bytes message = encode(request);
    Bytes out(4);
    store_u32(out.data(), static_cast<std::uint32_t>(message.size()));
    out.insert(out.end(), message.begin(), message.end());
    return out;
}

void require_within(const WorkerReply& reply, View bytes, const ReplyLimits& limits) {
    require(bytes.size() <= longest_reply(limits), "an answer is as long as it may be");
    if (const auto* ready = std::get_if<Ready>(&reply))
        require(ready->planned_bytes <= kPlannedMax, "a plan is no larger than there can be");
    if (const auto* roots = std::get_if<Roots>(&reply)) require(roots->roots.size() <= limits.roots, "as many roots");
    if (const auto* stepped = std::get_if<Stepped>(&reply)) {
        std::size_t metrics = 0;
        for (const auto& step : stepped->steps) {
            require(step.size() <= limits.metrics, "as many metrics of a step");
            metrics += step.size();
        }
        require(metrics < kMetricsAtOnce + limits.metrics, "as many metrics of all steps");
    }
}

/// Workers have a memory limit, because a program may ask for more than this machine has.
void limit_memory() {
    static const int limited = [] {
        rlimit most{};
        ::getrlimit(RLIMIT_DATA, &most);
        most.rlim_cur = std::min<rlim_t>(most.rlim_max, rlim_t{1} << 30);
        return ::setrlimit(RLIMIT_DATA, &most);
    }();
    require(limited == 0, "a limit can be set");
}

/// Sends all bytes, then end of file.
void serve_bytes(View bytes) {
    limit_memory();
    std::array<int, 2> in{};
    constexpr std::size_t kFits = 32 << 10;
    if (bytes.size() > kFits || ::pipe2(in.data(), O_CLOEXEC) != 0) return;
    require(::write(in[1], bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "a pipe holds so much");
    ::close(in[1]);
    Channel channel(in[0], ::open("/dev/null", O_WRONLY | O_CLOEXEC));
    kernels::ThreadPool pool(1);
    serve(channel, pool, honest_worker_runner());
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (const WorkerRequest& request :
         {WorkerRequest(SetProgram{7, 9, DeviceChoice::cpu}), WorkerRequest(Load{3}), WorkerRequest(Advance{1}),
          WorkerRequest(Outputs{{0, 2}}), WorkerRequest(Partial{1, 2, 3, 4, 5})})
        out.push_back(with_kind(0, encode(request)));
    for (const WorkerReply& reply :
         {WorkerReply(Ready{9, true, 7}), WorkerReply(Stepped{{{{"loss", 0.5f}}, {}}}), WorkerReply(Stored{4}),
          WorkerReply(Roots{4, {Hash32{}, Hash32{}}}), WorkerReply(Failed{true, "why"}),
          WorkerReply(Ready{kPlannedMax + 1, true, 0}), WorkerReply(Stepped{{std::vector<kernels::Metric>(3)}}),
          WorkerReply(Stepped{{2, std::vector<kernels::Metric>(kMetricsAtOnce)}})})
        out.push_back(with_kind(1, encode(reply)));
    Bytes talk = framed(SetProgram{7, program().size(), DeviceChoice::cpu});
    talk.insert(talk.end(), program().begin(), program().end());
    out.push_back(with_kind(2, talk));
    return out;
}

void run(View input) {
    Choices choices(input);
    const std::size_t what = choices.below(3);
    const View bytes = choices.rest();
    if (what == 0) {
        if (const auto request = decode_worker_request(bytes))
            require(equal(encode(*request), bytes), "one request has one encoding");
    } else if (what == 1) {
        if (const auto reply = decode_worker_reply(bytes))
            require(equal(encode(*reply), bytes), "one reply has one encoding");
        constexpr ReplyLimits kFew{2, 3};
        if (const auto reply = decode_worker_reply(bytes, kFew)) require_within(*reply, bytes, kFew);
    } else {
        serve_bytes(bytes);
    }
}

}  // namespace retrace::fuzz
