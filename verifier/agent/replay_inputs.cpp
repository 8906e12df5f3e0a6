// SPDX-License-Identifier: MIT
#include "verifier/agent/replay_inputs.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

#include "verifier/replay/segment_steps.hpp"

namespace retrace::verifier {
namespace {

using kernels::State;
using solver::Unavailable;

Unexpected<Unavailable> impossible(std::string why) {
    return Unexpected{Unavailable{std::move(why), std::nullopt, 0, 0}};
}

MemberSetup setup_of(const solver::GroupMaterial& material, kernels::ThreadPool& pool, std::uint32_t run) {
    MemberSetup setup{material.runner.get(), &pool, {}, run};
    for (const kernels::Tensor& tensor : material.data) setup.data.push_back(&tensor);
    return setup;
}

}  // namespace

Result<ReplayInputs, Unavailable> ReplayInputSource::segment(const solver::TaskTerms& terms, std::uint32_t run,
                                                             std::uint64_t segment,
                                                             const std::optional<solver::SegmentView>& member,
                                                             const solver::TaskCache::FreeMemory& free_memory) {
    if (terms.group) {
        if (!member) return impossible("the node names no records of the segment");
        return member_segment(terms, run, *member, free_memory);
    }
    RETRACE_TRY(material, task_cache_.material(terms, free_memory));
    ReplayInputs out;
    out.steps = steps_of({material->program.get(), material->program.get(), material->runner.get(), &task_cache_.pool(),
                          terms.seed, material->inputs().datasets});
    out.first = terms.schedule.step_of(segment);
    out.last = terms.schedule.step_of(segment + 1);
    out.fetch_start = [this, material, segment](const Hash32& root) {
        return task_cache_.fetch(*material, root, segment);
    };
    return out;
}

Result<ReplayInputs, Unavailable> ReplayInputSource::member_segment(const solver::TaskTerms& terms, std::uint32_t run,
                                                                    const solver::SegmentView& segment,
                                                                    const solver::TaskCache::FreeMemory& free_memory) {
    if (messages_ == nullptr) return impossible("there is no store of messages");
    // A replay under other masks would find another end, and cost an honest auditor its bond.
    if (segment.masks.size() != segment.span.masks) return impossible("the masks over its message are not shown yet");
    RETRACE_TRY(material, task_cache_.group(terms, free_memory));
    const auto positions = segment.positions(material->plan->steps_max());
    if (!positions) return impossible(positions.error().message);
    if (positions->count() == 0) return impossible("the segment has no positions");
    RETRACE_CHECK(fetch_messages(*material, segment));
    const auto load_message = [this, material, records = segment.records](std::size_t record, std::size_t entry) {
        const solver::RecordView& from = records.at(record);
        return load(*material, solver::message_key(material->terms.id, from.round, from.entries.at(entry)),
                    material->plan->public_tensors());
    };
    ReplayInputs out;
    out.steps = steps_of(setup_of(*material, task_cache_.pool(), run), segment, *positions, load_message);
    out.last = positions->count();
    out.fetch_start = [this, material, step = segment.start_step](const Hash32& root) -> Result<State, Unavailable> {
        // Everybody can make the state that `init` makes; a member that has opened another one has to serve it. One that
        // joined later began with the shared tensors of another member.
        if (step == 0 && material->plan->has(kernels::Phase::init)) {
            auto made = material->runner->init();
            if (made && kernels::commit_state(material->plan->root(), *made, task_cache_.pool()).root == root)
                return std::move(*made);
        }
        return task_cache_.fetch(*material, root, step);
    };
    return out;
}

Status<Unavailable> ReplayInputSource::fetch_messages(const solver::GroupMaterial& material,
                                                      const solver::SegmentView& segment) {
    std::vector<solver::MessageKey> keys;
    std::vector<std::uint64_t> indices;
    std::vector<solver::MessageRequest> requests;
    for (const solver::RecordView& record : segment.records) {
        for (const solver::RecordView::Entry& entry : record.entries) {
            const solver::MessageKey key = solver::message_key(material.terms.id, record.round, entry);
            if (messages_->has(key, entry.tensors)) continue;
            keys.push_back(key);
            indices.push_back(solver::message_index(record.round, entry.run));
            requests.push_back({entry.tensors, material.terms.id, entry.run});
        }
    }
    Status<Unavailable> out = Unit{};
    task_cache_.fetch_messages(material, requests, [&](std::size_t place, solver::FetchedMessage fetched) {
        if (!fetched) {
            Unavailable missing = std::move(fetched).error();
            if (missing.kind == solver::ReportKind::message) missing.index = indices[place];
            out = Unexpected{std::move(missing)};
        } else if (const auto saved = messages_->save(keys[place], requests[place].roots, *fetched); !saved) {
            out = impossible(saved.error().message);
        }
        return out.has_value();
    });
    return out;
}

std::vector<kernels::Tensor> ReplayInputSource::load(const solver::GroupMaterial& material,
                                                     const solver::MessageKey& key,
                                                     const std::vector<std::uint32_t>& numbers) {
    std::vector<kernels::Tensor> out;
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
        const kernels::TensorRecord& record = material.plan->states().tensors[numbers[i]];
        auto tensor = messages_->tensor_of(key, i, record, task_cache_.pool());
        // A damaged file is removed, so that the next attempt fetches it again.
        if (!tensor) throw std::runtime_error(tensor.error().message);
        out.push_back(std::move(tensor).value());
    }
    return out;
}

