// SPDX-License-Identifier: MIT
// A dispute as it narrows: from the steps of a segment to one element of one op, which the ledger computes itself.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { kDisputePhases } from "../events";
import { bytes, count, figure, float, hex, num, tame, words } from "../format";
import { useHead, useQuery, useTitle } from "../hooks";
import { Address, BlockLink, Coins, Facts, Hash, Panel, Pending, State, Table, TaskLink, Tiles, TxLink } from "../parts";
import type { Dispute, DisputeAnswer, Page, Position, Status } from "../records";
import { type TaskEvent, node } from "../rpc";
import { Pager } from "./tasks";

/** The dispute after each of its moves, as far as the node keeps the states. */
function useHistory(id: number, heights: number[], oldest: number): Map<number, DisputeAnswer> {
    const [known, setKnown] = useState(new Map<number, DisputeAnswer>());
    const key = heights.join(",");
    useEffect(() => {
        let current = true;
        const read = async () => {
            for (const height of heights) {
                if (!current || height < oldest) continue;
                if (known.has(height)) continue;
                const answer = await node.call<DisputeAnswer | null>("retrace_dispute", [hex(id), hex(height)]).catch(() => null);
                if (answer && current) setKnown((old) => new Map(old).set(height, answer));
            }
        };
        void read();
        return () => {
            current = false;
        };
    }, [key, oldest]);
    return known;
}

interface Level {
    name: string;
    /** The whole range, then each narrower one. */
    ranges: [number, number][];
    /** The one place in the end; undefined while it is searched. */
    found?: number;
    note?: ComponentChildren;
}

const kLevelOf: { [phase: string]: number } = {
    search_steps: 0, open_state: 1, descend_state: 1, open_trace: 2, descend_trace: 2, open_tensor: 3, descend_tiles: 3,
    search_links: 4, open_tile: 5, name_element: 5, prove_element: 6, decided: 6,
};

/** What was narrowed at which level, from the positions in the order of the moves and the decision, if there is one. */
export function levelsOf(positions: Position[], decided: { [name: string]: unknown } | undefined): Level[] {
    const names = ["step", "tensor of the state", "op of the program", "tile of its output", "link of its sum", "element"];
    const levels: Level[] = names.map((name) => ({ name, ranges: [] }));
    for (const p of positions) {
        const level = levels[kLevelOf[p.phase] ?? 6];
        const range: [number, number] = [num(p.low), num(p.high)];
        if (!level || range[1] <= range[0]) continue;
        const last = level.ranges[level.ranges.length - 1];
        if (!last || last[0] !== range[0] || last[1] !== range[1]) level.ranges.push(range);
    }
    const last = positions[positions.length - 1];
    const reached = decided ? 6 : last ? (kLevelOf[last.phase] ?? 0) : 0;
    const at = (field: keyof Position, name: string) => (decided && name in decided ? num(decided[name]) : last ? num(last[field]) : NaN);
    const places = [at("step", "step"), last ? last.stateTensor : NaN, at("op", "op"), at("tile", "tile"), at("link", "link"), at("element", "element")];
    levels.forEach((level, i) => {
        const place = places[i];
        if (i < reached && place !== undefined && Number.isFinite(place)) level.found = place;
    });
    const op = [...positions].reverse().find((p) => p.opName);
    if (op && levels[2] && levels[3]) {
        levels[2].note = op.opName;
        levels[3].note = op.outputDims.length ? `${op.outputDims.map((d) => count(d)).join(" × ")} elements` : "one element";
    }
    return levels;
}

const kBarWidth = 1000;
const kRow = 16;

