// SPDX-License-Identifier: MIT
#include "solver/artifacts/group_artifacts.hpp"

#include <algorithm>
#include <utility>

namespace retrace::solver {

CommittedPlan::CommittedPlan(kernels::GroupPlan plan)
    : root_(kernels::plan_root(plan)),
      steps_max_(plan.steps_max),
      shared_(plan.shared),
      public_tensors_(std::move(plan.public_tensors)) {
    for (kernels::PhaseProgram& phase : plan.phases)
        phases_.emplace(phase.phase,
                        CommittedPhase{kernels::CommittedProgram(std::move(phase.program)), phase.member_seed});
}

Result<std::unique_ptr<CommittedPlan>> fetch_plan(ArtifactSource& source, const Hash32& root, std::uint64_t limit) {
    RETRACE_TRY(bytes, source.program(root, limit));
    if (bytes.size() > limit) return error("plan " + to_hex(view(root)) + " is longer than the task says");
    RETRACE_TRY(plan, kernels::decode_plan(bytes));
    auto committed = std::make_unique<CommittedPlan>(std::move(plan));
    if (committed->root() != root)
        return error("the bytes served for plan " + to_hex(view(root)) + " do not hash to it");
    return committed;
}

namespace {

using Arrived = std::vector<std::optional<kernels::Tensor>>;

/// Fetches what did not arrive, and checks everything.
FetchedMessage complete(ArtifactSource& source, const MessageRecords& records, const MessageRequest& request,
                        Arrived arrived, kernels::ThreadPool& pool) {
    arrived.resize(records.size());
    std::vector<kernels::Tensor> out;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
        const kernels::TensorRecord& record = *records[i];
        const Hash32& root = request.roots[i];
        auto tensor = arrived[i] ? Result<kernels::Tensor>(std::move(*arrived[i]))
                                 : source.message_tensor(root, record, request.task, request.run);
        const Status<> right = tensor ? check_fetched(*tensor, record, root, pool) : error(tensor.error().message);
        if (!right) {
            const std::uint64_t tile = source.first_missing_tile(root);
            return Unexpected{
                Unavailable{"the message of run " + std::to_string(request.run) + ": " + right.error().message,
                            ReportKind::message, request.run, i, tile}};
        }
        out.push_back(std::move(tensor).value());
    }
    return out;
}

}  // namespace

void fetch_messages(ArtifactSource& source, const CommittedPlan& plan, const std::vector<MessageRequest>& requests,
                    kernels::ThreadPool& pool, const std::function<bool(std::size_t place, FetchedMessage)>& done) {
    MessageRecords records;
    for (const std::uint32_t number : plan.public_tensors()) records.push_back(&plan.states().tensors[number]);
    std::vector<MessageRequest> asked;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < requests.size(); ++place) {
        if (requests[place].roots.size() == records.size()) {
            asked.push_back(requests[place]);
            places.push_back(place);
        } else if (!done(place, Unexpected{Unavailable{"a message with another number of tensors than the plan says",
                                                       std::nullopt}})) {
            return;
        }
    }
    std::vector<bool> ended(asked.size());
    bool going_on = true;
    source.messages(asked, records, [&](std::size_t i, Arrived tensors) {
        const bool whole = std::ranges::all_of(tensors, [](const auto& tensor) { return tensor.has_value(); });
        // Authors of wrong tensors would fill the memory with the right ones: they are asked for all of them once more.
        if (!whole || !going_on) return;
        ended[i] = true;
        going_on = done(places[i], complete(source, records, asked[i], std::move(tensors), pool));
    });
    for (std::size_t i = 0; i < asked.size() && going_on; ++i)
        if (!ended[i]) going_on = done(places[i], complete(source, records, asked[i], {}, pool));
}

FetchedMessage fetch_message(ArtifactSource& source, const CommittedPlan& plan, const MessageRequest& request,
                             kernels::ThreadPool& pool) {
    FetchedMessage out = Unexpected{Unavailable{}};
    fetch_messages(source, plan, {request}, pool, [&](std::size_t, FetchedMessage message) {
        out = std::move(message);
        return true;
    });
    return out;
}

}  // namespace retrace::solver
