// SPDX-License-Identifier: MIT
// The work of a task's segments, in multiply-adds.
import { num } from "./format";
import type { Task } from "./records";
import { node } from "./rpc";

/** Of a task's segment; what a task asks for never changes. */
const works = new Map<string, number>();
export async function workOf(task: string): Promise<number> {
    if (!works.has(task)) {
        const spec = (await node.call<Task | null>("retrace_task", [task]))?.spec;
        works.set(task, spec ? num(spec.stepCost) * Math.min(num(spec.interval), num(spec.steps)) : NaN);
    }
    return works.get(task) as number;
}

/** Multiply-adds a block. */
export const speed = (capability: number): string => (capability > 0 ? `${(capability / 1e9).toPrecision(3)} G/block` : "–");
