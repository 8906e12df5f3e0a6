// SPDX-License-Identifier: MIT
#include "kernels/offload/state_store.hpp"

namespace retrace::kernels {
namespace {

std::uint64_t block_bytes(const TensorRecord& record) {
    const std::uint64_t bytes = geometry(record.dims).elements() * size_of(record.dtype);
    return (bytes + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
}

}  // namespace

Result<StateStore> StateStore::open(const Program& program, ScratchFolder& folder) {
    std::vector<Places> states;
    std::uint64_t at = 0;
    for (std::uint32_t s = 0; s < program.states; ++s) {
        states.push_back({at, block_bytes(program.tensors[s])});
        at += Versions::kPlaces * states.back().bytes;
    }
    RETRACE_TRY(file, folder.make(at));
    return StateStore(std::move(file), std::move(states));
}

Status<> StateStore::make_spill(ScratchFolder& folder, std::uint64_t bytes) {
    if (bytes <= spill_bytes_) return Unit{};
    spill_.reset();
    spill_bytes_ = 0;
    RETRACE_TRY(file, folder.make(bytes));
    spill_ = std::move(file);
    spill_bytes_ = bytes;
    return Unit{};
}

std::uint64_t StateStore::place(std::uint32_t state, Version version) const {
    const Places& places = states_[state];
    const Versions& versions = places.versions;
    const std::uint8_t number = version == Version::current ? versions.current
                                : version == Version::next  ? versions.next()
                                                            : versions.kept;
    return places.at + number * places.bytes;
}

Status<> StateStore::read(std::uint32_t state, Version version, std::uint8_t* to) const {
    return file_.read(place(state, version), to, states_[state].bytes);
}

Status<> StateStore::write(std::uint32_t state, Version version, const std::uint8_t* from) {
    if (version == Version::next) states_[state].versions.stored = true;
    return file_.write(place(state, version), from, states_[state].bytes);
}

Status<> StateStore::run(const Transfer& transfer, const OffloadBlock& block, std::uint8_t* room) {
    std::uint8_t* const here = room + transfer.at;
    if (block.state != kNoBlock) {
        const Version version = transfer.next ? Version::next : Version::current;
        return transfer.store ? write(block.state, version, here) : read(block.state, version, here);
    }
    return transfer.store ? spill_->write(block.spill, here, block.bytes)
                          : spill_->read(block.spill, here, block.bytes);
}

void StateStore::discard() {
    for (Places& places : states_) places.versions.discard();
}

void StateStore::advance() {
    for (Places& places : states_) places.versions.advance();
}

void StateStore::keep() {
    for (Places& places : states_) places.versions.keep();
}

}  // namespace retrace::kernels
