// SPDX-License-Identifier: MIT
#include "kernels/tools/known_answer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include "kernels/scalar/scalar.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels::tools {

namespace {

Unexpected<Error> missing(std::string_view what) {
    return error("member \"" + std::string(what) + "\" is missing or wrong");
}

Result<std::string> text_of(const Json& json, std::string_view key) {
    const Json* member = json.find(key);
    if (member == nullptr || member->text() == nullptr) return missing(key);
    return *member->text();
}

Result<std::uint64_t> natural_of(const Json& json, std::string_view key, std::uint64_t most) {
    const Json* member = json.find(key);
    if (member == nullptr || member->natural() == nullptr || *member->natural() > most) return missing(key);
    return *member->natural();
}

Result<std::int64_t> integer_of(const Json& json, std::string_view key) {
    const Json* member = json.find(key);
    if (member == nullptr) return missing(key);
    if (member->negative() != nullptr) return *member->negative();
    if (member->natural() == nullptr || *member->natural() > INT64_MAX) return missing(key);
    return static_cast<std::int64_t>(*member->natural());
}

/// 8 hex digits, most significant first.
std::optional<std::uint32_t> word_of(const Json& json) {
    const std::string* text = json.text();
    std::uint32_t word = 0;
    if (text == nullptr || text->size() != 8) return std::nullopt;
    const auto [stop, problem] = std::from_chars(text->data(), text->data() + 8, word, 16);
    if (problem != std::errc{} || stop != text->data() + 8) return std::nullopt;
    return word;
}

Result<std::vector<std::uint32_t>> words_of(const Json& json, std::string_view key) {
    const Json* member = json.find(key);
    if (member == nullptr || member->array() == nullptr) return missing(key);
    std::vector<std::uint32_t> words;
    for (const Json& item : *member->array()) {
        const std::optional<std::uint32_t> word = word_of(item);
        if (!word) return missing(key);
        words.push_back(*word);
    }
    return words;
}

std::uint64_t split_mix(std::uint64_t seed, std::uint64_t n) {
    std::uint64_t z = seed + (n + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

float bell(std::uint64_t w) {
    const std::int64_t sum =
        static_cast<std::int64_t>((w & 0xffff) + (w >> 16 & 0xffff) + (w >> 32 & 0xffff) + (w >> 48));
    return static_cast<float>(sum - 131070) * 0x1p-16f;
}

/// Parameters of the generated kinds.
struct Generator {
    std::uint64_t seed = 0, radius = 0, lo = 0, hi = 0;
    std::int64_t exponent = 0;
    std::vector<std::uint32_t> list;

    float uniform(std::uint64_t w) const {
        return static_cast<float>(static_cast<std::int64_t>(w >> 40) - 8388608) * 0x1p-23f;
    }
    float heavy(std::uint64_t w) const { return std::ldexp(bell(w), static_cast<int>(w % 41) - 20); }
    float integer(std::uint64_t w) const {
        const std::int64_t n =
            static_cast<std::int64_t>((w >> 32) % (2 * radius + 1)) - static_cast<std::int64_t>(radius);
        return std::ldexp(static_cast<float>(n), static_cast<int>(exponent));
    }
    float wide(std::uint64_t w) const {
        const std::uint64_t field = lo + (w >> 32 & 0x7fffffff) % (hi - lo + 1);
        return from_bits(static_cast<std::uint32_t>(w >> 63) << 31 | static_cast<std::uint32_t>(field) << 23 |
                         static_cast<std::uint32_t>(w & 0x7fffff));
    }
};

Result<Generator> generator_of(const Json& json, std::string_view kind) {
    Generator g;
    RETRACE_TRY(seed, natural_of(json, "seed", UINT64_MAX));
    g.seed = seed;
    if (kind == "int") {
        RETRACE_TRY(radius, natural_of(json, "r", 1u << 24));
        RETRACE_TRY(exponent, integer_of(json, "e"));
        if (exponent < -149 || exponent > 127) return missing("e");
        g.radius = radius;
        g.exponent = exponent;
    } else if (kind == "wide") {
        RETRACE_TRY(lo, natural_of(json, "lo", 255));
        RETRACE_TRY(hi, natural_of(json, "hi", 255));
        if (lo > hi) return missing("lo");
        g.lo = lo;
        g.hi = hi;
    } else if (kind == "list") {
        RETRACE_TRY(list, words_of(json, "list"));
        if (list.empty()) return missing("list");
        g.list = std::move(list);
    }
    return g;
}

Result<std::vector<float>> generate(const Json& json, std::string_view kind, std::uint64_t count) {
    RETRACE_TRY(g, generator_of(json, kind));
    std::vector<float> out(count);
    for (std::uint64_t n = 0; n < count; ++n) {
        const std::uint64_t w = split_mix(g.seed, n);
        if (kind == "uniform")
            out[n] = g.uniform(w);
        else if (kind == "bell")
            out[n] = bell(w);
        else if (kind == "heavy")
            out[n] = g.heavy(w);
        else if (kind == "int")
            out[n] = g.integer(w);
        else if (kind == "wide")
            out[n] = g.wide(w);
        else if (kind == "raw")
            out[n] = from_bits(static_cast<std::uint32_t>(w));
        else if (kind == "list")
            out[n] = from_bits(g.list[w % g.list.size()]);
        else
            return error("unknown kind \"" + std::string(kind) + "\"");
    }
    return out;
}

Result<std::vector<float>> fixed(const Json& json, std::string_view kind, std::uint64_t count) {
    if (kind == "const") {
        const Json* bits = json.find("bits");
        const std::optional<std::uint32_t> word = bits == nullptr ? std::nullopt : word_of(*bits);
        if (!word) return missing("bits");
        return std::vector<float>(count, from_bits(*word));
    }
    RETRACE_TRY(words, words_of(json, "words"));
    if (words.size() != count) return missing("words");
    std::vector<float> out;
    for (const std::uint32_t word : words) out.push_back(from_bits(word));
    return out;
}

Result<std::vector<float>> operand(const Json* json, std::uint64_t count) {
    if (json == nullptr) return error("an operand is missing");
    if (count > kCaseElementsMax) return error("an operand is too large");
    RETRACE_TRY(kind, text_of(*json, "kind"));
    RETRACE_TRY(out, kind == "const" || kind == "explicit" ? fixed(*json, kind, count) : generate(*json, kind, count));
    const Json* patches = json->find("patch");
    if (patches == nullptr) return out;
    if (patches->array() == nullptr) return missing("patch");
    for (const Json& patch : *patches->array()) {
        const JsonArray* pair = patch.array();
        if (pair == nullptr || pair->size() != 2 || (*pair)[0].natural() == nullptr) return missing("patch");
        const std::uint64_t index = *(*pair)[0].natural();
        const std::optional<std::uint32_t> word = word_of((*pair)[1]);
        if (index >= count || !word) return missing("patch");
        out[index] = from_bits(*word);
    }
    return out;
}

Status<> read_matmul(const Json& json, KnownAnswer& known) {
    RETRACE_TRY(m, natural_of(json, "M", 1u << 20));
    RETRACE_TRY(n, natural_of(json, "N", 1u << 20));
    RETRACE_TRY(k, natural_of(json, "K", 1u << 20));
    RETRACE_TRY(precision, text_of(json, "precision"));
    RETRACE_TRY(a, operand(json.find("A"), m * k));
    RETRACE_TRY(b, operand(json.find("B"), k * n));
    if (m * n > kCaseElementsMax) return error("the product is too large");
    known.rows = m;
    known.cols = n;
    known.depth = k;
    known.precision = precision;
    known.inputs = {std::move(a), std::move(b)};
    return Unit{};
}

Status<> read_elementwise(const Json& json, KnownAnswer& known) {
    RETRACE_TRY(function, text_of(json, "fn"));
    RETRACE_TRY(n, natural_of(json, "n", kCaseElementsMax));
    const Json* inputs = json.find("in");
    if (inputs == nullptr || inputs->array() == nullptr || inputs->array()->size() > 3) return missing("in");
    for (const Json& input : *inputs->array()) {
        RETRACE_TRY(values, operand(&input, n));
        known.inputs.push_back(std::move(values));
    }
    known.function = function;
    known.rows = 1;
    known.cols = n;
    return Unit{};
}

Status<> read_philox(const Json& json, KnownAnswer& known) {
    RETRACE_TRY(counter, words_of(json, "ctr"));
    RETRACE_TRY(key, words_of(json, "key"));
    RETRACE_TRY(blocks, natural_of(json, "blocks", kCaseElementsMax / 4));
    if (counter.size() != 4 || key.size() != 2) return missing("ctr");
    known.counter = std::move(counter);
    known.key = std::move(key);
    known.rows = blocks;
    return Unit{};
}

Status<> read_reduction(const Json& json, KnownAnswer& known) {
    RETRACE_TRY(rows, natural_of(json, "rows", 1u << 20));
    RETRACE_TRY(cols, natural_of(json, "cols", 1u << 20));
    RETRACE_TRY(x, operand(json.find("X"), rows * cols));
    known.rows = rows;
    known.cols = cols;
    known.inputs.push_back(std::move(x));
    return Unit{};
}

bool is_reduction(std::string_view op) {
    static constexpr std::string_view kOps[] = {"row_sum", "col_sum", "row_mean", "col_mean", "row_max", "col_max"};
    return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

Status<> read_operands(const Json& json, KnownAnswer& known) {
    if (known.op == "matmul") return read_matmul(json, known);
    if (known.op == "elementwise") return read_elementwise(json, known);
    if (known.op == "philox_blocks") return read_philox(json, known);
    if (is_reduction(known.op)) return read_reduction(json, known);
    return error("unknown op \"" + known.op + "\"");
}

/// Reads hash and words; they must match, because a case could otherwise pass although one of them was never checked.
Status<> read_output(const Json& json, KnownAnswer& known) {
    RETRACE_TRY(digest, text_of(json, "sha256"));
    RETRACE_TRY(words, natural_of(json, "words", kCaseElementsMax));
    known.sha256 = digest;
    known.words = words;
    const Json* output = json.find("out_hex");
    if (output == nullptr) return Unit{};
    const std::optional<Bytes> bytes = output->text() == nullptr ? std::nullopt : from_hex(*output->text());
    if (!bytes || bytes->size() != 4 * words) return missing("out_hex");
    for (std::size_t at = 0; at < bytes->size(); at += 4) known.output.push_back(load_u32(bytes->data() + at));
    if (digest_of(known.output) != digest) return error("\"out_hex\" is not what \"sha256\" is the hash of");
    return Unit{};
}

}  // namespace

Result<KnownAnswer> read_case(const Json& json) {
    KnownAnswer known;
    RETRACE_TRY(op, text_of(json, "op"));
    RETRACE_TRY(name, text_of(json, "name"));
    known.op = op;
    known.name = name;
    RETRACE_CHECK(read_output(json, known));
    RETRACE_CHECK(read_operands(json, known));
    return known;
}

std::string digest_of(const Words& words) {
    merkle::Sha256 hash;
    for (const std::uint32_t word : words) hash.update_u32(word);
    return to_hex(view(hash.finish()));
}

}  // namespace retrace::kernels::tools
