// SPDX-License-Identifier: MIT
// Where strangers say that they serve what they keep.
import type { Party } from "./records";
import { node } from "./rpc";

/** 0.0.0.0/8, 10/8, 100.64/10, 127/8, 169.254/16, 172.16/12, 192.0.0/24, 192.168/16, 198.18/15 and what is above 224. */
function isLocalV4(a: number, b: number, c: number): boolean {
    return a === 0 || a === 10 || a === 127 || a >= 224 || (a === 100 && b >> 6 === 1) || (a === 169 && b === 254) || (a === 172 && b >> 4 === 1) ||
        (a === 192 && b === 168) || (a === 192 && b === 0 && c === 0) || (a === 198 && b >> 1 === 9);
}

/** The eight groups of an IPv6 address as a URL writes it, without brackets. */
function groupsOf(text: string): number[] {
    const [front = "", back] = text.split("::");
    const read = (part: string) => (part ? part.split(":").map((digits) => Number.parseInt(digits, 16)) : []);
    if (back === undefined) return read(front);
    const [high, low] = [read(front), read(back)];
    return [...high, ...Array<number>(8 - high.length - low.length).fill(0), ...low];
}

/** Global unicast only, and of it no address of a translator or tunnel that leads to a private one (RFC 6052, 8215, 3056, 4380). */
function isLocalV6(text: string): boolean {
    const groups = groupsOf(text);
    const [a = 0, b = 0, c = 0, , , , y = 0, z = 0] = groups;
    const leadsTo = (high: number, low: number) => isLocalV4(high >> 8, high & 255, low >> 8);
    if (a === 0x64 && b === 0xff9b) return groups.slice(2, 6).some((group) => group !== 0) || leadsTo(y, z);
    if (a === 0x2002) return leadsTo(b, c);
    if (a === 0x2001 && b === 0) return true;
    return a >> 13 !== 1;
}

const kLocalNames = /(^|\.)(localhost|local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa)$/;

/** Whether a host, as a URL has it, is this machine or in a private network, where it means another machine for each reader. */
export function isLocal(hostname: string): boolean {
    const host = hostname.toLowerCase().replace(/\.$/, "");
    if (host.startsWith("[")) return isLocalV6(host.slice(1, -1));
    const [, a, b, c] = /^(\d+)\.(\d+)\.(\d+)\.\d+$/.exec(host) ?? [];
    if (a !== undefined) return isLocalV4(Number(a), Number(b), Number(c));
    return !host.includes(".") || kLocalNames.test(host);
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
