// SPDX-License-Identifier: MIT
// A reservation of a solver's time: an offer with a deposit, its acceptance, its withdrawal, and the beginning of its task.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { eventOf } from "../abi";
import { Send, useAccount } from "../actions";
import { big, coins, count, exactCoins, hex, num, parseCoins, tame } from "../format";
import { contractList, useHead, useQuery, useTitle } from "../hooks";
import { escrowOf, kPlaces, type MarketParams, rentDepositOf, stakeFloor } from "../odds";
import { Address, BlockLink, Coins, ErrorLine, Facts, Panel, Pending, State, TaskLink } from "../parts";
import type { Party, ReservationAnswer, Spec, TxReceipt } from "../records";
import { node } from "../rpc";
import { encodable, type Field, type Posting } from "../terms";
import type { Call } from "../wallet";
import { SpecFacts, speedOf, speedText } from "./spec";

const kFields: Field[] = [
    { key: "solver", label: "solver's address", meaning: "A registered solver, other than the account that asks." },
    { key: "price", label: "coins a segment", meaning: "What it is paid, at most the price of the terms above." },
    { key: "from", label: "may begin from block", meaning: "Until then the solver may accept, and you may take the offer back." },
    { key: "until", label: "and before block", meaning: "If you have not begun the task by then, the solver has the deposit." },
    { key: "deposit", label: "deposit, coins", meaning: "It returns when the solver has taken the task. If the solver breaks its word, as much of its stake is burned, and the deposit too." },
];

/** The number in an event of the transaction that offered. */
async function reservationOf(hash: string): Promise<number> {
    const receipt = await node.call<TxReceipt | null>("eth_getTransactionReceipt", [hash]);
    const contracts = await contractList();
    for (const log of receipt?.logs ?? []) {
        const event = eventOf(contracts, log);
        if (event?.name === "TimeReserved") return Number(event.arguments.find(([name]) => name === "reservation")?.[1]);
    }
    throw new Error(`The node does not say which reservation ${hash} made.`);
}

/** Asks one solver to keep its time for the terms. */
export function Offer({ of, params }: { of: Posting; params: MarketParams }) {
    const height = num(useHead()?.number);
    const [values, setValues] = useState<{ [key: string]: string }>({ solver: "", price: exactCoins(of.spec.priceCeiling), from: "", until: "", deposit: "" });
    const [id, setId] = useState<number>();
    const [error, setError] = useState("");
    const floor = stakeFloor({ ...of.spec, replicas: 1 }, params);
    const make = (): Call => {
        const { solver = "", from = "", until = "" } = values;
        const [price, deposit] = [parseCoins(values.price ?? ""), parseCoins(values.deposit ?? "")];
        if (!/^0x[0-9a-f]{40}$/i.test(solver.trim())) throw new Error("The solver's address has 0x and 40 hex digits.");
        if (!price || price > big(of.spec.priceCeiling)) throw new Error(`The price is a number of coins above zero and at most ${exactCoins(of.spec.priceCeiling)}.`);
        if (!/^\d{1,15}$/.test(from.trim()) || !/^\d{1,15}$/.test(until.trim()) || BigInt(from) >= BigInt(until)) throw new Error("The blocks are whole numbers, the second above the first.");
        if (!deposit || (floor !== null && deposit > floor)) throw new Error(`The deposit is a number of coins above zero${floor === null ? "" : ` and at most ${exactCoins(hex(floor))}, the stake that the solver locks`}.`);
        return { contract: "IMarket", method: "reserve", args: [encodable({ ...of.spec, replicas: 1 }), solver.trim(), price, BigInt(from), BigInt(until)], value: deposit };
    };
    return (
        <details>
            <summary>Ask one solver to keep its time for it</summary>
            <p>
                Instead of an auction now: a solver keeps its time for this task alone, from a block on that you choose
                {Number.isFinite(height) && ` (the chain is at block ${count(height)})`}. The escrow is due when you begin the task; the deposit is due now.
            </p>
            <div class="form">
                {kFields.map(({ key, label, meaning }) => (
                    <div key={key}>
                        <label>
                            {label}
                            <input value={values[key]} maxLength={80} aria-describedby={`offer-${key}`} onInput={(event) => setValues({ ...values, [key]: event.currentTarget.value })} />
                        </label>
                        <small id={`offer-${key}`}>{meaning}</small>
                    </div>
                ))}
            </div>
            <p>
                <Send label="Offer the deposit" make={make} done="Offered" then={(hash) => void reservationOf(hash).then(setId, (e: Error) => setError(e.message))} />{" "}
                {id !== undefined && <a href={`#/reservation/${id}`}>reservation {id}</a>}
            </p>
            <ErrorLine text={error} />
        </details>
    );
}

