// SPDX-License-Identifier: MIT
// `bench_elements [--json] [--rounds N]`: elements per nanosecond of elementwise loops and row reductions, in the
// first-level cache, in the second and in memory, for every variant that this machine can run: the scalar loop, the
// compiler's and the hand-written one for AVX2 and for AVX-512 (kernels/decisions/009). Time of one thread, alternating
// variants, medians. `--rows` prints the gain of the hand-written loops in the first-level cache for bench_kernels.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ops/cpu/loops.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "tests/bench/kernels/forms.hpp"
#include "tests/bench/rows.hpp"

namespace retrace::bench {
namespace {

using kernels::CpuLevel;
using kernels::DType;
using kernels::Loops;
using kernels::OpCode;

struct Op {
    std::string_view name;
    OpCode code;
};
constexpr std::array kOps = {
    Op{"add", OpCode::add},         Op{"mul", OpCode::mul},         Op{"fma", OpCode::fma},
    Op{"relu", OpCode::relu},       Op{"exp", OpCode::exp},         Op{"erf", OpCode::erf},
    Op{"tanh", OpCode::tanh},       Op{"sigmoid", OpCode::sigmoid}, Op{"row_max", OpCode::row_max},
    Op{"row_sum", OpCode::row_sum},
};

struct Place {
    std::string_view name;
    std::size_t stretch, span;  ///< Elements of one call, and of each array that the calls walk through.
};
constexpr std::array kPlaces = {
    Place{"L1", 1 << 10, 1 << 10},      // 16 KiB with three operands
    Place{"L2", 1 << 14, 1 << 14},      // 256 KiB
    Place{"memory", 1 << 18, 1 << 24},  // returns to the same element after 256 MiB
};
constexpr std::size_t kRow = 256;
constexpr double kSampleSeconds = 0.001;

constexpr std::array<std::string_view, 5> kForms = {"scalar", "avx2", "avx2_by_hand", "avx512", "avx512_by_hand"};
using Rates = std::array<double, kForms.size()>;  ///< Elements per nanosecond; 0: this variant does not exist here.

/// out = op(in…) on n elements; a row reduction takes rows of kRow from the first operand.
using Run = void (*)(const Loops& loops, kernels::ElementLoop element, const float* const* in, float* out,
                     std::size_t n);

void run_element(const Loops&, kernels::ElementLoop element, const float* const* in, float* out, std::size_t n) {
    const kernels::LoopOperand operands[3] = {{in[0]}, {in[1]}, {in[2]}};
    element(operands, out, n);
}
template <bool maximum>
void run_rows(const Loops& loops, kernels::ElementLoop, const float* const* in, float* out, std::size_t n) {
    for (std::size_t at = 0; at < n; at += kRow) {
        out[at / kRow] = maximum ? loops.row_max(in[0] + at, kRow) : loops.row_sum(in[0] + at, kRow);
    }
}

struct Form {
    Loops loops{};
    kernels::ElementLoop element = nullptr;
    bool there = false;
};

std::array<Form, kForms.size()> forms_of(OpCode code) {
    std::array<Form, kForms.size()> out;
    const bool rows = code == OpCode::row_max || code == OpCode::row_sum;
    const auto compiled = [&](Form& form, const Loops& loops) {
        form = {loops, rows ? nullptr : loops.element(code, DType::f32, DType::f32), true};
    };
    const auto both = [&](std::size_t at, const LoopForms& forms) {
        compiled(out[at], forms.compiled);
        const kernels::ElementLoop by_hand = rows || forms.by_hand == nullptr ? nullptr : forms.by_hand(code);
        if (by_hand != nullptr) out[at + 1] = {forms.compiled, by_hand, true};
    };
    compiled(out[0], kernels::loops_generic());
    const CpuLevel best = kernels::cpu_levels().back();
    if (best >= CpuLevel::avx2) both(1, forms_avx2());
    if (best >= CpuLevel::avx512) both(3, forms_avx512());
    return out;
}

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Three operands and a result of uniform values in [-4, 4).
class Arrays {
public:
    Arrays() {
        std::uint32_t state = 1;
        for (std::vector<float>& array : arrays_) {
            array.resize(kPlaces.back().span);
            for (float& x : array) {
                state = state * 1664525u + 1013904223u;
                x = static_cast<float>(state >> 8) * 0x1p-21f - 4.0f;
            }
        }
    }
    const float* in(std::size_t i) const { return arrays_[i].data(); }
    float* out() { return arrays_[3].data(); }

private:
    std::array<std::vector<float>, 4> arrays_;
};

Rates measure(const Op& op, const Place& place, Arrays& arrays, int rounds) {
    const Run run = op.code == OpCode::row_max   ? run_rows<true>
                    : op.code == OpCode::row_sum ? run_rows<false>
                                                 : run_element;
    const std::array<Form, kForms.size()> forms = forms_of(op.code);
    std::size_t at = 0;
    const auto seconds = [&](const Form& form, std::size_t calls) {
        const double begin = thread_seconds();
        for (std::size_t i = 0; i < calls; ++i, at = (at + place.stretch) % place.span) {
            const float* const in[3] = {arrays.in(0) + at, arrays.in(1) + at, arrays.in(2) + at};
            run(form.loops, form.element, in, arrays.out() + at, place.stretch);
        }
        return thread_seconds() - begin;
    };
    std::array<std::size_t, kForms.size()> calls{};
    std::array<std::vector<double>, kForms.size()> samples;
    for (int round = -1; round < rounds; ++round) {
        for (std::size_t f = 0; f < kForms.size(); ++f) {
            if (!forms[f].there) continue;
            if (round < 0) {
                seconds(forms[f], 1);
                calls[f] = 1 + static_cast<std::size_t>(kSampleSeconds / seconds(forms[f], 1));
            } else {
                samples[f].push_back(seconds(forms[f], calls[f]) / static_cast<double>(calls[f]));
            }
        }
    }
    Rates out{};
    for (std::size_t f = 0; f < kForms.size(); ++f) {
        if (forms[f].there) out[f] = 1e-9 * static_cast<double>(place.stretch) / median(samples[f]);
    }
    return out;
}

std::string number(double value) {
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return text.data();
}

void print_table(Arrays& arrays, int rounds) {
    std::printf("elements/ns, one thread, %s\n%-8s %-8s", machine().c_str(), "", "");
    for (const std::string_view form : kForms) std::printf(" %14s", form.data());
    for (const Place& place : kPlaces) {
        for (const Op& op : kOps) {
            std::printf("\n%-8s %-8s", place.name.data(), op.name.data());
            for (const double rate : measure(op, place, arrays, rounds)) {
                std::printf(" %14s", rate == 0 ? "-" : number(rate).c_str());
            }
            std::fflush(stdout);
        }
    }
    std::printf("\n");
}

void print_json(Arrays& arrays, int rounds) {
    std::printf("{\"machine\":\"%s, one thread\",\"unit\":\"elements/ns\",\"results\":[", machine().c_str());
    const char* comma = "";
    for (const Place& place : kPlaces) {
        for (const Op& op : kOps) {
            std::printf("%s{\"name\":\"%s\",\"place\":\"%s\"", comma, op.name.data(), place.name.data());
            const Rates rates = measure(op, place, arrays, rounds);
            for (std::size_t f = 0; f < rates.size(); ++f) {
                std::printf(",\"%s\":%s", kForms[f].data(), rates[f] == 0 ? "null" : number(rates[f]).c_str());
            }
            std::printf("}");
            comma = ",";
        }
    }
    std::printf("]}\n");
}

/// The hand-written loops of the best instruction set that has any, compared with the compiler's for the same.
void print_rows(Arrays& arrays, int rounds) {
    for (const Op& op : kOps) {
        const Rates rates = measure(op, kPlaces.front(), arrays, rounds);
        const std::size_t by_hand = rates[4] != 0 ? 4 : 2;
        if (rates[by_hand] == 0) continue;
        print_row({"loop_" + std::string(op.name) + (by_hand == 4 ? "_avx512" : "_avx2"), "elem/ns",
                   "the compiler's loop, L1", rates[by_hand], rates[by_hand - 1]});
    }
}

int run(const std::vector<std::string>& arguments) {
    void (*print)(Arrays&, int) = print_table;
    int rounds = 9;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json")
            print = print_json;
        else if (arguments[i] == "--rows")
            print = print_rows;
        else if (arguments[i] == "--rounds" && i + 1 < arguments.size())
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else
            return std::fputs("usage: bench_elements [--json] [--rounds N]\n", stderr), 2;
    }
    Arrays arrays;
    print(arrays, rounds);
    return 0;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
