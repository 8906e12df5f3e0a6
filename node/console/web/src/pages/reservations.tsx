// SPDX-License-Identifier: MIT
// Solvers' time that requesters have asked for, of the network or of one party.
import { count, num, words } from "../format";
import { useQuery } from "../hooks";
import { Address, Coins, Panel, Pending, Table, TaskLink } from "../parts";
import type { Page, Reservation } from "../records";

const kShown = 12;

/** Nothing where nobody has reserved anything. `party`: on either side. */
export function Reservations({ party }: { party?: string }) {
    const { data, error } = useQuery<Page<Reservation>>("retrace_reservations", [{ limit: kShown, ...(party ? { party } : {}) }], "blocks");
    if (error) return <Pending error={error} data={undefined} what="reservations" />;
    if (!data || data.items.length === 0) return null;
    return (
        <Panel title="Reserved time" aside="the newest">
            <Table
                label="Reservations"
                head={[["reservation", "num"], ["state"], ["solver"], ["asked by"], ["begins from", "num"], ["and before", "num"], ["a segment", "num"], ["deposit", "num"], ["task"]]}
            >
                {data.items.map((one) => (
                    <tr key={one.id}>
                        <td class="num">{num(one.id)}</td>
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
        </Panel>
    );
}
