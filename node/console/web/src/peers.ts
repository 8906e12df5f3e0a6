// SPDX-License-Identifier: MIT
// Where strangers say that they serve what they keep.
import type { Party } from "./records";
import { node } from "./rpc";

/** Whether a host is this machine or in a private network, where it means another machine for each reader. */
function isLocal(host: string): boolean {
    if (/^\[/.test(host)) return /^\[(::1?\]|::ffff:|f[cd]|fe[89ab])/.test(host);
    if (/^(0|10|127)\.[\d.]+$|^192\.168\.[\d.]+$|^169\.254\.[\d.]+$/.test(host)) return true;
    const [, first, second] = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host) ?? [];
    if (first === "172" && Number(second) >> 4 === 1) return true;
    if (first === "100" && Number(second) >> 6 === 1) return true;
    return !host.includes(".") || /\.(localhost|local|internal|home\.arpa)\.?$/.test(host);
}

/**
 * The URLs of the solver and of the keepers of its last state; what a stranger announced is used as an origin only. One
 * of a private network is left out unless the page itself comes from one: a stranger could name the reader's devices.
 */
export async function peersOf(addresses: string[]): Promise<string[]> {
    const parties = await Promise.all([...new Set(addresses)].map((one) => node.call<Party>("retrace_party", [one])));
    const out = new Set<string>();
    for (const endpoint of parties.flatMap((one) => [one.solver?.endpoint, one.verifier?.endpoint])) {
        if (!endpoint || !/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) continue;
        const { origin, hostname } = new URL(endpoint);
        if (!isLocal(hostname) || isLocal(location.hostname)) out.add(origin);
    }
    return [...out];
}
