// SPDX-License-Identifier: MIT
// Search: what a text may name. One hit is opened at once.
import { useEffect, useState } from "preact/hooks";
import { contractNamed, eventOf, topicOf } from "../abi";
import { count, hex, num, tame } from "../format";
import { contractList, useTitle } from "../hooks";
import { keptLogs } from "../kept";
import { Panel } from "../parts";
import type { Audit, Block, DisputeAnswer, Page, ReservationAnswer, Task, TaskSummary, Tx } from "../records";
import { type Json, node } from "../rpc";

interface Hit {
    where: string;
    name: string;
}

/** What was found, and among how many of the newest tasks, if it may name one; `older`: there are more. */
interface Found {
    hits: Hit[];
    tasks: number;
    older: boolean;
    /** What the node refused to look for. */
    failures: string[];
}

const kPage = 100; // tasks in one answer of the node
/** Pages of tasks that are searched at first; each "older" searches ten times as many. */
const kNamePages = 10;
const kRootPages = 1; // the terms of each task are read
const kStateBlocks = 100_000;
const kStateBlocksAtOnce = 10_000;

/** The node's answer, or null and an entry in `failures`. */
async function find<T>(method: string, params: Json[], failures: string[]): Promise<T | null> {
    return node.call<T | null>(method, params).catch((error: Error) => {
        failures.push(`${method}: ${error.message}`);
        return null;
    });
}

async function byNumber(n: number): Promise<Found> {
    const failures: string[] = [];
    const [block, task, dispute, audit, reservation] = await Promise.all([
        find<Block>("eth_getBlockByNumber", [hex(n), false], failures),
        find<Task>("retrace_task", [hex(n)], failures),
        find<DisputeAnswer>("retrace_dispute", [hex(n)], failures),
        find<Audit>("retrace_audit", [hex(n)], failures),
        find<ReservationAnswer>("retrace_explainReservation", [hex(n)], failures),
    ]);
    const out: Hit[] = [];
    if (task) out.push({ where: `#/task/${n}`, name: `task ${n}: ${tame(task.spec.name)}` });
    if (block) out.push({ where: `#/block/${n}`, name: `block ${n}` });
    if (dispute) out.push({ where: `#/dispute/${n}`, name: `dispute ${n}` });
    if (audit) out.push({ where: `#/audit/${n}`, name: `audit ${n}` });
    if (reservation) out.push({ where: `#/reservation/${n}`, name: `reservation ${n}` });
    return { ...whole(out), failures };
}

/** States that solvers opened in the newest blocks: the model of a task is the last of them. */
async function byState(root: string): Promise<Hit[]> {
    const market = contractNamed(await contractList(), "IMarket");
    if (!market) return [];
    const filter = { address: market.address, topics: [topicOf(market, "StateOpened")] };
    const tip = num(await node.call<string>("eth_blockNumber"));
    for (let head = tip; head > Math.max(0, tip - kStateBlocks); head -= kStateBlocksAtOnce) {
        const { items, whole } = await keptLogs(filter, head, kStateBlocksAtOnce);
        for (const log of items.reverse()) {
            const a = Object.fromEntries(eventOf([market], log)?.arguments ?? []) as { [name: string]: unknown };
            if (String(a.root).toLowerCase() === root)
                return [{ where: `#/task/${String(a.task)}`, name: `state ${String(a.index)} of run ${String(a.run)} of task ${String(a.task)}` }];
        }
        if (!whole) break;
    }
    return [];
}

const rootsOf = ({ spec }: Task) => [spec.programRoot, spec.initRoot, spec.initialStateRoot, spec.contractHash, ...spec.dataRoots];

async function byHash(hash: string, pages: number): Promise<Found> {
    const failures: string[] = [];
    const [tx, block] = await Promise.all([find<Tx>("eth_getTransactionByHash", [hash], failures), find<Block>("eth_getBlockByHash", [hash, false], failures)]);
    const out: Hit[] = [];
    if (block) out.push({ where: `#/block/${hash}`, name: `block ${num(block.number)}` });
    else if (tx) out.push({ where: `#/tx/${hash}`, name: "transaction" });
    if (out.length) return whole(out);
    const root = hash.toLowerCase();
    const states = await byState(root);
    if (states.length) return { ...whole(states), failures };
    const found = await byTask(kRootPages * pages, async (one) => {
        const task = await find<Task>("retrace_task", [one.id], failures);
        return task !== null && rootsOf(task).includes(root);
    });
    return { ...found, failures };
}

