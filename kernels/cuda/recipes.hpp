// SPDX-License-Identifier: MIT
// The recipes that have kernels: the runs of the builder's models as they are planned for a device. A run that is none
// of them is interpreted; `recipe_text` gives the text of one to add.
#pragma once

#include "kernels/cuda/recipe.hpp"

namespace retrace::kernels::cuda {

/// Runs of elementwise ops.
inline constexpr Recipe kElementRecipes[] = {
    // Single ops.
    recipe("e e; add 0 1 !"),
    recipe("e r; add 0 1 !"),
    recipe("e e; mul 0 1 !"),
    recipe("e r; mul 0 1 !"),
    recipe("e s; mul 0 1 !"),
    recipe("e s; div 0 1 !"),
    recipe("c s; add 0 1 !"),
    recipe("e; mul 0 0 !"),
    recipe("e; relu 0 !"),
    recipe("e r r; fma 0 1 2 !"),
    recipe("e r e; add 0 1; add 3 2 !"),
    recipe("e e e; mul 0 1 !; mul 0 2 !"),
    // GELU of a sum with the bias, and its gradient: with values kept from the forward run, and computed again.
    recipe("e r s s; add 0 1 !; mul 4 2; erf 5; fma 6 3 3 !; mul 4 7 !"),
    recipe("e r s s; add 0 1 !; mul 4 2; erf 5; fma 6 3 3; mul 4 7 !"),
    recipe("e s s; mul 0 1; erf 3; fma 4 2 2 !; mul 0 5 !"),
    recipe("e s s e e; mul 0 0; mul 5 1; exp 6; mul 7 2; fma 0 8 3; mul 4 9 !"),
    // The same with a correction of low rank.
    recipe("e r e s s; add 0 1; add 5 2 !; mul 6 3; erf 7; fma 8 4 4 !; mul 6 9 !"),
    recipe("e r e s s; add 0 1; add 5 2 !; mul 6 3; erf 7; fma 8 4 4; mul 6 9 !"),
    recipe("e e e s s e; add 0 1; mul 2 2; mul 7 3; exp 8; mul 9 4; fma 2 10 5; mul 6 11 !"),
    recipe("e e e s; add 0 1 !; mul 2 3 !"),
    recipe("e s e; mul 0 1 !; mul 2 1 !"),
    recipe("e s e e; mul 0 1 !; mul 2 1 !; mul 3 1 !"),
    // ReLU of a sum, and its gradient.
    recipe("e r; add 0 1 !; relu 2 !"),
    recipe("e e; add 0 1 !; relu 2 !"),
    recipe("e s e; greater 0 1; select 3 2 1 !"),
    recipe("e e e s; add 0 1; greater 2 3; select 5 4 3 !"),
    // SiLU and its gradient; turning by position and back.
    recipe("e; sigmoid 0 !; mul 0 1 !"),
    recipe("s e e e; sub 0 1; fma 2 4 1; mul 3 5 !"),
    recipe("e r e r; mul 0 1; mul 2 1; mul 0 3; mul 2 3; add 4 7 !; sub 5 6 !"),
    recipe("e r e r; mul 0 1; mul 2 1; mul 0 3; mul 2 3; sub 4 7 !; add 5 6 !"),
    // SGD with momentum; AdamW, with clipped gradients and decay too.
    recipe("s e e s e; fma 0 1 2 !; fma 3 5 4 !"),
    recipe(
        "s e s e s e s s s s e; mul 0 1; fma 2 3 11 !; mul 3 3; mul 4 5; fma 6 13 14 !; sqrt 15; div 16 7; add 17 8; "
        "div 12 18; fma 9 19 10 !"),
    recipe(
        "s e s e s e s s s e s s; mul 0 1; fma 2 3 12 !; mul 3 3; mul 4 5; fma 6 14 15 !; sqrt 16; div 17 7; add 18 8; "
        "mul 9 10; div 13 19; fma 11 21 20 !"),
};
inline constexpr std::uint32_t kElementRecipeCount = sizeof kElementRecipes / sizeof kElementRecipes[0];

/// Runs of rows. The first `kLongRecipeCount` take rows of up to kRecipeColsMax, the others of up to kRecipeColsUsual.
inline constexpr Recipe kRowRecipes[] = {
    // Cross entropy of softmax with its gradient.
    recipe("c r e s s; equal_int 0 1; top 2; sub 2 6; exp 7; sum 8; select 5 7 3; sum 10; log 9; sub 12 11; float 5; "
           "div 8 9; sub 15 14; div 16 4 !; sum 13 !"),
    // Attention's softmax, of masked scores and of all; computed once, or again in the gradient.
    recipe("e s m s; mul 0 1; select 2 4 3; top 5; sub 5 6; exp 7; sum 8; div 8 9 !"),
    recipe("e s m s; mul 0 1; select 2 4 3; top 5 !; sub 5 6; exp 7; sum 8 !; div 8 9 !"),
    recipe("e s; mul 0 1; top 2; sub 2 3; exp 4; sum 5; div 5 6 !"),
    recipe("e s; mul 0 1; top 2 !; sub 2 3; exp 4; sum 5 !; div 5 6 !"),
    recipe("e e s; mul 0 1; sum 3; sub 0 4; mul 1 5; mul 6 2 !"),
    recipe("e s c c e; mul 0 1; sub 5 2; exp 6; div 7 3 !; mul 4 8; sum 9; sub 4 10; mul 8 11; mul 12 1 !"),
    recipe("e s m s c c e; mul 0 1; select 2 7 3; sub 8 4; exp 9; div 10 5 !; mul 6 11; sum 12; sub 6 13; mul 11 14; "
           "mul 15 1 !"),
    // Layer norm: of a value; of a sum with bias and residual, which is kept or not; with positions, and with a residual
    // besides; with a correction of low rank.
    recipe("e s s r r; sum 0; div 5 1; sub 0 6; mul 7 7; sum 8; div 9 1; add 10 2; rsqrt 11; mul 7 12; fma 13 3 4 !"),
    recipe(
        "e s s r r; sum 0; div 5 1; sub 0 6; mul 7 7; sum 8; div 9 1; add 10 2; rsqrt 11 !; mul 7 12 !; fma 13 3 4 !"),
    recipe(
        "e r e s s r r; add 0 1; add 2 7; sum 8; div 9 3; sub 8 10; mul 11 11; sum 12; div 13 3; add 14 4; rsqrt 15 !; "
        "mul 11 16 !; fma 17 5 6 !"),
    recipe("e r e s s r r; add 0 1; add 2 7 !; sum 8; div 9 3; sub 8 10; mul 11 11; sum 12; div 13 3; add 14 4; "
           "rsqrt 15 !; mul 11 16 !; fma 17 5 6 !"),
    recipe("e r r s s r r; add 0 1; add 7 2 !; sum 8; div 9 3; sub 8 10; mul 11 11; sum 12; div 13 3; add 14 4; "
           "rsqrt 15 !; mul 11 16 !; fma 17 5 6 !"),
    recipe("e r r e s s r r; add 0 1; add 8 2; add 9 3 !; sum 10; div 11 4; sub 10 12; mul 13 13; sum 14; div 15 4; "
           "add 16 5; rsqrt 17 !; mul 13 18 !; fma 19 6 7 !"),
    recipe("e r e e s s r r; add 0 1; add 8 2; add 3 9 !; sum 10; div 11 4; sub 10 12; mul 13 13; sum 14; div 15 4; "
           "add 16 5; rsqrt 17 !; mul 13 18 !; fma 19 6 7 !"),
    // Its gradient: with that of the scale, with another gradient added before, and with a residual's added after.
    recipe("e r s e c; mul 0 1; sum 5; div 6 2; sub 5 7; mul 5 3; sum 9; div 10 2; mul 3 11; sub 8 12; mul 4 13 !"),
    recipe("e r s e c; mul 0 1; sum 5; div 6 2; sub 5 7; mul 5 3; sum 9; div 10 2; mul 3 11; sub 8 12; mul 4 13 !; "
           "mul 0 3 !"),
    recipe("e e r s e c; add 0 1 !; mul 6 2; sum 7; div 8 3; sub 7 9; mul 7 4; sum 11; div 12 3; mul 4 13; sub 10 14; "
           "mul 5 15 !; mul 6 4 !"),
    recipe("e e r s e c e; add 0 1; mul 7 2; sum 8; div 9 3; sub 8 10; mul 8 4; sum 12; div 13 3; mul 4 14; sub 11 15; "
           "mul 5 16; add 6 17 !"),
    // RMS norm and its gradient.
    recipe("e s s r; mul 0 0; sum 4; div 5 1; add 6 2; rsqrt 7 !; mul 0 8 !; mul 9 3 !"),
    recipe("e e s s r; add 0 1; mul 5 5; sum 6; div 7 2; add 8 3; rsqrt 9 !; mul 5 10 !; mul 11 4 !"),
    recipe("e e s s r; add 0 1 !; mul 5 5; sum 6; div 7 2; add 8 3; rsqrt 9 !; mul 5 10 !; mul 11 4 !"),
    recipe("e r e s c; mul 0 1; mul 5 2; sum 6; div 7 3; mul 2 8; sub 5 9; mul 4 10 !; mul 0 2 !"),
    recipe("e e r e s c; add 0 1; mul 6 2; mul 7 3; sum 8; div 9 4; mul 3 10; sub 7 11; mul 5 12 !; mul 6 3 !"),
};
inline constexpr std::uint32_t kRowRecipeCount = sizeof kRowRecipes / sizeof kRowRecipes[0], kLongRecipeCount = 1;

}  // namespace retrace::kernels::cuda