/** One row for each narrowing: the part that is still disputed, on the scale of the whole. */
function Narrowing({ level, number }: { level: Level; number: number }) {
    const whole = level.ranges[0];
    const rows: [number, number][] = level.found === undefined || !whole ? level.ranges : [...level.ranges, [level.found, level.found + 1]];
    const size = whole ? whole[1] - whole[0] : 1;
    const x = (place: number) => (whole ? (kBarWidth * (place - whole[0])) / size : 0);
    const wide = (range: [number, number]) => Math.max(4, x(range[1]) - x(range[0]));
    const text = level.found !== undefined ? `${level.name} ${level.found}` : whole ? `${level.name}: ${rows.map(([a, b]) => `${a} to ${b}`).join(", ")}` : `${level.name}: not reached`;
    return (
        <li class={level.found !== undefined ? "found" : whole ? "narrowing" : "ahead"}>
            <div class="what">
                <span class="n">{number}</span> {level.name}
                <strong class="num">{level.found !== undefined ? ` ${count(level.found)}` : ""}</strong>
                {level.note && <span class="dim"> {level.note}</span>}
            </div>
            {rows.length > 0 && (
                <div class="rows">
                <svg viewBox={`0 0 ${kBarWidth} ${kRow * rows.length}`} preserveAspectRatio="none" height={kRow * rows.length} role="img" aria-label={text}>
                    {rows.map((range, i) => {
                        const previous = rows[i - 1];
                        return (
                            <g key={i}>
                                {previous && (
                                    <polygon
                                        class="cone"
                                        points={`${x(previous[0])},${kRow * i - 3} ${x(previous[0]) + wide(previous)},${kRow * i - 3} ${x(range[0]) + wide(range)},${kRow * i + 3} ${x(range[0])},${kRow * i + 3}`}
                                    />
                                )}
                                <rect class="scale" x="0" y={kRow * i + 3} width={kBarWidth} height={kRow - 6} />
                                <rect class="part" x={Math.min(x(range[0]), kBarWidth - 4)} y={kRow * i + 3} width={wide(range)} height={kRow - 6} />
                            </g>
                        );
                    })}
                </svg>
                <ol aria-hidden="true">
                    {rows.map(([from, to], i) => (
                        <li key={i} style={{ height: `${kRow}px` }}>{to - from === 1 ? `only ${from}` : `${from} – ${to}, ${to - from} left`}</li>
                    ))}
                </ol>
                </div>
            )}
        </li>
    );
}

/** Nine digits tell every fp32 number from its neighbours. */
const precise = (value: number) => (Number.isFinite(value) ? String(Number(value.toPrecision(9))) : figure(value));

/** The 32 bits of two numbers, with those marked that differ. */
export function Bits({ claimed, computed }: { claimed: number; computed: number }) {
    const differ = (claimed ^ computed) >>> 0;
    const row = (name: string, bits: number) => (
        <tr>
            <th scope="row">{name}</th>
            <td class="bits" aria-label={`bits 0x${(bits >>> 0).toString(16).padStart(8, "0")}`}>
                {Array.from({ length: 32 }, (_, i) => {
                    const at = 31 - i;
                    const part = at === 31 ? "sign" : at >= 23 ? "exponent" : "mantissa";
                    return (
                        <span key={i} class={`${part} ${(differ >>> at) & 1 ? "differs" : ""}`} aria-hidden="true">
                            {(bits >>> at) & 1}
                        </span>
                    );
                })}
            </td>
            <td class="num mono">0x{(bits >>> 0).toString(16).padStart(8, "0")}</td>
            <td class="num">{precise(float(bits))}</td>
        </tr>
    );
    const wrong = [...differ.toString(2)].filter((bit) => bit === "1").length;
    return (
        <div class="scroll" tabIndex={0} role="group" aria-label="The two bit patterns">
            <table class="verdict">
                <thead>
                    <tr>
                        <th scope="col">{wrong === 0 ? "equal bits" : `${wrong} of 32 bits differ`}</th>
                        <th scope="col">sign, exponent, mantissa</th>
                        <th scope="col" class="num">bits</th>
                        <th scope="col" class="num">as fp32</th>
                    </tr>
                </thead>
                <tbody>
                    {row("the solver claimed", claimed)}
                    {row("the ledger computed", computed)}
                </tbody>
            </table>
        </div>
    );
}

