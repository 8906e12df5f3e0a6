// SPDX-License-Identifier: MIT
#include "kernels/builder/declare.hpp"

#include <cmath>

namespace retrace::kernels {

Value Declarer::declare(ParameterSpec parameter) {
    parameter.trained = parameter.trained && !frozen_;
    return declare_trained(std::move(parameter));
}

Value Declarer::declare_trained(ParameterSpec parameter) {
    out_.values.push_back(tape_.graph().state(parameter.name, DType::f32, parameter.dims));
    out_.parameters.push_back(std::move(parameter));
    return out_.values.back();
}

Value Declarer::uniform(std::string name, Dims dims, std::uint64_t fan_in) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(fan_in));
    return declare({std::move(name), std::move(dims), Start::uniform, bound});
}

Value Declarer::normal(std::string name, Dims dims, float deviation) {
    return declare({std::move(name), std::move(dims), Start::normal, deviation});
}

Value Declarer::constant(std::string name, Dims dims, float value) {
    return declare({std::move(name), std::move(dims), Start::constant, value});
}

Value Declarer::linear(const std::string& name, Value x, std::uint64_t width, Precision precision, bool bias) {
    const std::uint64_t in = tape_.graph().dims(x)[1];
    const Value weight = uniform(name + ".weight", {width, in}, in);
    std::optional<Value> shift;
    if (bias) shift = uniform(name + ".bias", {width}, in);
    return retrace::kernels::linear(tape_, x, weight, shift, precision);
}

Value Declarer::lora_linear(const std::string& name, Value x, std::uint64_t width, std::uint64_t rank, float alpha,
                            Precision precision, bool bias) {
    const std::uint64_t in = tape_.graph().dims(x)[1];
    const float bound = 1.0f / std::sqrt(static_cast<float>(in));
    const Value weight = declare({name + ".weight", {width, in}, Start::uniform, bound, false});
    std::optional<Value> shift;
    if (bias) shift = declare({name + ".bias", {width}, Start::uniform, bound, false});
    const Value down = declare_trained({name + ".lora_down", {rank, in}, Start::uniform, bound});
    const Value up = declare_trained({name + ".lora_up", {width, rank}, Start::constant, 0.0f});
    return retrace::kernels::lora_linear(tape_, x, weight, shift, {down, up, alpha}, precision);
}

Value Declarer::conv(const std::string& name, Value x, std::uint64_t channels, std::uint64_t kernel,
                     std::uint64_t padding, Precision precision) {
    const std::uint64_t in = tape_.graph().dims(x)[1];
    const std::uint64_t fan_in = in * kernel * kernel;
    const Value weight = uniform(name + ".weight", {channels, in, kernel, kernel}, fan_in);
    const Value bias = uniform(name + ".bias", {channels}, fan_in);
    return conv2d(tape_, x, weight, bias, 1, padding, precision);
}

Value Declarer::buffer(std::string name, Dims dims, float value) {
    return declare({std::move(name), std::move(dims), Start::constant, value, false});
}

Value Declarer::plain_conv(const std::string& name, Value x, std::uint64_t channels, const Window& window,
                           Precision precision) {
    const std::uint64_t in = tape_.graph().dims(x)[1];
    const Dims dims{channels, in, window.height, window.width};
    const Value weight = uniform(name + ".weight", dims, in * window.height * window.width);
    return conv2d(tape_, x, weight, std::nullopt, window, precision);
}

Value Declarer::batch_norm(const std::string& name, Value x, bool training) {
    Graph& g = tape_.graph();
    const Dims dims = g.dims(x), width{dims[1]};
    const Value gain = constant(name + ".weight", width, 1.0f), shift = constant(name + ".bias", width, 0.0f);
    const Value mean = buffer(name + ".running_mean", width, 0.0f);
    const Value variance = buffer(name + ".running_var", width, 1.0f);
    if (!training) return batch_norm2d_frozen(g, x, gain, shift, mean, variance);
    const BatchNorm norm = batch_norm2d(tape_, x, gain, shift);
    update(mean, running_average(g, mean, norm.mean));
    update(variance, running_average(g, variance, unbiased(g, norm.variance, dims[0] * dims[2] * dims[3])));
    return norm.y;
}

}  // namespace retrace::kernels
