// SPDX-License-Identifier: MIT
// Many questions to the node, some at a time: it limits how many one page may have open.

const kAtOnce = 16;

/** Runs `ask` for 0 … count - 1; the answers are in that order. */
export async function each<T>(count: number, ask: (index: number) => Promise<T>): Promise<T[]> {
    const out: T[] = [];
    for (let first = 0; first < count; first += kAtOnce)
        out.push(...(await Promise.all(Array.from({ length: Math.min(kAtOnce, count - first) }, (_, i) => ask(first + i)))));
    return out;
}