function Moves({ moves, history }: { moves: TaskEvent[]; history: Map<number, DisputeAnswer> }) {
    let before = 0;
    return (
        <Table label="Moves" head={[["block", "num"], ["phase"], ["to move"], ["round", "num"], ["evidence", "num"], ["solver's clock", "num"], ["challenger's clock", "num"], ["due", "num"], ["transaction"]]}>
            {moves.map((move) => {
                const answer = history.get(num(move.height));
                const total = answer ? num(answer.position?.evidenceBytes ?? answer.dispute.evidenceBytes) : NaN;
                const own = total - before;
                if (Number.isFinite(total)) before = total;
                return (
                    <tr key={`${move.height}${move.logIndex}`}>
                        <td class="num"><BlockLink of={move.height} /></td>
                        <td>{words(kDisputePhases[num(move.arguments.phase)])}</td>
                        <td>{num(move.arguments.mover) === 1 ? "solver" : "challenger"}</td>
                        <td class="num">{count(move.arguments.rounds)}</td>
                        <td class="num">{bytes(own)}</td>
                        <td class="num">{answer ? count(answer.dispute.solverClock) : "–"}</td>
                        <td class="num">{answer ? count(answer.dispute.challengerClock) : "–"}</td>
                        <td class="num"><BlockLink of={move.arguments.deadline} /></td>
                        <td>{/^0x/.test(move.transactionHash) && move.transactionHash !== move.blockHash ? <TxLink of={move.transactionHash} /> : "–"}</td>
                    </tr>
                );
            })}
        </Table>
    );
}

function Clock({ name, blocks, of, running }: { name: string; blocks: number; of: number; running: boolean }) {
    const part = of > 0 ? Math.max(0, Math.min(1, blocks / of)) : 0;
    return (
        <div class={running ? "clock running" : "clock"}>
            <span>{name}</span>
            <span class="bar" role="img" aria-label={`${name}: ${blocks} blocks left`}>
                <span style={{ width: `${100 * part}%` }} />
            </span>
            <span class="num">{count(blocks)} blocks{running ? ", running" : ""}</span>
        </div>
    );
}

