// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>

#include "kernels/builder/training.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "solver/rounds/local_group.hpp"
#include "tests/bench/rounds/measurements.hpp"

namespace retrace::bench {
namespace {

constexpr std::uint32_t kGroupMembers = 64, kGroupRegions = 8;

/// The messages of a record as they are served, by run.
std::map<std::uint32_t, std::vector<Bytes>> packed(const solver::LocalGroup& group, std::uint64_t round) {
    std::map<std::uint32_t, std::vector<Bytes>> out;
    for (const solver::LocalGroup::Entry& entry : group.record(round))
        for (const kernels::Tensor& tensor : entry.tensors) out[entry.run].push_back(solver::transport_form(tensor));
    return out;
}

/// Packed bytes of these messages but its own, without the heads of replies.
double downloaded(const std::map<std::uint32_t, std::vector<Bytes>>& messages, std::uint32_t member) {
    double out = 0;
    for (const auto& [run, tensors] : messages)
        for (const Bytes& body : tensors) out += run == member ? 0 : static_cast<double>(body.size());
    return out;
}

/// Those that the member lists (contracts 21.20.4), and those of its region if it merges them.
std::map<std::uint32_t, std::vector<Bytes>> to_list(const solver::LocalGroup& group,
                                                    const std::map<std::uint32_t, std::vector<Bytes>>& messages,
                                                    std::uint32_t member) {
    std::vector<solver::LocalGroup::Entry> entries = group.record(0);
    std::ranges::sort(entries, {}, [](const auto& entry) { return std::pair(entry.place, entry.region); });
    std::vector<kernels::PlacedRun> order;
    for (const auto& entry : entries) order.push_back({entry.run, entry.region});
    const auto judges = kernels::judges_of(order, kGroupRegions);
    const auto own = std::ranges::find(entries, member, &solver::LocalGroup::Entry::run);
    std::map<std::uint32_t, std::vector<Bytes>> out;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool merges = own->place < kernels::kRegionMergers && own->region == entries[i].region;
        if (merges || std::ranges::find(judges[i], member) != judges[i].end())
            out[entries[i].run] = messages.at(entries[i].run);
    }
    return out;
}

}  // namespace

std::vector<Row> measure_regions() {
    // A GPT of 0.2 million parameters; its messages are as long as those of a trained one, whatever the data.
    const kernels::ModelSpec model{"gpt", {}, {64}, 256, 64, 2, 4};
    kernels::TrainingSpec training;
    training.samples = 64;
    training.batch = 1;
    const auto programs = kernels::build_training(model, training, 64, 1);
    ensure(programs.has_value(), "the programs of a benchmark");
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {64, 64}), y = x;
    for (std::size_t i = 0; i < x.data.size(); ++i) {
        x.data[i] = static_cast<std::uint8_t>(i * 2654435761u >> 13);
        y.data[i] = static_cast<std::uint8_t>(i * 40503u >> 7);
    }
    kernels::RoundsSpec spec;
    spec.members = spec.regions = kGroupRegions;
    const auto plan = kernels::build_rounds(*programs, training, spec);
    ensure(plan.has_value(), "the plan of a benchmark");
    kernels::ThreadPool pool;
    solver::LocalGroup group(*plan, 1, {&x, &y}, kGroupMembers, pool);
    group.set_regions(kGroupRegions);
    group.play(std::vector<solver::MemberTurn>(kGroupMembers, {1, true}));

    const auto sent = packed(group, 0), merged = packed(group, 1);
    ensure(sent.size() == kGroupMembers && merged.size() == kGroupRegions,
           "a message of each member and of each region");
    double flat = 0, sum = 0, most = 0;
    std::vector<double> regional;
    for (std::uint32_t member = 0; member < kGroupMembers; ++member) {
        flat += downloaded(sent, member) / kGroupMembers;
        const double bytes = downloaded(to_list(group, sent, member), member) + downloaded(merged, member);
        regional.push_back(bytes);
        sum += bytes;
        most = std::max(most, bytes);
    }
    return {{"rounds_regions", "bytes down", "all messages", median(regional), flat},
            {"rounds_regions_mean", "bytes down", "all messages", sum / kGroupMembers, flat},
            {"rounds_regions_most", "bytes down", "all messages", most, flat}};
}

}  // namespace retrace::bench
