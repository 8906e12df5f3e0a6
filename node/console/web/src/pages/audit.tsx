// SPDX-License-Identifier: MIT
// One audit and its seats.
import { hex, num } from "../format";
import { useQuery, useTitle } from "../hooks";
import { Address, BlockLink, Hash, Panel, Pending, State, Table, TaskLink } from "../parts";
import type { Audit } from "../records";

export function AuditPage({ id }: { id: number }) {
    useTitle(`audit ${id}`);
    const known = Number.isSafeInteger(id) && id >= 0;
    const { data, error } = useQuery<Audit | null>(known ? "retrace_audit" : null, [hex(known ? id : 0)], { task: 0 });
    if (!known) return <p class="error">An audit has a number.</p>;
    if (!data) return <Pending error={error} data={data} what={`audit ${id}`} />;
    return (
        <>
            <h1>
                Audit {id} <State of={data.phase} />
            </h1>
            <p class="lead">
                Segment {num(data.segment)} of run {data.run} of <TaskLink of={data.task} /> is trained again by auditors that were drawn at random
                {num(data.deadline) ? <>; the phase ends at block <BlockLink of={data.deadline} /></> : null}.
            </p>
            <Panel title="Auditors">
                <Table label="Auditors" head={[["auditor"], ["verdict"], ["paid"], ["the root it found"]]} empty={data.seats.length === 0 && "No auditor is drawn yet."}>
                    {data.seats.map((one) => (
                        <tr key={one.auditor}>
                            <td><Address of={one.auditor} /></td>
                            <td><State of={one.state} /></td>
                            <td>{one.paid ? "yes" : "no"}</td>
                            <td><Hash of={one.root} /></td>
                        </tr>
                    ))}
                </Table>
            </Panel>
        </>
    );
}
