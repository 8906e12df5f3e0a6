// SPDX-License-Identifier: MIT
#include "solver/worker/messages.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace retrace::solver {
namespace {

constexpr kernels::Limits kLimits;
constexpr std::size_t kNameMax = 120;  // Longest name of a tensor record (kernels/program/program.hpp).
constexpr std::size_t kWhyMax = 1024;

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};

/// A message is encoded as its index in the variant, from 1, followed by its fields.
template <class Message>
Writer begin(const Message& message) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(message.index() + 1));
    return out;
}

/// Sets `message` to a default value of alternative `wanted`.
template <std::size_t index = 0, class Message>
void begin_as(std::size_t wanted, Message& message) {
    if (wanted == index) {
        message.template emplace<index>();
    } else if constexpr (index + 1 < std::variant_size_v<Message>) {
        begin_as<index + 1>(wanted, message);
    }
}

template <class Message>
void read_kind(Reader& in, Message& message) {
    const std::uint8_t kind = in.enumerated(1, static_cast<std::uint8_t>(std::variant_size_v<Message>));
    if (in.ok()) begin_as(kind - 1u, message);
}

void write(Writer& out, const std::vector<kernels::Metric>& metrics) {
    out.u32(static_cast<std::uint32_t>(metrics.size()));
    for (const kernels::Metric& metric : metrics) out.text(metric.name).u32(std::bit_cast<std::uint32_t>(metric.value));
}

std::vector<kernels::Metric> read_metrics(Reader& in, std::size_t most) {
    constexpr std::size_t kLeast = 8;  // Bytes of the shortest metric.
    std::vector<kernels::Metric> metrics;
    for (std::uint32_t left = in.count(most, kLeast); left > 0 && in.ok(); --left) {
        kernels::Metric metric;
        metric.name = in.text(kNameMax);
        metric.value = std::bit_cast<float>(in.u32());
        metrics.push_back(std::move(metric));
    }
    return metrics;
}

/// Reads the steps of a reply; no step may follow after kMetricsAtOnce metrics.
std::vector<std::vector<kernels::Metric>> read_steps(Reader& in, std::size_t metrics_of_a_step) {
    std::vector<std::vector<kernels::Metric>> steps;
    std::size_t metrics = 0;
    for (std::uint32_t left = in.count(kStepsMax, 4); left > 0 && in.ok(); --left) {
        if (metrics >= kMetricsAtOnce) in.fail(CodecError::too_long);
        steps.push_back(read_metrics(in, metrics_of_a_step));
        metrics += steps.back().size();
    }
    return steps;
}

}  // namespace

ReplyLimits limits_of(const kernels::Program& program) {
    ReplyLimits limits{0, std::max(program.states, static_cast<std::uint32_t>(program.ops.size()))};
    for (const kernels::TensorRecord& tensor : std::span(program.tensors).subspan(program.tensors_static()))
        if (!tensor.name.empty() && tensor.dims.empty() && tensor.dtype == kernels::DType::f32) ++limits.metrics;
    return limits;
}

std::size_t longest_reply(const ReplyLimits& limits) {
    constexpr std::size_t kHead = 64, kMetric = 8 + kNameMax;
    const std::size_t metrics = std::size_t{kMetricsAtOnce} + limits.metrics;
    return kHead + std::max({kWhyMax, 4 * std::size_t{kStepsMax} + kMetric * metrics, sizeof(Hash32) * limits.roots});
}

