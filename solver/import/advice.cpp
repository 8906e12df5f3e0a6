// SPDX-License-Identifier: MIT
#include "solver/import/rules.hpp"

namespace retrace::solver {
namespace {

struct Advice {
    std::string_view name, text;
};

constexpr const char* kShapes =
    "the shape of its result depends on data; use masks (torch.where, masked_fill) of fixed shape";
constexpr const char* kRandom = "random numbers that the task's seed does not decide; use nn.Dropout";

constexpr Advice kAdvice[] = {
    {"aten::_local_scalar_dense",
     "control flow or numbers that depend on data (if, while, .item(), int(tensor)); use torch.where"},
    {"aten::nonzero", kShapes},
    {"aten::masked_select", kShapes},
    {"aten::unique_dim", kShapes},
    {"aten::_unique2", kShapes},
    {"aten::index", "indexing by tensors; use slices, torch.where or nn.Embedding"},
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
    {"aten::feature_dropout", "dropout of whole channels; use nn.Dropout"},
    {"aten::alpha_dropout", "alpha dropout; use nn.Dropout"},
    {"aten::rrelu_with_noise", "a random slope; use nn.LeakyReLU"},
    {"aten::lstm", "a recurrent net; use attention or convolutions"},
    {"aten::gru", "a recurrent net; use attention or convolutions"},
    {"aten::rnn_tanh", "a recurrent net; use attention or convolutions"},
    {"aten::sort", "sorting; use a maximum"},
    {"aten::topk", "sorting; use a maximum"},
    {"aten::max", "a maximum over an axis; use nn.MaxPool2d or a softmax"},
    {"aten::repeat", "copies; use expand, or torch.cat"},
    {"aten::roll", "a rotation; use torch.cat of two slices"},
    {"aten::flip", "a reversal; use a permutation that is fixed"},
    {"aten::var",
     "a variance; use ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) or nn.LayerNorm"},
    {"aten::std", "a deviation; use nn.LayerNorm"},
    {"aten::elu", "ELU; use nn.GELU, nn.SiLU or nn.LeakyReLU"},
    {"aten::softplus", "softplus; use nn.SiLU or nn.GELU"},
    {"aten::hardswish", "hard swish; use nn.SiLU"},
    {"aten::hardsigmoid", "hard sigmoid; use nn.Sigmoid"},
    {"aten::mish", "mish; use nn.SiLU"},
    {"aten::prelu", "a slope that is trained; use nn.LeakyReLU"},
    {"aten::upsample_nearest2d", "an upsampling; use x[:, :, :, None, :, None].expand and reshape"},
    {"aten::upsample_bilinear2d", "an upsampling; use a nearest one by expand and reshape"},
    {"aten::sin",
     "sine of a tensor that depends on data; tables of positions may be computed from constants"},
    {"aten::cos",
     "cosine of a tensor that depends on data; tables of positions may be computed from constants"},
    {"aten::cumsum", "a running sum; use a product with a triangular matrix"},
    {"aten::triu", "a triangle of a tensor; multiply by a triangular mask that is constant"},
    {"aten::tril", "a triangle of a tensor; multiply by a triangular mask that is constant"},
    {"aten::arange", "a range that depends on data"},
};

}  // namespace

std::string advice(const std::string& name) {
    for (const Advice& known : kAdvice) {
        if (known.name == name) return std::string(known.text);
    }
    if (name.rfind("aten::", 0) != 0) return "an op that is not PyTorch's own; use ops of torch.nn";
    return "there is no primitive for it; write it with linear, conv, matmul, softmax, norms and elementwise "
           "ops";
}

}  // namespace retrace::solver
