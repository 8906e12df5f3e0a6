// SPDX-License-Identifier: MIT
#include "node/agents/public_reason.hpp"

#include <string>
#include <utility>

#include "node/platform/fault.hpp"

namespace retrace::node {
namespace {

struct Cause {
    std::string_view mark;  ///< In the text.
    std::string_view told;
};

/// Texts of the system, and of this program's own sentences.
constexpr Cause kCauses[] = {
    {"No space left on device", "a disk is full"},
    {"Disk quota exceeded", "a quota of a disk is used up"},
    {"Read-only file system", "a disk is read-only"},
    {"Input/output error", "a disk failed"},
    {"Too many open files", "too many files are open"},
    {"Permission denied", "a permission is missing"},
    {"Cannot allocate memory", "memory is used up"},
    {"bad_alloc", "memory is used up"},
    {" bytes of memory and ", "the task needs more memory than is allowed (--memory)"},
    {"worker process", "the process that runs the program ended"},
    {"others have committed to most of what it would be paid for",
     "others have committed to most of what it would be paid for"},
    {"the task asks for another kernel contract", "the task asks for another kernel contract"},
    {"longer than the task says", "the program is longer than the task says"},
    {"do not hash to it", "a file does not have its hash"},
    {"has another dtype or shape than the program says", "a tensor has another shape than the program says"},
    {"no CUDA", "there is no CUDA device"},
    {"no such checkpoint", "a checkpoint is not here any more"},
};

/// Failures of this program that begin with their slug (node/artifacts/peer_source).
constexpr std::pair<Fault, std::string_view> kFaults[] = {
    {Fault::no_space, "a disk is full"},
    {Fault::io, "a file could not be read or written"},
    {Fault::corrupt, "a file here is damaged"},
    {Fault::in_use, "another process uses its files"},
    {Fault::timeout, "a file of others did not come in time"},
    {Fault::unreachable, "a peer was not reached"},
    {Fault::not_found, "a file is nowhere to be had"},
    {Fault::incomplete, "a file is not complete at its peers"},
    {Fault::busy, "a peer was busy"},
    {Fault::refused, "a peer refused"},
    {Fault::malformed, "a peer sent no valid answer"},
    {Fault::too_large, "a file is larger than is allowed"},
    {Fault::wrong_root, "a file does not have its hash"},
    {Fault::wrong_proof, "a file does not have its hash"},
    {Fault::bad_tile, "a file does not have its hash"},
    {Fault::wrong_shape, "a tensor has another shape than the program says"},
};

/// Whether the text, or a part of it that follows a space, begins with the slug and a colon.
bool has_slug(std::string_view text, Fault fault) {
    const std::string mark = std::string(slug(fault)) + ": ";
    return text.starts_with(mark) || text.find(' ' + mark) != std::string_view::npos;
}

}  // namespace

std::string_view public_reason(std::string_view text) {
    for (const Cause& cause : kCauses)
        if (text.find(cause.mark) != std::string_view::npos) return cause.told;
    for (const auto& [fault, told] : kFaults)
        if (has_slug(text, fault)) return told;
    return "for a reason that its own log has";
}

}  // namespace retrace::node
