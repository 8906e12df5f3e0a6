// SPDX-License-Identifier: MIT
// What the requester of an open task may add to it: a higher ceiling, more auctions, more replicas.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Send } from "../actions";
import { coins, exactCoins, hex, many } from "../format";
import { useQuery } from "../hooks";
import type { MarketParams } from "../odds";
import { ErrorLine } from "../parts";
import { type Open, readOpen, replicasValue, topUpOf } from "../raise";
import type { Task } from "../records";
import type { Call } from "../wallet";

/** What `of` returns, or the sentence that it throws. */
function tried<T>(of: () => T): { value?: T; wrong: string } {
    try {
        return { value: of(), wrong: "" };
    } catch (error) {
        return { wrong: (error as Error).message };
    }
}

/** A field, what the call brings, and the button that sends it. */
function Form({ wrong, cost, label, done, make, children }: { wrong: string; cost: ComponentChildren; label: string; done: string; make: () => Call; children: ComponentChildren }) {
    return (
        <>
            <div class="form">{children}</div>
            {wrong ? <ErrorLine text={wrong} /> : <p>{cost}</p>}
            <p>
                <Send label={label} make={make} done={done} />
            </p>
        </>
    );
}

const Brings = ({ wei }: { wei: bigint }) => <>Locked as escrow: <strong>{coins(hex(wei))}</strong> coins more. What is not used comes back at the end.</>;

function TopUp({ id, open, params }: { id: number; open: Open; params: MarketParams }) {
    const [ceiling, setCeiling] = useState("");
    const [auctions, setAuctions] = useState("1");
    const { value, wrong } = tried(() => topUpOf(open, params, ceiling, auctions));
    const make = (): Call => {
        const now = topUpOf(open, params, ceiling, auctions);
        return { contract: "IMarket", method: "topUpTask", args: [BigInt(id), now.ceiling, now.auctions], value: now.value };
    };
    const cost = value && (
        <>
            From its next auction on a segment costs at most {exactCoins(hex(value.ceiling))} coins, and {many(open.left + value.auctions, "auction")} may follow ones without
            winners. <Brings wei={value.value} />
        </>
    );
    return (
        <Form wrong={wrong} cost={cost} label="Raise the ceiling" done="Raised" make={make}>
            <label>
                at most, coins a segment
                <input value={ceiling} placeholder={exactCoins(hex(open.least))} maxLength={40} aria-describedby="raise-ceiling" onInput={(event) => setCeiling(event.currentTarget.value)} />
                <small id="raise-ceiling">From the next auction on. Empty: as it is.</small>
            </label>
            <label>
                more auctions
                <input value={auctions} maxLength={3} onInput={(event) => setAuctions(event.currentTarget.value)} />
            </label>
        </Form>
    );
}

function Replicas({ id, open, params }: { id: number; open: Open; params: MarketParams }) {
    const [replicas, setReplicas] = useState(String(open.task.active.length + 1));
    const { value, wrong } = tried(() => replicasValue(open, params, replicas));
    const make = (): Call => {
        const brings = replicasValue(open, params, replicas);
        return { contract: "IMarket", method: "raiseReplicas", args: [BigInt(id), Number(replicas)], value: brings };
    };
    const cost = value !== undefined && (
        <>
            An auction begins for solvers that compute the task too, from state {open.newest} on. <Brings wei={value} />
        </>
    );
    return (
        <Form wrong={wrong} cost={cost} label="Add solvers" done="Added" make={make}>
            <label>
                solvers in all (2–5)
                <input value={replicas} maxLength={1} onInput={(event) => setReplicas(event.currentTarget.value)} />
            </label>
        </Form>
    );
}

/** `task`: read again whenever it changes, of no training in rounds. */
export function Raise({ id, task }: { id: number; task: Task }) {
    const params = useQuery<MarketParams>("retrace_params", []);
    const [shown, setShown] = useState(false);
    const [open, setOpen] = useState<Open>();
    const [error, setError] = useState("");
    useEffect(() => {
        if (!shown) return undefined;
        let current = true;
        readOpen(id).then(
            (found) => {
                if (!current) return;
                setOpen(found);
                setError("");
            },
            (e: Error) => current && setError(e.message),
        );
        return () => {
            current = false;
        };
    }, [shown, id, task]);
    return (
        <details onToggle={(event) => setShown(event.currentTarget.open)}>
            <summary>Raise the price, or add solvers</summary>
            <ErrorLine text={error || params.error} />
            {shown && !open && !error && <p class="dim">Loading the task …</p>}
            {open && params.data && (
                <>
                    <TopUp id={id} open={open} params={params.data} />
                    {task.task.state === "running" && <Replicas id={id} open={open} params={params.data} />}
                </>
            )}
        </details>
    );
}
