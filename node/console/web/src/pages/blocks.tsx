// SPDX-License-Identifier: MIT
// Blocks and transactions.
import { useEffect, useState } from "preact/hooks";
import { callOf, contractAt, type Decoded, eventOf } from "../abi";
import { big, bytes, coins, count, hex, num, tame, time } from "../format";
import { useContracts, useHead, useQuery, useTitle } from "../hooks";
import { Address, BlockLink, Coins, Facts, Hash, Panel, Pending, Table, TxLink } from "../parts";
import type { Block, Contract, Tx, TxExplanation, TxReceipt } from "../records";
import { node } from "../rpc";
import { LongTable } from "../windowed";

const kBlocks = 20;

export function BlocksPage() {
    useTitle("Blocks");
    const head = useHead();
    const [top, setTop] = useState<number>();
    const [blocks, setBlocks] = useState(new Map<number, Block>());
    const [error, setError] = useState("");
    const tip = useQuery<string>("eth_blockNumber", []);
    const newest = num(head?.number ?? tip.data);
    const first = top ?? newest;
    useEffect(() => {
        if (!Number.isFinite(first)) return undefined;
        let current = true;
        const wanted = Array.from({ length: kBlocks }, (_, i) => first - i).filter((n) => n >= 0);
        const missing = wanted.filter((n) => !blocks.has(n));
        Promise.all(missing.map((n) => node.call<Block | null>("eth_getBlockByNumber", [hex(n), true]))).then(
            (list) => {
                if (!current) return;
                const next = new Map<number, Block>();
                for (const n of wanted) {
                    const found = blocks.get(n) ?? list[missing.indexOf(n)];
                    if (found) next.set(n, found);
                }
                setBlocks(next);
                setError("");
            },
            (e: Error) => current && setError(e.message),
        );
        return () => {
            current = false;
        };
    }, [first]);
    return (
        <>
            <h1>Blocks</h1>
            <Panel title={top === undefined ? "Newest blocks" : `Blocks up to ${count(top)}`} aside={top === undefined ? "live" : undefined}>
                {error && <Pending error={error} data={undefined} what="blocks" />}
                <Table label="Blocks" head={[["block", "num"], ["time"], ["transactions", "num"], ["gas", "num"], ["proposer"], ["hash"]]}>
                    {[...blocks.values()].map((one) => (
                        <tr key={one.hash}>
                            <td class="num"><BlockLink of={one.number} /></td>
                            <td>{time(one.timestamp)}</td>
                            <td class="num">{one.transactions.length}</td>
                            <td class="num">{count(one.gasUsed)}</td>
                            <td><Address of={one.miner} /></td>
                            <td><a class="mono" href={`#/block/${one.hash}`}>{one.hash.slice(0, 18)}…</a></td>
                        </tr>
                    ))}
                </Table>
                <p class="pager">
                    <button type="button" disabled={top === undefined} onClick={() => setTop(top !== undefined && top + kBlocks < newest ? top + kBlocks : undefined)}>newer</button>{" "}
                    <button type="button" disabled={!(first >= kBlocks)} onClick={() => setTop(first - kBlocks)}>older</button>
                </p>
            </Panel>
        </>
    );
}

function target(contracts: Contract[], to: string | null) {
    const contract = contractAt(contracts, to);
    return contract ? <a href={`#/account/${to}`}>{contract.name.replace(/^I/, "")}</a> : to ? <Address of={to} /> : "–";
}

function TxTable({ txs }: { txs: Tx[] }) {
    const contracts = useContracts();
    return (
        <LongTable
            label="Transactions"
            head={[["transaction"], ["from"], ["to"], ["call"], ["value", "num"]]}
            empty="The block has no transactions."
            rows={txs}
            keyOf={(tx) => tx.hash}
            cells={(tx) => (
                <>
                    <td><TxLink of={tx.hash} /></td>
                    <td><Address of={tx.from} /></td>
                    <td>{target(contracts, tx.to)}</td>
                    <td>{callOf(contracts, tx)?.name ?? (tx.input === "0x" ? "payment" : bytes((tx.input.length - 2) / 2))}</td>
                    <td class="num"><Coins of={tx.value} /></td>
                </>
            )}
        />
    );
}