Status<Unavailable> ReplayInputSource::store_anchor(const solver::GroupMaterial& material,
                                                    const solver::EntryView& entry) {
    const solver::MessageKey key{material.terms.id, entry.base, solver::kAnchorRun};
    if (messages_->has(key, entry.anchor)) return Unit{};
    RETRACE_TRY(tensors, task_cache_.fetch_shared(material, entry.anchor));
    const auto saved = messages_->save(key, entry.anchor, tensors);
    if (!saved) return impossible(saved.error().message);
    return Unit{};
}

Result<ReplayInputs, Unavailable> ReplayInputSource::initial(const solver::TaskTerms& terms, std::uint32_t run,
                                                             const std::optional<solver::EntryView>& entry,
                                                             const solver::TaskCache::FreeMemory& free_memory) {
    ReplayInputs out;
    if (!terms.group) {
        RETRACE_TRY(material, task_cache_.material(terms, free_memory));
        if (material->init == nullptr) return impossible("the task has no initialiser");
        out.steps = steps_of({material->program.get(),
                              material->init.get(),
                              material->init_runner.get(),
                              &task_cache_.pool(),
                              terms.seed,
                              {}});
        return out;
    }
    if (!entry) return impossible("the node does not say how the member's first state is made");
    if (messages_ == nullptr) return impossible("there is no store of messages");
    RETRACE_TRY(material, task_cache_.group(terms, free_memory));
    const bool enters = !entry->anchor.empty();
    if (!material->plan->has(enters ? kernels::Phase::enter : kernels::Phase::init))
        return impossible("the plan has no phase that makes the member's first state");
    MemberSetup setup = setup_of(*material, task_cache_.pool(), run);
    if (enters) {
        RETRACE_CHECK(store_anchor(*material, *entry));
        std::vector<std::uint32_t> numbers(entry->anchor.size());
        std::iota(numbers.begin(), numbers.end(), 0U);
        out.steps = enter_steps_of(std::move(setup), entry->base,
                                   load(*material, {material->terms.id, entry->base, solver::kAnchorRun}, numbers));
    } else {
        out.steps = init_steps_of(std::move(setup));
    }
    return out;
}

Status<Unavailable> ReplayInputSource::prepare(const solver::TaskTerms& terms,
                                               const solver::TaskCache::FreeMemory& free_memory) {
    if (terms.group) {
        RETRACE_CHECK(task_cache_.group(terms, free_memory));
    } else {
        RETRACE_CHECK(task_cache_.material(terms, free_memory));
    }
    return Unit{};
}

void ReplayInputSource::keep_from(const std::map<std::uint64_t, std::uint32_t>& rounds) {
    if (messages_ == nullptr) return;
    for (const std::uint64_t task : messages_->tasks()) {
        const auto needed = rounds.find(task);
        messages_->keep_from(task, needed == rounds.end() ? UINT32_MAX : needed->second);
    }
}

}  // namespace retrace::verifier
