// SPDX-License-Identifier: MIT
// The segments of a run as a strip, and what is known of the one that its reader chose.
import { useMemo, useState } from "preact/hooks";
import { DisputeLink } from "../events";
import { count, hex, num, words } from "../format";
import { useQuery } from "../hooks";
import { Address, BlockLink, Coins, Hash, Pending, State } from "../parts";
import type { Dispute, Run, Segment, Task } from "../records";

const kSegments = 1000; // in one answer of the node

/** A segment as the strip shows it, the latest of its states. `lost`: a dispute about it convicted the solver. */
export function segmentState(run: Run, segment: Segment | undefined, index: number, lost: boolean): string {
    if (index < num(run.firstState)) return "before";
    if (!segment) return index < num(run.nextState) - 1 ? "committed" : "pending";
    if (lost || segment.segment.openDisputes > 0) return "disputed";
    if (index < num(run.paid)) return "paid";
    if (index < num(run.clear)) return "final";
    const state = segment.segment.state;
    return state === "waiting_draw" ? "committed" : state === "unaudited" ? "not_drawn" : state;
}

const kKinds: [state: string, meaning: string][] = [
    ["pending", "not trained yet"],
    ["before", "made before this run began"],
    ["committed", "trained, draw awaited"],
    ["not_drawn", "not drawn for an audit"],
    ["auditing", "being audited"],
    ["verified", "auditors got the same bits"],
    ["final", "final, not paid yet"],
    ["paid", "paid"],
    ["disputed", "in dispute, or convicted"],
];
const meaningOf = (state: string) => kKinds.find(([name]) => name === state)?.[1] ?? words(state);

export function Legend() {
    return (
        <ul class="legend">
            {kKinds.map(([state, meaning]) => (
                <li key={state}>
                    <span class={`swatch ${state}`} aria-hidden="true" /> {meaning}
                </li>
            ))}
        </ul>
    );
}

/** By how many segments a key moves the choice. */
const kMoves: { [key: string]: number } = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function Chosen({ task, index, state, segment }: { task: Task; index: number; state: string; segment: Segment | undefined }) {
    const interval = num(task.spec.interval);
    const audit = num(segment?.segment.audit);
    const end = segment?.end;
    return (
        <>
            Segment {index}, steps {count(index * interval + 1)} to {count(Math.min(num(task.spec.steps), (index + 1) * interval))}: {meaningOf(state)}
            {audit > 0 && <> · <a href={`#/audit/${audit}`}>audit {audit}</a></>}
            {end && <> · committed in block <BlockLink of={end.height} /></>}
            {end?.opened && <> · ends in state <Hash of={end.root} /></>}
        </>
    );
}

export function Strip({ task, run, disputes }: { task: Task; run: Run; disputes: Dispute[] }) {
    const total = num(task.segments);
    const [first, setFirst] = useState(0);
    const [chosen, setChosen] = useState<number>();
    const { data, error } = useQuery<Segment[]>("retrace_segments", [task.task.id, hex(run.index), hex(first), hex(kSegments)], { task: num(task.task.id) });
    const byIndex = useMemo(() => new Map(data?.map((one) => [num(one.index), one])), [data]);
    const shown = Math.max(0, Math.min(kSegments, total - first)) || 0;
    const mine = disputes.filter((one) => one.run === run.index);
    const lost = new Set(mine.filter((one) => one.state === "solver_lost").map((one) => num(one.segment)));
    const states = Array.from({ length: shown }, (_, i) => segmentState(run, byIndex.get(first + i), first + i, lost.has(first + i)));
    const counts = new Map<string, number>();
    for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
    const text = [...counts].map(([state, n]) => `${n} ${words(state)}`).join(", ");
    const at = chosen !== undefined && chosen >= first && chosen < first + shown ? chosen : undefined;
    const idOf = (index: number) => `run-${run.index}-segment-${index}`;
    const move = (event: KeyboardEvent) => {
        const by = kMoves[event.key];
        if (by === undefined || shown === 0) return;
        event.preventDefault();
        const next = at === undefined ? first + (by === Infinity ? shown - 1 : 0) : at + by;
        setChosen(Math.max(first, Math.min(first + shown - 1, next)));
    };
    return (
        <div class="run">
            <h3>
                Run {run.index} by <Address of={run.solver} /> <State of={run.state} />
                <span class="aside"><Coins of={run.price} /> a segment, earned <Coins of={run.earned} /></span>
            </h3>
            {error && <Pending error={error} data={undefined} what="segments" />}
            <div
                class={`strip ${run.state === "forfeited" || run.state === "left" ? "over" : ""}`}
                role="listbox"
                tabIndex={0}
                aria-label={`Segments of run ${run.index}: ${text}`}
                aria-activedescendant={at === undefined ? undefined : idOf(at)}
                onKeyDown={move}
            >
                {states.map((state, i) => (
                    <span
                        key={i}
                        id={idOf(first + i)}
                        class={state}
                        role="option"
                        aria-selected={first + i === at}
                        aria-label={`segment ${first + i}: ${meaningOf(state)}`}
                        title={`segment ${first + i}: ${meaningOf(state)}`}
                        onClick={() => setChosen(first + i)}
                    />
                ))}
            </div>
            <p class="caption">
                {text}
                {mine.map((one) => (
                    <span key={one.id}> · <DisputeLink of={one.id} /> of segment {num(one.segment)} <State of={one.state} /></span>
                ))}
            </p>
            <p class="caption chosen" role="status">
                {at !== undefined && <Chosen task={task} index={at} state={states[at - first] as string} segment={byIndex.get(at)} />}
            </p>
            {total > kSegments && (
                <p class="pager">
                    <button type="button" disabled={first === 0} onClick={() => setFirst(Math.max(0, first - kSegments))}>earlier</button>{" "}
                    segments {first}–{first + shown - 1} of {count(total)}{" "}
                    <button type="button" disabled={first + kSegments >= total} onClick={() => setFirst(first + kSegments)}>later</button>
                </p>
            )}
        </div>
    );
}
