// SPDX-License-Identifier: MIT
#include "solver/import/op_table.hpp"

namespace retrace::solver {
namespace {

struct Hint {
    std::string_view name, text;
};

constexpr const char* kShapes =
    "the shape of its result depends on data; use masks (torch.where, masked_fill) of fixed shape";
constexpr const char* kRandom = "random numbers that the task's seed does not decide; use nn.Dropout";

constexpr Hint kHints[] = {
    {"aten::_local_scalar_dense",
     "control flow or numbers that depend on data (if, while, .item(), int(tensor)); use torch.where"},
    {"aten::nonzero", kShapes},
    {"aten::masked_select", kShapes},
    {"aten::unique_dim", kShapes},
    {"aten::_unique2", kShapes},
    {"aten::index", "indexing by tensors; use torch.index_select, slices, torch.where or nn.Embedding"},
    {"aten::gather", "a choice of its own for each row; use torch.where, or a product with a one-hot mask"},
    {"aten::scatter", "writes by index; use torch.where or torch.cat"},
    {"aten::scatter_add", "sums by index; use a product with a mask, or nn.Embedding"},
    {"aten::one_hot", "writes by index; use nn.Embedding of torch.eye(n) that is frozen"},
    {"aten::embedding_bag", "sums of rows by index; use nn.Embedding and a sum"},
    {"aten::index_put", "writes by index; use torch.where or torch.cat"},
    {"aten::copy", "writes into a part of a tensor; use torch.cat, F.pad or torch.where"},
    {"aten::rand", kRandom},
    {"aten::randn", kRandom},
    {"aten::rand_like", kRandom},
    {"aten::randn_like", kRandom},
    {"aten::randint", kRandom},
    {"aten::randperm", kRandom},
    {"aten::bernoulli", kRandom},
    {"aten::normal", kRandom},
    {"aten::uniform", kRandom},
    {"aten::multinomial", kRandom},
    {"aten::alpha_dropout", "alpha dropout; use nn.Dropout"},
    {"aten::feature_alpha_dropout", "alpha dropout; use nn.Dropout2d"},
    {"aten::rrelu_with_noise", "a random slope; use nn.LeakyReLU"},
    {"aten::sort", "sorting; use a maximum"},
    {"aten::topk", "sorting; use a maximum (torch.max, torch.amax, nn.MaxPool2d)"},
    {"aten::kthvalue", "sorting; use a maximum"},
    {"aten::median", "sorting; use a mean"},
    {"aten::cumprod", "a running product; use exp of a product of logarithms with a triangular matrix"},
    {"aten::prod", "a product over an axis; use exp of a sum of logarithms"},
    {"aten::conv3d", "a convolution of volumes; use Conv1d or Conv2d"},
    {"aten::max_pool3d", "pooling of volumes; use MaxPool1d or MaxPool2d"},
    {"aten::avg_pool3d", "pooling of volumes; use AvgPool1d or AvgPool2d"},
    {"aten::upsample_bicubic2d", "a cubic interpolation; use mode=\"bilinear\" or \"nearest\""},
    {"aten::bilinear", "a bilinear layer; use torch.einsum"},
    {"aten::cdist", "distances of all pairs; use ((a[:, None] - b) ** 2).sum(-1)"},
    {"aten::floor", "rounding, which no gradient passes; leave it out"},
    {"aten::ceil", "rounding, which no gradient passes; leave it out"},
    {"aten::round", "rounding, which no gradient passes; leave it out"},
    {"aten::remainder", "remainders; use torch.where"},
    {"aten::fmod", "remainders; use torch.where"},
    {"aten::fft_fft", "a Fourier transform; use a product with a constant matrix"},
    {"aten::fft_rfft", "a Fourier transform; use a product with a constant matrix"},
    {"aten::stft", "a Fourier transform; use conv1d with constant weights"},
    {"aten::cumsum", "a running sum; use a product with a triangular matrix"},
    {"aten::arange", "a range that depends on data"},
};

}  // namespace

bool has_hint(const std::string& name) {
    for (const Hint& known : kHints) {
        if (known.name == name) return true;
    }
    return false;
}

std::string hint_for(const std::string& name) {
    for (const Hint& known : kHints) {
        if (known.name == name) return std::string(known.text);
    }
    if (name.rfind("aten::", 0) != 0) return "an op that is not PyTorch's own; use ops of torch.nn";
    return "there is no primitive for it; write it with linear, conv, matmul, softmax, norms and elementwise "
           "ops";
}

}  // namespace retrace::solver