Bytes encode(const WorkerRequest& request) {
    Writer out = begin(request);
    std::visit(
        Overloaded{
            [&](const SetProgram& m) { out.u64(m.seed).u64(m.program_bytes).u8(static_cast<std::uint8_t>(m.device)); },
            [&](const SetInputs& m) { out.u64(m.seed); },
            [&](const Load& m) { out.u64(m.step); },
            [&](const Advance& m) { out.u64(m.number).u32(m.most); },
            [&](const Leave& m) { out.u64(m.number); },
            [&](const Outputs& m) {
                out.u32(static_cast<std::uint32_t>(m.ops.size()));
                for (const std::uint32_t op : m.ops) out.u32(op);
            },
            [&](const Partial& m) { out.u32(m.op).u64(m.step).u64(m.tile).u64(m.first).u64(m.end); },
            [](const auto&) {},
        },
        request);
    return std::move(out).take();
}

Bytes encode(const WorkerReply& reply) {
    Writer out = begin(reply);
    std::visit(Overloaded{
                   [&](const Ready& m) { out.u64(m.planned_bytes).boolean(m.on_device).u64(m.disk_bytes); },
                   [&](const Stepped& m) {
                       out.u32(static_cast<std::uint32_t>(m.steps.size()));
                       for (const auto& metrics : m.steps) write(out, metrics);
                   },
                   [&](const Stored& m) { out.u64(m.step); },
                   [&](const Roots& m) {
                       out.u64(m.step).u32(static_cast<std::uint32_t>(m.roots.size()));
                       for (const Hash32& root : m.roots) out.hash(root);
                   },
                   [&](const Failed& m) { out.boolean(m.memory).text(m.why.substr(0, kWhyMax)); },
                   [](const auto&) {},
               },
               reply);
    return std::move(out).take();
}

Result<WorkerRequest, CodecError> decode_worker_request(View bytes) {
    Reader in(bytes);
    Result<WorkerRequest, CodecError> out = WorkerRequest();
    read_kind(in, *out);
    std::visit(Overloaded{
                   [&](SetProgram& m) {
                       m.seed = in.u64();
                       m.program_bytes = in.u64();
                       m.device = static_cast<DeviceChoice>(in.enumerated(1, 3));
                   },
                   [&](SetInputs& m) { m.seed = in.u64(); },
                   [&](Load& m) { m.step = in.u64(); },
                   [&](Advance& m) {
                       m.number = in.u64();
                       m.most = in.u32();
                   },
                   [&](Leave& m) { m.number = in.u64(); },
                   [&](Outputs& m) {
                       for (std::uint32_t left = in.count(kLimits.ops, 4); left > 0; --left) m.ops.push_back(in.u32());
                   },
                   [&](Partial& m) {
                       m.op = in.u32();
                       m.step = in.u64();
                       m.tile = in.u64();
                       m.first = in.u64();
                       m.end = in.u64();
                   },
                   [](auto&) {},
               },
               *out);
    if (const auto whole = in.finish(); !whole) out = Unexpected{whole.error()};
    return out;
}

Result<WorkerReply, CodecError> decode_worker_reply(View bytes, const ReplyLimits& limits) {
    Reader in(bytes);
    Result<WorkerReply, CodecError> out = WorkerReply();
    read_kind(in, *out);
    std::visit(Overloaded{
                   [&](Ready& m) {
                       m.planned_bytes = in.u64();
                       if (m.planned_bytes > kPlannedMax) in.fail(CodecError::too_long);
                       m.on_device = in.boolean();
                       m.disk_bytes = in.u64();
                       if (m.disk_bytes > kPlannedMax) in.fail(CodecError::too_long);
                   },
                   [&](Stepped& m) { m.steps = read_steps(in, limits.metrics); },
                   [&](Stored& m) { m.step = in.u64(); },
                   [&](Roots& m) {
                       m.step = in.u64();
                       for (std::uint32_t left = in.count(limits.roots, 32); left > 0; --left)
                           m.roots.push_back(in.hash());
                   },
                   [&](Failed& m) {
                       m.memory = in.boolean();
                       m.why = in.text(kWhyMax);
                   },
                   [](auto&) {},
               },
               *out);
    if (const auto whole = in.finish(); !whole) out = Unexpected{whole.error()};
    return out;
}

}  // namespace retrace::solver
