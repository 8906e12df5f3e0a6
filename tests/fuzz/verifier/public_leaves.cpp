// SPDX-License-Identifier: MIT
// Tensors that are shown in a state: one encoding each, and what is taken as shown is what the state has, whatever
// becomes of the bytes of an honest showing.
#include "verifier/game/public_leaves.hpp"

#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace verifier;

constexpr std::size_t kTensorsMax = 40;

/// Shows the tensors `wanted` of a state in damaged bytes.
void show_damaged(Choices& choices) {
    std::vector<Hash32> roots;
    for (std::size_t i = choices.between(1, kTensorsMax); i > 0; --i) roots.push_back(choices.hash());
    kernels::ProgramHeader program;
    program.states = static_cast<std::uint32_t>(roots.size());
    const kernels::StateCommitment state = kernels::commit_roots(choices.hash(), choices.number(), roots);
    std::vector<std::uint32_t> made, wanted;
    for (std::uint32_t t = 0; t < program.states && made.size() < kPublicLeavesMax; ++t) {
        if (choices.flip()) made.push_back(t);
        if (choices.flip()) wanted.push_back(t);
    }
    if (made.empty()) made.push_back(0);
    if (choices.flip()) wanted = made;
    Bytes bytes = encode(make_public_leaves(state, program, made));
    damage(bytes, choices);
    const auto shown = decode_public_leaves(bytes);
    if (!shown) return;
    require(encode(*shown) == bytes, "one showing has one encoding");
    if (!shows(*shown, state.root, wanted, program.root())) return;
    require(shown->leaves.size() == wanted.size(), "all of what is wanted is shown");
    for (std::size_t i = 0; i < wanted.size(); ++i)
        require(shown->leaves[i] == roots[wanted[i]], "what is shown is the state's");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t i = 0; i < 20; ++i) out.push_back(random_choices(0, i, 1000));
    const kernels::StateCommitment state = kernels::commit_roots({}, 7, std::vector<Hash32>(5));
    kernels::ProgramHeader program;
    program.states = 5;
    out.push_back(with_kind(1, encode(make_public_leaves(state, program, std::vector<std::uint32_t>{0, 3}))));
    return out;
}

void run(View input) {
    Choices choices(input);
    if (!choices.flip()) return show_damaged(choices);
    const View bytes = choices.rest();
    if (const auto shown = decode_public_leaves(bytes))
        require(equal(encode(*shown), bytes), "one showing has one encoding");
}

}  // namespace retrace::fuzz