export function BlockPage({ id }: { id: string }) {
    const byHash = /^0x[0-9a-f]{64}$/i.test(id);
    const number = Number(id);
    const known = byHash || (Number.isSafeInteger(number) && number >= 0 && id !== "");
    useTitle(`block ${id}`);
    const { data, error } = useQuery<Block | null>(known ? (byHash ? "eth_getBlockByHash" : "eth_getBlockByNumber") : null, [byHash ? id : hex(known ? number : 0), true]);
    if (!known) return <p class="error">A block has a number or a hash of 64 hex digits.</p>;
    if (!data) return <Pending error={error} data={data} what={`block ${tame(id)}`} />;
    const height = num(data.number);
    return (
        <>
            <h1>
                Block {count(data.number)}
                <span class="aside">
                    {height > 0 && <a href={`#/block/${height - 1}`}>previous</a>} <a href={`#/block/${height + 1}`}>next</a>
                </span>
            </h1>
            <Panel title="Header">
                <Facts
                    rows={[
                        ["hash", <Hash of={data.hash} />],
                        ["parent", <Hash of={data.parentHash} />],
                        ["time", time(data.timestamp)],
                        ["proposer", <Address of={data.miner} full />],
                        ["gas", `${count(data.gasUsed)} of ${count(data.gasLimit)}`],
                        ["base fee", `${count(data.baseFeePerGas)} wei`],
                        ["size", bytes(num(data.size))],
                        ["ledger state root", <Hash of={data.stateRoot} />],
                        ["transactions root", <Hash of={data.transactionsRoot} />],
                        ["receipts root", <Hash of={data.receiptsRoot} />],
                    ]}
                />
            </Panel>
            <Panel title="Transactions" aside={`${data.transactions.length}`}>
                <TxTable txs={data.transactions} />
            </Panel>
        </>
    );
}

function text(value: unknown): string {
    if (typeof value === "bigint") return value.toString();
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    if (value && typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${k}: ${text(v)}`).join(", ")}}`;
    return String(value);
}

function Arguments({ of }: { of: Decoded }) {
    return (
        <>
            <strong>{tame(of.name)}</strong>(
            {of.arguments.map(([name, value], i) => (
                <span key={name}>
                    {i > 0 && ", "}
                    <span class="dim">{tame(name)}</span>{" "}
                    {typeof value === "string" && /^0x[0-9a-f]{40}$/i.test(value) ? <Address of={value} /> : <span class="mono break">{tame(text(value), 400)}</span>}
                </span>
            ))}
            )
        </>
    );
}

export function TxPage({ hash }: { hash: string }) {
    const known = /^0x[0-9a-f]{64}$/i.test(hash);
    useTitle(`transaction ${hash.slice(0, 10)}`);
    const contracts = useContracts();
    const { data, error } = useQuery<Tx | null>(known ? "eth_getTransactionByHash" : null, [hash], "blocks");
    const mined = data?.blockNumber != null;
    const receipt = useQuery<TxReceipt | null>(mined ? "eth_getTransactionReceipt" : null, [hash]);
    const explained = useQuery<TxExplanation | null>(mined ? "retrace_explainTransaction" : null, [hash]);
    if (!known) return <p class="error">A transaction has a hash of 64 hex digits.</p>;
    if (!data) return <Pending error={error} data={data} what="transaction" />;
    const call = callOf(contracts, data);
    const done = receipt.data ? num(receipt.data.status) === 1 : undefined;
    const fee = receipt.data ? big(receipt.data.gasUsed) * big(receipt.data.effectiveGasPrice) : undefined;
    return (
        <>
            <h1>
                Transaction{" "}
                <span class={`state ${done === undefined ? "busy" : done ? "good" : "bad"}`}>{!mined ? "waits for a block" : done === undefined ? "…" : done ? "done" : "refused"}</span>
            </h1>
            {explained.data && !explained.data.success && (
                <p class="error">
                    {tame(explained.data.refusal ? `${explained.data.refusal.slug}: ${explained.data.refusal.sentence}` : explained.data.why, 300)}
                </p>
            )}
            <Panel title="What it does">
                <Facts
                    rows={[
                        ["hash", <Hash of={data.hash} />],
                        ["block", mined ? <BlockLink of={data.blockNumber} /> : "none yet"],
                        ["from", <Address of={data.from} full />],
                        ["to", target(contracts, data.to)],
                        ["value", <><Coins of={data.value} /> coins</>],
                        ["call", call ? <Arguments of={call} /> : data.input === "0x" ? "none: a payment" : <span class="mono break">{tame(data.input, 400)}</span>],
                        ["fee", fee === undefined ? "–" : `${coins(hex(fee))} coins, ${count(receipt.data?.gasUsed)} gas`],
                        ["nonce", count(data.nonce)],
                        ["type", count(data.type)],
                    ]}
                />
            </Panel>
            <Panel title="Events" aside={receipt.data ? `${receipt.data.logs.length}` : undefined}>
                <ol class="plain">
                    {receipt.data?.logs.map((log) => {
                        const event = eventOf(contracts, log);
                        return <li key={log.logIndex}>{event ? <Arguments of={event} /> : <span class="mono break">{tame(log.data, 200)}</span>}</li>;
                    })}
                </ol>
                {receipt.data?.logs.length === 0 && <p class="dim">None.</p>}
            </Panel>
        </>
    );
}
