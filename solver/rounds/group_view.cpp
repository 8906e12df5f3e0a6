// SPDX-License-Identifier: MIT
#include "solver/rounds/group_view.hpp"

namespace retrace::solver {

kernels::MessageFacts facts_of(const RecordView& record, std::size_t entry) {
    const RecordView::Entry& of = record.entries.at(entry);
    return {of.weight, record.total, of.age, of.steps};
}

kernels::Message mask_message(const std::vector<kernels::MaskRow>& rows, const kernels::Position& position,
                              kernels::Tensor& table) {
    table = kernels::mask_table(rows);
    return {kernels::mask_facts(position.message), {&table}};
}

Result<kernels::SegmentPositions> SegmentView::positions(std::uint32_t steps_max) const {
    std::vector<std::uint32_t> messages, masks;
    for (const RecordView& record : records) {
        if (record.round != span.from + messages.size())
            return error("segment: the records are not those of its rounds");
        messages.push_back(static_cast<std::uint32_t>(record.entries.size()));
        masks.push_back(static_cast<std::uint32_t>(record.masks.size()));
    }
    return kernels::SegmentPositions::make(span, messages, steps_max, masks);
}

}  // namespace retrace::solver
