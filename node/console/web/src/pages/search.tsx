// SPDX-License-Identifier: MIT
// Search: what a text may name. One hit is opened at once.
import { useEffect, useState } from "preact/hooks";
import { hex, num, tame } from "../format";
import { useTitle } from "../hooks";
import { Panel } from "../parts";
import type { Block, DisputeAnswer, Page, Task, TaskSummary, Tx } from "../records";
import { type Json, node } from "../rpc";

interface Hit {
    where: string;
    name: string;
}

const kNamesRead = 100;

async function find<T>(method: string, params: Json[]): Promise<T | null> {
    return node.call<T | null>(method, params).catch(() => null);
}

async function byNumber(n: number): Promise<Hit[]> {
    const [block, task, dispute] = await Promise.all([
        find<Block>("eth_getBlockByNumber", [hex(n), false]),
        find<Task>("retrace_task", [hex(n)]),
        find<DisputeAnswer>("retrace_dispute", [hex(n)]),
    ]);
    const out: Hit[] = [];
    if (task) out.push({ where: `#/task/${n}`, name: `task ${n}: ${tame(task.spec.name)}` });
    if (block) out.push({ where: `#/block/${n}`, name: `block ${n}` });
    if (dispute) out.push({ where: `#/dispute/${n}`, name: `dispute ${n}` });
    return out;
}

async function byHash(hash: string): Promise<Hit[]> {
    const [tx, block] = await Promise.all([find<Tx>("eth_getTransactionByHash", [hash]), find<Block>("eth_getBlockByHash", [hash, false])]);
    const out: Hit[] = [];
    if (block) out.push({ where: `#/block/${hash}`, name: `block ${num(block.number)}` });
    else if (tx) out.push({ where: `#/tx/${hash}`, name: "transaction" });
    return out.length ? out : byTask((_, task) => [task.spec.programRoot, task.spec.initRoot, ...task.spec.dataRoots].includes(hash.toLowerCase()));
}

/** Those of the newest tasks that fit; their terms are read only for roots. */
async function byTask(fits: (summary: TaskSummary, task: Task) => boolean): Promise<Hit[]> {
    const page = await node.call<Page<TaskSummary>>("retrace_tasks", [{ limit: kNamesRead }]);
    const tasks = await Promise.all(page.items.map((one) => find<Task>("retrace_task", [one.id])));
    return page.items
        .filter((one, i) => tasks[i] && fits(one, tasks[i] as Task))
        .map((one) => ({ where: `#/task/${num(one.id)}`, name: `task ${num(one.id)}: ${tame(one.name)}` }));
}

async function search(text: string): Promise<Hit[]> {
    if (/^0x[0-9a-f]{40}$/i.test(text)) return [{ where: `#/account/${text}`, name: "account" }];
    if (/^(0x)?[0-9a-f]{64}$/i.test(text)) return byHash(text.startsWith("0x") ? text : `0x${text}`);
    if (/^\d{1,15}$/.test(text)) return byNumber(Number(text));
    const kind = /^(task|block|dispute|audit)\s+(\d{1,15})$/i.exec(text);
    if (kind) return [{ where: `#/${kind[1]?.toLowerCase()}/${kind[2]}`, name: text }];
    const wanted = text.toLowerCase();
    return byTask((one) => one.name.toLowerCase().includes(wanted));
}

export function SearchPage({ what }: { what: string }) {
    useTitle("search");
    const [hits, setHits] = useState<Hit[]>();
    const [error, setError] = useState("");
    useEffect(() => {
        let current = true;
        search(what.trim()).then(
            (found) => {
                if (!current) return;
                if (found.length === 1 && found[0]) location.replace(found[0].where);
                setHits(found);
            },
            (e: Error) => current && setError(e.message),
        );
        return () => {
            current = false;
        };
    }, [what]);
    return (
        <>
            <h1>Search</h1>
            <Panel title={tame(what)}>
                {error && <p class="error" role="alert">{tame(error, 200)}</p>}
                {!hits && !error && <p class="dim">Searching …</p>}
                {hits?.length === 0 && (
                    <p>
                        Nothing is called that. A task, a block or a dispute has a number; a block and a transaction have a hash; an account has an
                        address; programs and data have roots; the newest {kNamesRead} tasks are searched by name.
                    </p>
                )}
                <ul class="plain">
                    {hits?.map((hit) => (
                        <li key={hit.where}>
                            <a href={hit.where}>{hit.name}</a>
                        </li>
                    ))}
                </ul>
            </Panel>
        </>
    );
}