/** The solver's measured speed beside what the terms need. */
function Speed({ spec, solver }: { spec: Spec; solver: string }) {
    const { data, error } = useQuery<Party>("retrace_party", [solver], "blocks");
    if (!data) return <Pending error={error} data={data} what="measured speed" />;
    const measured = num(data.solver?.capability ?? 0);
    if (!(measured > 0)) return <p class="error" role="alert">The ledger has not measured this account: nothing shows that it computes this in time.</p>;
    const text = `The ledger measured ${speedText(measured)} of this account; the terms need ${speedText(speedOf(spec))}`;
    if (measured < speedOf(spec)) return <p class="error" role="alert">{text}: it would be late, and lose stake.</p>;
    return <p>{text}, beside what it computes already.</p>;
}

/** What the connected account can do with it. */
function Actions({ id, of, params, places }: { id: number; of: ReservationAnswer; params: MarketParams; places: string }) {
    const account = useAccount();
    const { reservation, spec } = of;
    const call = (method: string, value?: bigint) => () => ({ contract: "IMarket" as const, method, args: [BigInt(id)], ...(value === undefined ? {} : { value }) });
    const isSolver = account?.address === reservation.solver.toLowerCase();
    const isRequester = account?.address === reservation.requester.toLowerCase();
    if (isRequester && reservation.state === "begun") return <p><a href={`#/upload/${num(reservation.task)}`}>Upload the files of task {num(reservation.task)}</a></p>;
    if (!spec) return null;
    const floor = stakeFloor(spec, params);
    const escrow = escrowOf(spec, params) + rentDepositOf({ spec }, places, params);
    if (isSolver && reservation.state === "offered")
        return (
            <>
                <h3>What you promise to compute</h3>
                <SpecFacts spec={spec} />
                <Speed spec={spec} solver={reservation.solver} />
                <p>
                    Accepting locks {floor === null ? "stake" : <><Coins of={hex(floor)} /> coins of your stake</>}. Look at the program and the data first: a solver that
                    accepts and does not come loses <Coins of={reservation.deposit} /> of them. <Send label="Accept and keep my time" make={call("acceptReservation")} done="Accepted" />
                </p>
            </>
        );
    if (isRequester && reservation.state === "offered")
        return <p><Send label="Take the offer back" make={call("withdrawReservation")} done="Taken back" /></p>;
    if (isRequester && reservation.state === "accepted")
        return (
            <p>
                Beginning it puts <strong>{coins(hex(escrow))}</strong> coins in escrow; then upload the files, or the deposit is lost.{" "}
                <Send label="Begin the task" make={call("beginReserved", escrow)} done="Begun" />
            </p>
        );
    return null;
}

export function ReservationPage({ id }: { id: number }) {
    const known = Number.isSafeInteger(id) && id > 0;
    useTitle(`reservation ${id}`);
    const { data, error } = useQuery<ReservationAnswer | null>(known ? "retrace_explainReservation" : null, [hex(known ? id : 0)], "blocks");
    const params = useQuery<MarketParams>("retrace_params", []);
    const places = useQuery<string>("eth_call", [kPlaces, "latest"]);
    if (!known) return <p class="error">A reservation has a number.</p>;
    if (!data) return <Pending error={error} data={data} what={`reservation ${id}`} />;
    const { reservation, spec } = data;
    const told: [string, ComponentChildren][] = [["now", tame(data.why, 400)]];
    if (data.remedy) told.push(["to be done", tame(data.remedy, 400)]);
    if (data.next) told.push(["next", <>{tame(data.next, 400)}{data.nextHeight !== null && <>, at block <BlockLink of={data.nextHeight} /></>}</>]);
    return (
        <>
            <h1>
                Reservation {id} <State of={reservation.state} />
            </h1>
            <Panel title="Why">
                <Facts rows={told} />
                {params.data && places.data !== undefined && <Actions id={id} of={data} params={params.data} places={places.data} />}
            </Panel>
            <Panel title="Terms">
                <Facts
                    rows={[
                        ...(spec ? ([["for", <>{tame(spec.name)}, {count(spec.steps)} steps</>]] as [string, ComponentChildren][]) : []),
                        ["asked by", <Address of={reservation.requester} full />],
                        ["of the solver", <Address of={reservation.solver} full />],
                        ["begins from", <>block {count(reservation.from)}</>],
                        ["and before", <>block {count(reservation.until)}; now it is {count(data.height)}</>],
                        ["price of a segment", <><Coins of={reservation.price} /> coins</>],
                        ["deposit", <><Coins of={reservation.deposit} /> coins</>],
                        ["stake locked", <><Coins of={reservation.locked} /> coins</>],
                        ["task", num(reservation.task) ? <TaskLink of={reservation.task} /> : "not begun"],
                    ]}
                />
            </Panel>
        </>
    );
}
