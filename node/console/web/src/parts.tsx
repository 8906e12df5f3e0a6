// SPDX-License-Identifier: MIT
// Small parts that every page uses.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { big, coins, count, num, short, tame, words } from "./format";

export const Coins = ({ of }: { of: unknown }) => <span class="num" title={`${big(of)} wei`}>{coins(of)}</span>;

export function Address({ of, full }: { of: string; full?: boolean }) {
    if (!/^0x[0-9a-f]{40}$/i.test(of)) return <span>{tame(of)}</span>;
    if (/^0x0{40}$/.test(of)) return <span class="dim">nobody</span>;
    return (
        <a class="mono" href={`#/account/${of}`} title={of}>
            {full ? of : short(of)}
        </a>
    );
}

export const TxLink = ({ of, full }: { of: string; full?: boolean }) => (
    <a class="mono" href={`#/tx/${of}`} title={of}>
        {full ? of : short(of, 8)}
    </a>
);
export const BlockLink = ({ of }: { of: unknown }) => (
    <a class="num" href={`#/block/${num(of)}`}>
        {count(of)}
    </a>
);
export const TaskLink = ({ of, name }: { of: unknown; name?: string }) => (
    <a href={`#/task/${num(of)}`}>{name ? tame(name, 48) : `task ${num(of)}`}</a>
);

export function Hash({ of }: { of: string }) {
    const [done, setDone] = useState(false);
    const copy = () =>
        void navigator.clipboard?.writeText(of).then(
            () => {
                setDone(true);
                setTimeout(() => setDone(false), 1500);
            },
            () => undefined,
        );
    if (/^0x0*$/.test(of)) return <span class="dim">none</span>;
    return (
        <span class="hash">
            <code title={of}>{of}</code>
            {navigator.clipboard && (
                <button type="button" class="quiet" onClick={copy} aria-label={`copy ${short(of)}`}>
                    {done ? "copied" : "copy"}
                </button>
            )}
        </span>
    );
}

const kGood = new Set(["settled", "verified", "won", "matched", "challenger_lost", "proved", "paid"]);
const kBad = new Set(["forfeited", "expired", "solver_lost", "differed", "frozen", "lost", "missed", "failed", "disputed"]);
const kBusy = new Set(["running", "assigned", "bidding", "delivering", "auditing", "open", "collecting", "opening"]);
export function State({ of }: { of: string }) {
    const kind = kGood.has(of) ? "good" : kBad.has(of) ? "bad" : kBusy.has(of) ? "busy" : "idle";
    return <span class={`state ${kind}`}>{words(of)}</span>;
}

/** A query's error, or that it is on its way; nothing once there is an answer. */
export function Pending({ error, data, what }: { error: string; data: unknown; what: string }) {
    if (error)
        return (
            <p class="error" role="alert">
                {what}: {tame(error, 300)}
            </p>
        );
    if (data === undefined) return <p class="dim">Loading {what} …</p>;
    if (!data) return <p>{`There is no such ${what}.`}</p>;
    return null;
}

export function Panel({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
    const id = `p-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
    return (
        <section class="panel" aria-labelledby={id}>
            <header>
                <h2 id={id}>{title}</h2>
                {aside && <span class="aside">{aside}</span>}
            </header>
            {children}
        </section>
    );
}

export function Facts({ rows }: { rows: [string, ComponentChildren][] }) {
    return (
        <dl class="facts">
            {rows.map(([name, value]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            ))}
        </dl>
    );
}

export function Tiles({ rows }: { rows: [string, ComponentChildren, ComponentChildren?][] }) {
    return (
        <dl class="tiles">
            {rows.map(([name, value, note]) => (
                <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                    {note && <dd class="note">{note}</dd>}
                </div>
            ))}
        </dl>
    );
}

/** A field that gives a chosen file to `take`. */
export function FileField({ label, accept, take }: { label: string; accept: string; take: (file: File) => void }) {
    const change = (input: HTMLInputElement) => {
        const file = input.files?.[0];
        if (file) take(file);
    };
    return (
        <label>
            {label} <input type="file" accept={accept} onChange={(event) => change(event.currentTarget)} />
        </label>
    );
}

export const ErrorLine = ({ text }: { text: string }) =>
    text ? (
        <p class="error" role="alert">
            {tame(text, 300)}
        </p>
    ) : null;

export type Columns = [name: string, kind?: "num"][];
export const HeadCells = ({ of }: { of: Columns }) => (
    <>
        {of.map(([name, kind]) => (
            <th scope="col" class={kind} key={name}>
                {name}
            </th>
        ))}
    </>
);

/** A table that scrolls sideways by itself, so that the page does not on a phone. */
export function Table({ label, head, children, empty }: {
    label: string;
    head: Columns;
    children: ComponentChildren;
    empty?: string | false;
}) {
    return (
        <div class="scroll" tabIndex={0} role="group" aria-label={label}>
            <table>
                <thead>
                    <tr><HeadCells of={head} /></tr>
                </thead>
                <tbody>
                    {empty ? (
                        <tr>
                            <td colSpan={head.length} class="dim">
                                {empty}
                            </td>
                        </tr>
                    ) : (
                        children
                    )}
                </tbody>
            </table>
        </div>
    );
}