const whole = (hits: Hit[]): Found => ({ hits, tasks: 0, older: false, failures: [] });

/** Those of the newest tasks that fit. */
async function byTask(pages: number, fits: (summary: TaskSummary) => boolean | Promise<boolean>): Promise<Found> {
    const out: Found = { hits: [], tasks: 0, older: true, failures: [] };
    for (let read = 0, before: string | null = null; read < pages && out.older; read++) {
        const page: Page<TaskSummary> = await node.call("retrace_tasks", [{ limit: kPage, ...(before === null ? {} : { before }) }]);
        const fitting = await Promise.all(page.items.map(fits));
        page.items.forEach((one, i) => fitting[i] && out.hits.push({ where: `#/task/${num(one.id)}`, name: `task ${num(one.id)}: ${tame(one.name)}` }));
        out.tasks += page.items.length;
        before = page.next;
        out.older = before !== null;
    }
    return out;
}

/** `pages`: by how much more than at first is searched. */
async function search(text: string, pages: number): Promise<Found> {
    if (/^0x[0-9a-f]{40}$/i.test(text)) return whole([{ where: `#/account/${text}`, name: "account" }]);
    if (/^(0x)?[0-9a-f]{64}$/i.test(text)) return byHash(text.startsWith("0x") ? text : `0x${text}`, pages);
    if (/^\d{1,15}$/.test(text)) return byNumber(Number(text));
    const kind = /^(task|block|dispute|audit|reservation)\s+(\d{1,15})$/i.exec(text);
    if (kind) return whole([{ where: `#/${kind[1]?.toLowerCase()}/${kind[2]}`, name: text }]);
    const wanted = text.toLowerCase();
    return byTask(kNamePages * pages, (one) => one.name.toLowerCase().includes(wanted));
}

export function SearchPage({ what }: { what: string }) {
    useTitle("search");
    const [found, setFound] = useState<Found>();
    const [pages, setPages] = useState(1);
    const [error, setError] = useState("");
    const hits = found?.hits;
    useEffect(() => {
        let current = true;
        setFound(undefined);
        setError("");
        search(what.trim(), pages).then(
            (now) => {
                if (!current) return;
                const [only] = now.hits;
                if (only && now.hits.length === 1 && pages === 1 && now.failures.length === 0) location.replace(only.where);
                setFound(now);
            },
            (e: Error) => current && setError(e.message),
        );
        return () => {
            current = false;
        };
    }, [what, pages]);
    return (
        <>
            <h1>Search</h1>
            <Panel title={tame(what)}>
                {error && <p class="error" role="alert">{tame(error, 200)}</p>}
                {found && found.failures.length > 0 && <p class="error" role="alert">Not all was searched: {tame(found.failures.slice(0, 3).join("; "), 300)}</p>}
                {!hits && !error && <p class="dim">Searching …</p>}
                {hits?.length === 0 && found?.failures.length === 0 && (
                    <p>
                        Nothing is called that. A task, a block, an audit or a dispute has a number; a block and a transaction have a hash; an account
                        has an address; programs, data and numeric contracts have roots, and so have states, models among them, if they were opened in
                        the newest {count(kStateBlocks)} blocks that this node keeps.
                    </p>
                )}
                <ul class="plain">
                    {hits?.map((hit) => (
                        <li key={hit.where}>
                            <a href={hit.where}>{hit.name}</a>
                        </li>
                    ))}
                </ul>
                {found && found.tasks > 0 && (
                    <p class="caption">
                        The newest {count(found.tasks)} tasks were searched.{" "}
                        {found.older && (
                            <button type="button" onClick={() => setPages(10 * pages)}>
                                Search older tasks
                            </button>
                        )}
                    </p>
                )}
            </Panel>
        </>
    );
}
