// SPDX-License-Identifier: MIT
// `bench_peer_torch gpt|cnn|cnn-channels-last`: trains the models of bench_train with LibTorch, fp32, eager, on all
// cores. It reads commands from standard input: "step N" runs N steps and prints their seconds, "memory" prints the
// peak growth of the process in bytes since before the model was made. It is a separate process, so that ours never
// links LibTorch and the two can alternate.
#include <torch/torch.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/bench/train_models.hpp"

namespace retrace::bench {
namespace {

namespace nn = torch::nn;
namespace fn = torch::nn::functional;

std::int64_t size(std::uint64_t n) { return static_cast<std::int64_t>(n); }

struct Block : nn::Module {
    Block() {
        const std::int64_t width = size(GptSizes::width);
        norm1 = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
        norm2 = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
        qkv = register_module("qkv", nn::Linear(width, 3 * width));
        out = register_module("out", nn::Linear(width, width));
        up = register_module("up", nn::Linear(width, 4 * width));
        down = register_module("down", nn::Linear(4 * width, width));
    }

    torch::Tensor attention(const torch::Tensor& x, const torch::Tensor& future) {
        const std::int64_t batch = x.size(0), tokens = x.size(1), width = x.size(2), heads = size(GptSizes::heads);
        const auto parts = qkv(x).view({batch, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
        const auto q = parts[0], k = parts[1], v = parts[2];
        const double factor = 1.0 / std::sqrt(static_cast<double>(width / heads));
        const auto scores = (q.matmul(k.transpose(2, 3)) * factor).masked_fill(future, -INFINITY);
        return out(torch::softmax(scores, -1).matmul(v).transpose(1, 2).reshape({batch, tokens, width}));
    }

    torch::Tensor forward(torch::Tensor x, const torch::Tensor& future) {
        x = x + attention(norm1(x), future);
        return x + down(torch::gelu(up(norm2(x))));
    }

    nn::LayerNorm norm1{nullptr}, norm2{nullptr};
    nn::Linear qkv{nullptr}, out{nullptr}, up{nullptr}, down{nullptr};
};

struct Gpt : nn::Module {
    Gpt() {
        const std::int64_t width = size(GptSizes::width);
        tokens = register_module("tokens", nn::Embedding(size(GptSizes::vocabulary), width));
        positions = register_module("positions", nn::Embedding(size(GptSizes::tokens), width));
        for (std::uint64_t i = 0; i < GptSizes::layers; ++i) {
            blocks.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>()));
        }
        norm = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
        head = register_module("head", nn::Linear(nn::LinearOptions(width, size(GptSizes::vocabulary)).bias(false)));
        const std::int64_t n = size(GptSizes::tokens);
        future = torch::ones({n, n}, torch::kBool).triu(1);
    }

    torch::Tensor forward(const torch::Tensor& index) {
        auto x = tokens(index) + positions(torch::arange(index.size(1)));
        for (const auto& block : blocks) x = block->forward(x, future);
        return head(norm(x)).view({-1, size(GptSizes::vocabulary)});
    }

    nn::Embedding tokens{nullptr}, positions{nullptr};
    std::vector<std::shared_ptr<Block>> blocks;
    nn::LayerNorm norm{nullptr};
    nn::Linear head{nullptr};
    torch::Tensor future;
};

struct Cnn : nn::Module {
    Cnn() {
        conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 6, 5).padding(2)));
        conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(6, 16, 5)));
        fc1 = register_module("fc1", nn::Linear(400, 120));
        fc2 = register_module("fc2", nn::Linear(120, 84));
        fc3 = register_module("fc3", nn::Linear(84, size(CnnSizes::classes)));
    }

    torch::Tensor forward(torch::Tensor x) {
        x = fn::max_pool2d(torch::relu(conv1(x)), fn::MaxPool2dFuncOptions(2));
        x = fn::max_pool2d(torch::relu(conv2(x)), fn::MaxPool2dFuncOptions(2));
        x = x.flatten(1);
        return fc3(torch::relu(fc2(torch::relu(fc1(x)))));
    }

    nn::Conv2d conv1{nullptr}, conv2{nullptr};
    nn::Linear fc1{nullptr}, fc2{nullptr}, fc3{nullptr};
};

/// Value of a line of /proc/self/status in bytes.
std::uint64_t memory(const std::string& field) {
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(field + ":")) return std::stoull(line.substr(field.size() + 1)) * 1024;
    }
    return 0;
}

template <class Model>
void serve(const std::shared_ptr<Model>& model, const torch::Tensor& x, const torch::Tensor& y, std::uint64_t before) {
    torch::optim::AdamW optimizer(model->parameters(),
                                  torch::optim::AdamWOptions(kLearningRate).weight_decay(kWeightDecay));
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "memory") {
            std::cout << memory("VmHWM") - before << std::endl;
            continue;
        }
        const int steps = std::stoi(line.substr(line.find(' ') + 1));
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < steps; ++i) {
            optimizer.zero_grad();
            const auto loss = fn::cross_entropy(model->forward(x), y);
            loss.backward();
            optimizer.step();
        }
        std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() << std::endl;
    }
}

int run(const std::string& name) {
    torch::manual_seed(1);
    torch::relu(
        torch::ones({64, 64}).matmul(torch::ones({64, 64})));  // starts the libraries' own threads and allocates their
                                                               // buffers
    const std::uint64_t before = memory("VmRSS");
    if (name == "gpt") {
        const auto index = torch::randint(size(GptSizes::vocabulary), {size(GptSizes::batch), size(GptSizes::tokens)});
        serve(std::make_shared<Gpt>(), index, index.view({-1}).roll(-1), before);
        return 0;
    }
    auto x = torch::rand({size(CnnSizes::batch), 1, size(CnnSizes::side), size(CnnSizes::side)});
    const auto y = torch::randint(size(CnnSizes::classes), {size(CnnSizes::batch)});
    const auto model = std::make_shared<Cnn>();
    if (name == "cnn-channels-last") {
        x = x.contiguous(torch::MemoryFormat::ChannelsLast);
        for (auto& p : model->parameters()) {
            if (p.dim() == 4) p.set_data(p.data().contiguous(torch::MemoryFormat::ChannelsLast));
        }
    }
    serve(model, x, y, before);
    return 0;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    return retrace::bench::run(argv[1]);
}
