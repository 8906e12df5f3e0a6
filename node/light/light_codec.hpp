// SPDX-License-Identifier: MIT
// Blocks of CometBFT in the canonical codec, for proofs that are kept in files. Decoding accepts what parse_light_block
// accepts, and one encoding of it.
#pragma once

#include "merkle/base/codec.hpp"
#include "node/light/light_block.hpp"

namespace retrace::node::light {

void encode_to(Writer& out, const LightBlock& block);
LightBlock decode_light_block(Reader& in);

}  // namespace retrace::node::light
