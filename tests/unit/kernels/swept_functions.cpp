// SPDX-License-Identifier: MIT
// Expected values of the functions of one argument, written independently of their code: the C library in double
// precision, and the table of special values of kernels/SPEC.md 2.2.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/scalar/functions.hpp"
#include "tests/unit/kernels/function_sweep.hpp"

namespace retrace::kernels::sweep {
namespace {

constexpr std::uint32_t kOne = 0x3f800000u;
using Special = std::optional<std::uint32_t>;

std::uint32_t sign_of(float x) { return to_bits(x) & kSignBit; }
bool is_infinite(float x) { return (to_bits(x) & 0x7fffffffu) == kInfinityBits; }

struct Exp {
    static float value(float x) { return fn_exp(x); }
    template <class T>
    static T exact(T x) {
        return std::exp(x);
    }
    static Special special(float x) {
        if (x == 0.0f) return kOne;
        if (x >= 88.72284f) return kInfinityBits;  // the smallest input whose exponential rounds to 2^128
        if (x < -103.97208f) return 0;             // below 2^-150
        return {};
    }
};

struct Log {
    static float value(float x) { return fn_log(x); }
    template <class T>
    static T exact(T x) {
        return std::log(x);
    }
    static Special special(float x) {
        if (x == 0.0f) return kInfinityBits | kSignBit;
        if (x < 0.0f) return kNanBits;
        if (x == 1.0f) return 0;
        if (is_infinite(x)) return kInfinityBits;
        return {};
    }
};

/// Special values of odd functions with limits of one.
Special sign_like(float x) {
    if (x == 0.0f) return sign_of(x);
    if (is_infinite(x)) return kOne | sign_of(x);
    return {};
}

struct Tanh {
    static float value(float x) { return fn_tanh(x); }
    template <class T>
    static T exact(T x) {
        return std::tanh(x);
    }
    static Special special(float x) { return sign_like(x); }
};

struct Sigmoid {
    static float value(float x) { return fn_sigmoid(x); }
    template <class T>
    static T exact(T x) {
        return 1 / (1 + std::exp(-x));
    }
    static Special special(float x) {
        if (x == 0.0f) return 0x3f000000u;
        if (is_infinite(x)) return sign_of(x) != 0 ? 0 : kOne;
        return {};
    }
};

struct Erf {
    static float value(float x) { return fn_erf(x); }
    template <class T>
    static T exact(T x) {
        return std::erf(x);
    }
    static Special special(float x) { return sign_like(x); }
};

struct Sqrt {
    static float value(float x) { return fn_sqrt(x); }
    template <class T>
    static T exact(T x) {
        return std::sqrt(x);
    }
    static Special special(float x) {
        if (x == 0.0f) return to_bits(x);
        if (x < 0.0f) return kNanBits;
        if (is_infinite(x)) return kInfinityBits;
        return {};
    }
};

struct Rsqrt {
    static float value(float x) { return fn_rsqrt(x); }
    template <class T>
    static T exact(T x) {
        return 1 / std::sqrt(x);
    }
    static Special special(float x) {
        if (x == 0.0f) return kInfinityBits | sign_of(x);
        if (x < 0.0f) return kNanBits;
        if (is_infinite(x)) return 0;
        return {};
    }
};

struct Reciprocal {
    static float value(float x) { return fn_reciprocal(x); }
    template <class T>
    static T exact(T x) {
        return 1 / x;
    }
    static Special special(float x) {
        if (x == 0.0f) return kInfinityBits | sign_of(x);
        if (is_infinite(x)) return sign_of(x);
        return {};
    }
};

/// Whether x · parts is an odd or an even integer; nullopt if it is no integer.
std::optional<bool> odd_parts(float x, float parts) {
    const double y = std::abs(static_cast<double>(x) * parts);
    if (y >= 0x1p26) return false;  // an even integer, as x has 24 bits and parts is 2 or 4
    const auto integer = static_cast<std::int32_t>(y);
    if (integer != y) return std::nullopt;
    return (integer & 1) != 0;
}

/// Reduces turns exactly before calling the library's sine, or the rounding of 2π would dominate.
template <class T>
T sine_of_turns(T x) {
    const T turn = x - std::nearbyint(x);
    if (std::isnan(turn)) return turn;
    const T quarters = std::nearbyint(4 * turn);
    const T angle = static_cast<T>(6.283185307179586476925286766559006L) * (turn - quarters / 4);
    switch (static_cast<int>(quarters) & 3) {
        case 0: return std::sin(angle);
        case 1: return std::cos(angle);
        case 2: return -std::sin(angle);
        default: return -std::cos(angle);
    }
}

struct SinTurns {
    static float value(float x) { return fn_sin_turns(x); }
    template <class T>
    static T exact(T x) {
        return sine_of_turns(x);
    }
    static Special special(float x) {
        if (is_infinite(x)) return kNanBits;
        return odd_parts(x, 2.0f) ? Special(sign_of(x)) : Special();
    }
};

struct CosTurns {
    static float value(float x) { return fn_cos_turns(x); }
    template <class T>
    static T exact(T x) {
        const T turn = x - std::nearbyint(x);
        return sine_of_turns(std::abs(turn) <= T(0.125) ? turn + T(0.25) : T(0.25) - std::abs(turn));
    }
    static Special special(float x) {
        if (is_infinite(x)) return kNanBits;
        if (odd_parts(x, 4.0f) == true) return 0;
        if (odd_parts(x, 2.0f) == false) return kOne;
        return {};
    }
};

/// Distance in units of the last place of the exact value's binade (2^-149 below the normal numbers). Overflow counts
/// as the next value after the greatest finite one.
double ulps(float got, double exact) {
    if (std::isnan(exact) || is_nan(got)) return HUGE_VAL;
    const double value = is_infinite(got) ? std::copysign(0x1p128, got) : got;
    const double target = std::abs(exact) > 0x1p128 ? std::copysign(0x1p128, exact) : exact;
    std::uint64_t bits;
    std::memcpy(&bits, &target, sizeof bits);
    const auto exponent = static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 1023;
    bits = static_cast<std::uint64_t>(1023 - std::max<std::int64_t>(exponent - 23, -149)) << 52;
    double places;
    std::memcpy(&places, &bits, sizeof places);
    return std::abs(value - target) * places;
}

template <class F>
double error_of(std::uint32_t in, std::uint32_t stored) {
    const float x = from_bits(in);
    if (is_nan(x)) return stored == kNanBits && is_nan(F::value(x)) ? 0.0 : HUGE_VAL;
    // The epilogue does not change normal numbers.
    const bool normal = (stored & kInfinityBits) != 0 && stored != kNanBits;
    const float value = normal ? from_bits(stored) : F::value(x);
    if (to_bits(finish(value)) != stored) return HUGE_VAL;
    if (const Special want = F::special(x)) return to_bits(canonical_nan(value)) == *want ? 0.0 : HUGE_VAL;
    return ulps(value, F::exact(static_cast<double>(x)));
}

/// Values of the exact function at equal distances, and the polynomial through them (Newton's, with binomials).
template <class F>
class Interpolation {
public:
    /// Takes n inputs of one binade, starting at `first`.
    Interpolation(std::uint32_t first, std::size_t n) : spacing_(static_cast<double>(n - 1) / kDegree), first_(first) {
        for (std::size_t j = 0; j <= kDegree; ++j) difference_[j] = exact(static_cast<double>(j) * spacing_);
        double least = HUGE_VAL, most = 0;
        for (const double value : difference_) {
            least = std::min(least, std::abs(value));
            most = std::max(most, std::abs(value));
        }
        // Relative errors grow where a value is small compared with its neighbours; a NaN or Inf fails here too.
        sound_ = least > most / 4 && most < 0x1p1000;
        for (std::size_t order = 1; order <= kDegree; ++order) {
            for (std::size_t j = kDegree; j >= order; --j) difference_[j] -= difference_[j - 1];
        }
        for (std::size_t i = 1; i < n && sound_; i += n / 13) {
            const double at = static_cast<double>(i), want = exact(at);
            sound_ = std::abs((*this)(at)-want) <= std::abs(want) * (kEstimate * 0x1p-26);
        }
    }
    bool sound() const { return sound_; }
    /// Value for the input `at` positions after the first.
    double operator()(double at) const {
        const double s = at * (1 / spacing_);
        double sum = difference_[kDegree];
        for (std::size_t j = kDegree; j-- > 0;)
            sum = difference_[j] + sum * ((s - static_cast<double>(j)) * (1 / static_cast<double>(j + 1)));
        return sum;
    }

private:
    static constexpr std::size_t kDegree = 7;
    double exact(double at) const {
        const double x = from_bits(first_), step = static_cast<double>(from_bits(first_ + 1)) - x;
        return F::exact(x + at * step);
    }
    std::array<double, kDegree + 1> difference_;
    double spacing_;
    std::uint32_t first_;
    bool sound_ = false;
};

template <class F>
bool estimate_of(const std::uint32_t* in, const std::uint32_t* stored, std::size_t n, double* errors) {
    const std::uint32_t exponent = in[0] & kInfinityBits;
    if (n < 64 || exponent == 0 || exponent == kInfinityBits) return false;
    if (in[n - 1] - in[0] != n - 1 || (in[n - 1] & ~0x7fffffu) != (in[0] & ~0x7fffffu)) return false;
    const Interpolation<F> exact(in[0], n);
    if (!exact.sound()) return false;
    for (std::size_t i = 0; i < n; ++i) {
        // Values that the epilogue may have changed, and special values, are left to error_of.
        const std::uint32_t size = stored[i] & kInfinityBits;
        const bool plain = size != 0 && size != kInfinityBits && !F::special(from_bits(in[i]));
        errors[i] = plain ? ulps(from_bits(stored[i]), exact(static_cast<double>(i))) : HUGE_VAL;
    }
    return true;
}

template <class F>
double library_error_of(std::uint32_t in) {
    const float x = from_bits(in);
    if (is_nan(x) || F::special(x)) return 0.0;
    const long double want = F::exact(static_cast<long double>(x));
    const double got = F::exact(static_cast<double>(x));
    if (std::abs(want) < 0x1p-1000L || std::abs(want) > 0x1p1000L) return 0.0;  // outside the fp32 range on either side
    return static_cast<double>(std::abs((got - want) / want) * 0x1p53L);
}

template <OpCode code, DType from = DType::f32, DType to = DType::f32>
void run_op(const Loops& loops, const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    const LoopOperand operand{in, true};
    loops.element(code, from, to)(&operand, out, n);
}

void run_reciprocal(const Loops& loops, const std::uint32_t* in, std::uint32_t* out, std::size_t n) {
    const float one = 1.0f;
    const LoopOperand operands[] = {{&one, false}, {in, true}};
    loops.element(OpCode::div, DType::f32, DType::f32)(operands, out, n);
}

template <class F, OpCode code>
Function function(const char* name, double most_ulps) {
    return {name, run_op<code>, error_of<F>, estimate_of<F>, library_error_of<F>, most_ulps};
}

// --- Functions whose result is defined by bits: an error is 0 or HUGE_VAL.

bool nan_bits(std::uint32_t in) { return (in & 0x7fffffffu) > kInfinityBits; }
/// Epilogue of a number.
std::uint32_t flushed(std::uint32_t in) { return (in & kInfinityBits) == 0 ? in & kSignBit : in; }

std::uint32_t negated(std::uint32_t in) { return nan_bits(in) ? kNanBits : flushed(in ^ kSignBit); }
std::uint32_t absolute(std::uint32_t in) { return nan_bits(in) ? kNanBits : flushed(in & ~kSignBit); }
std::uint32_t rectified(std::uint32_t in) { return nan_bits(in) ? kNanBits : in >= kSignBit ? 0 : flushed(in); }

std::uint32_t to_integer(std::uint32_t in) {
    if (nan_bits(in)) return 0;
    const double x = from_bits(in);
    if (x >= 0x1p31) return 0x7fffffffu;
    if (x < -0x1p31) return 0x80000000u;
    const double down = std::floor(x), rest = x - down;
    const auto below = static_cast<std::int64_t>(down);
    const bool up = rest > 0.5 || (rest == 0.5 && (below & 1) != 0);
    return static_cast<std::uint32_t>(below + (up ? 1 : 0));
}

std::uint32_t of_integer(std::uint32_t in) {
    const bool negative = in >= 0x80000000u;
    const std::uint64_t size = negative ? (std::uint64_t{1} << 32) - in : in;
    std::uint32_t exponent = 0;
    while (size >> (exponent + 1) != 0) ++exponent;
    if (size == 0) return 0;
    std::uint64_t mantissa = size << (40 - exponent);  // one at bit 40: 17 bits below the last place
    const std::uint64_t rest = mantissa & 0x1ffff;
    mantissa >>= 17;
    mantissa += rest > 0x10000 || (rest == 0x10000 && (mantissa & 1) != 0) ? 1 : 0;
    return (negative ? kSignBit : 0) + ((exponent + 126) << 23) + static_cast<std::uint32_t>(mantissa);
}

template <std::uint32_t (*rule)(std::uint32_t)>
double difference(std::uint32_t in, std::uint32_t stored) {
    return stored == rule(in) ? 0.0 : HUGE_VAL;
}

}  // namespace

const std::vector<Function>& functions() {
    static const std::vector<Function> all = {
        function<Exp, OpCode::exp>("exp", 0.86),
        function<Log, OpCode::log>("log", 0.82),
        function<Tanh, OpCode::tanh>("tanh", 0.72),
        function<Sigmoid, OpCode::sigmoid>("sigmoid", 0.86),
        function<Erf, OpCode::erf>("erf", 0.97),
        function<Sqrt, OpCode::sqrt>("sqrt", 0.5),
        function<Rsqrt, OpCode::rsqrt>("rsqrt", 0.51),
        {"reciprocal", run_reciprocal, error_of<Reciprocal>, nullptr, library_error_of<Reciprocal>, 0.5},
        function<SinTurns, OpCode::sin_turns>("sin_turns", 0.97),
        function<CosTurns, OpCode::cos_turns>("cos_turns", 0.69),
        {"neg", run_op<OpCode::neg>, difference<negated>, nullptr, nullptr, 0},
        {"abs", run_op<OpCode::abs>, difference<absolute>, nullptr, nullptr, 0},
        {"relu", run_op<OpCode::relu>, difference<rectified>, nullptr, nullptr, 0},
        {"to_int32", run_op<OpCode::convert, DType::f32, DType::i32>, difference<to_integer>, nullptr, nullptr, 0},
        {"of_int32", run_op<OpCode::convert, DType::i32, DType::f32>, difference<of_integer>, nullptr, nullptr, 0},
    };
    return all;
}

}  // namespace retrace::kernels::sweep
