// SPDX-License-Identifier: MIT
// Solvers' time that requesters have asked for, of the network or of one party.
import { useState } from "preact/hooks";
import { count, num, words } from "../format";
import { useQuery } from "../hooks";
import { Address, Coins, Panel, Pending, Table, TaskLink } from "../parts";
import type { Page, Reservation } from "../records";

const kShown = 12;

/** Nothing where nobody has reserved anything. `party`: on either side. The node looks at some of them in a call, so an empty page may have older ones. */
export function Reservations({ party }: { party?: string }) {
    const [before, setBefore] = useState<string | null>(null);
    const query = { limit: kShown, ...(party ? { party } : {}), ...(before ? { before } : {}) };
    const { data, error } = useQuery<Page<Reservation>>("retrace_reservations", [query], "blocks");
    if (error) return <Pending error={error} data={undefined} what="reservations" />;
    if (!data || (data.items.length === 0 && data.next === null && before === null)) return null;
    return (
        <Panel title="Reserved time" aside={before === null ? "the newest" : `below ${num(before)}`}>
            <Table
                label="Reservations"
                empty={data.items.length === 0 && "None among those that were looked at."}
                head={[["reservation", "num"], ["state"], ["solver"], ["asked by"], ["begins from", "num"], ["and before", "num"], ["a segment", "num"], ["deposit", "num"], ["task"]]}
            >
                {data.items.map((one) => (
                    <tr key={one.id}>
                        <td class="num"><a href={`#/reservation/${num(one.id)}`}>{num(one.id)}</a></td>
                        <td>{words(one.state)}</td>
                        <td><Address of={one.solver} /></td>
                        <td><Address of={one.requester} /></td>
                        <td class="num">{count(one.from)}</td>
                        <td class="num">{count(one.until)}</td>
                        <td class="num"><Coins of={one.price} /></td>
                        <td class="num"><Coins of={one.deposit} /></td>
                        <td>{num(one.task) ? <TaskLink of={one.task} /> : "–"}</td>
                    </tr>
                ))}
            </Table>
            {(data.next !== null || before !== null) && (
                <p>
                    {data.next !== null && <button type="button" onClick={() => setBefore(data.next)}>Older ones</button>}{" "}
                    {before !== null && <button type="button" onClick={() => setBefore(null)}>The newest</button>}
                </p>
            )}
        </Panel>
    );
}
