// SPDX-License-Identifier: MIT
#include "solver/rounds/group_view.hpp"

namespace retrace::solver {

kernels::MessageFacts facts_of(const RecordView& record, std::size_t entry) {
    const RecordView::Entry& of = record.entries.at(entry);
    return {of.weight, record.total, of.age, of.steps};
}

Result<kernels::SegmentPositions> SegmentView::positions(std::uint32_t steps_max) const {
    std::vector<std::uint32_t> messages;
    for (const RecordView& record : records) {
        if (record.round != span.from + messages.size())
            return error("segment: the records are not those of its rounds");
        messages.push_back(static_cast<std::uint32_t>(record.entries.size()));
    }
    return kernels::SegmentPositions::make(span, messages, steps_max);
}

}  // namespace retrace::solver
