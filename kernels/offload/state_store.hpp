// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "kernels/exec/offload_plan.hpp"
#include "kernels/offload/scratch_file.hpp"
#include "kernels/offload/versions.hpp"

namespace retrace::kernels {

/// The state of an offloaded training, on disk. Each tensor has three places: of the current value, of the next one, and
/// of the value that was kept by `keep`. So a step that fails leaves the state that it began with. Pieces of the arena have a
/// file of their own beside that of the state.
class StateStore {
public:
    static Result<StateStore> open(const Program& program, ScratchFolder& folder);
    /// Makes room for `bytes` of pieces of the arena, of which a program's plan says how many it has. What was there is
    /// lost. After an error there is none.
    Status<> make_spill(ScratchFolder& folder, std::uint64_t bytes);

    enum class Version : std::uint8_t { current, next, kept };

    // Memory is aligned to kDiskBlock and has the bytes of the block: a tensor's, rounded up.
    Status<> read(std::uint32_t state, Version version, std::uint8_t* to) const;
    Status<> write(std::uint32_t state, Version version, const std::uint8_t* from);
    Status<> run(const Transfer& transfer, const OffloadBlock& block, std::uint8_t* room);

    /// Forgets next values, as those of a step that failed.
    void discard();
    /// Makes the next values current, of the tensors that the step stored.
    void advance();
    /// Keeps the current values until the next call.
    void keep();

    const ScratchFile& file() const noexcept { return file_; }  ///< Of the state.

private:
    struct Places {
        std::uint64_t at = 0, bytes = 0;
        Versions versions = {};
    };

    StateStore(ScratchFile file, std::vector<Places> states) : file_(std::move(file)), states_(std::move(states)) {}
    std::uint64_t place(std::uint32_t state, Version version) const;

    ScratchFile file_;
    std::vector<Places> states_;
    std::optional<ScratchFile> spill_;
    std::uint64_t spill_bytes_ = 0;
};

}  // namespace retrace::kernels