export function DisputePage({ id }: { id: number }) {
    useTitle(`dispute ${id}`);
    const known = Number.isSafeInteger(id) && id >= 0;
    const head = useHead();
    const status = useQuery<Status>("retrace_status", []);
    const task = useQuery<DisputeAnswer | null>(known ? "retrace_dispute" : null, [hex(known ? id : 0)], { task: 0 });
    const record = task.data?.dispute;
    const events = useQuery<TaskEvent[]>(record ? "retrace_taskEvents" : null, [record?.task ?? "0x0", record?.openedHeight ?? "0x0"], { task: num(record?.task) });
    const moves = useMemo(
        () => (events.data ?? []).filter((one) => one.event === "DisputeMoved" && num(one.arguments.dispute) === id),
        [events.data, id],
    );
    const history = useHistory(id, moves.map((one) => num(one.height)), status.data?.oldest_state ?? Infinity);
    if (!known) return <p class="error">A dispute has a number.</p>;
    if (!task.data || !record) return <Pending error={task.error} data={task.data ? null : task.data} what={`dispute ${id}`} />;
    const positions = moves.map((one) => history.get(num(one.height))?.position).filter((one): one is Position => Boolean(one));
    if (task.data.position) positions.push(task.data.position);
    const decided = task.data.decision?.arguments;
    const levels = levelsOf(positions, decided);
    const height = num(head?.number ?? status.data?.height);
    const open = record.state === "open";
    const used = open && Number.isFinite(height) ? Math.max(0, height - num(record.turnHeight)) : 0;
    const solver = num(record.solverClock) - (open && record.mover === 1 ? used : 0);
    const challenger = num(record.challengerClock) - (open && record.mover === 2 ? used : 0);
    const whole = Math.max(...[...history.values()].map((one) => Math.max(num(one.dispute.solverClock), num(one.dispute.challengerClock))), solver, challenger);
    const claimed = num(decided?.claimedBits);
    const computed = num(decided?.refereeBits);
    const compared = decided && (claimed !== 0 || computed !== 0);
    return (
        <>
            <h1>
                Dispute {id} <State of={record.state} />
            </h1>
            <p class="lead">
                <Address of={record.challenger} /> disputes segment {num(record.segment)} of run {record.run} of <TaskLink of={record.task} />, trained by{" "}
                <Address of={record.solver} />: {tame(words(task.data.why), 200)}.
            </p>
            <Tiles
                rows={[
                    ["rounds", count(record.rounds)],
                    ["evidence", bytes(num(record.evidenceBytes))],
                    ["opened", <BlockLink of={record.openedHeight} />, "block"],
                    ["bond", <Coins of={record.bond} />, "coins of the challenger"],
                    [open ? "due" : "moves", open ? <BlockLink of={record.deadline} /> : count(moves.length), open ? "block" : ""],
                ]}
            />
            <Panel title="How it narrows" aside={open && task.data.phase ? words(task.data.phase) : undefined}>
                <ol class="levels">
                    {levels.map((level, i) => (
                        <Narrowing key={level.name} level={level} number={i + 1} />
                    ))}
                </ol>
                {positions.length === 0 && moves.length > 0 && <p class="dim">The node keeps no states from the time of this dispute, so only its end is shown.</p>}
                {compared && <Bits claimed={claimed} computed={computed} />}
                {open && (
                    <div class="clocks">
                        <Clock name="solver" blocks={solver} of={whole} running={record.mover === 1} />
                        <Clock name="challenger" blocks={challenger} of={whole} running={record.mover === 2} />
                    </div>
                )}
            </Panel>
            <Panel title="Moves" aside={`${moves.length}`}>
                <Pending error={events.error} data={events.data} what="moves" />
                <Moves moves={moves} history={history} />
            </Panel>
            <Panel title="Parties">
                <Facts
                    rows={[
                        ["solver", <Address of={record.solver} full />],
                        ["challenger", <Address of={record.challenger} full />],
                        ["kind", words(record.kind)],
                        ["audit", num(record.audit) ? <a href={`#/audit/${num(record.audit)}`}>audit {num(record.audit)}</a> : "none"],
                        ["the challenger's root", <Hash of={record.claimedRoot} />],
                    ]}
                />
            </Panel>
        </>
    );
}

export function DisputesPage() {
    useTitle("Disputes");
    const [before, setBefore] = useState<number[]>([]);
    const last = before[before.length - 1];
    const { data, error } = useQuery<Page<Dispute>>("retrace_disputes", [{ limit: 50, ...(last === undefined ? {} : { before: hex(last) }) }], { task: 0 });
    return (
        <>
            <h1>Disputes</h1>
            <Panel title="Newest disputes">
                <Pending error={error} data={data} what="disputes" />
                {data && (
                    <Table label="Disputes" head={[["dispute"], ["state"], ["task"], ["segment", "num"], ["solver"], ["challenger"], ["rounds", "num"], ["evidence", "num"], ["opened", "num"]]} empty={data.items.length === 0 && "Nothing was disputed yet."}>
                        {data.items.map((one) => (
                            <tr key={one.id}>
                                <td><a href={`#/dispute/${num(one.id)}`}>{num(one.id)}</a></td>
                                <td><State of={one.state} /></td>
                                <td><TaskLink of={one.task} /></td>
                                <td class="num">{count(one.segment)}</td>
                                <td><Address of={one.solver} /></td>
                                <td><Address of={one.challenger} /></td>
                                <td class="num">{count(one.rounds)}</td>
                                <td class="num">{bytes(num(one.evidenceBytes))}</td>
                                <td class="num"><BlockLink of={one.openedHeight} /></td>
                            </tr>
                        ))}
                    </Table>
                )}
                <Pager newer={before.length > 0} older={data?.next ?? null} go={(next) => setBefore(next === null ? before.slice(0, -1) : [...before, next])} />
            </Panel>
        </>
    );
}
