// SPDX-License-Identifier: MIT
// What a person does with the browser's wallet: connect, and buttons that send a call.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { short, tame } from "./format";
import { TxLink } from "./parts";
import { dismiss, type Entry, leftOver, onOutbox, send, show } from "./outbox";
import { MayStillCome } from "./sent";
import { type Account, type Call, connect, currentAccount, disconnect, type Found, onWallet, wallets } from "./wallet";

export function useAccount(): Account | undefined {
    const [account, setAccount] = useState(currentAccount());
    useEffect(() => onWallet(() => setAccount(currentAccount())), []);
    return account;
}

export function WalletButton() {
    const account = useAccount();
    const [list, setList] = useState<Found[]>(wallets());
    const [error, setError] = useState("");
    useEffect(() => onWallet(() => setList(wallets())), []);
    if (account)
        return (
            <span class="wallet">
                <a class="mono" href={`#/account/${account.address}`} title={`${account.address} of ${tame(account.wallet, 40)}`}>
                    {short(account.address)}
                </a>{" "}
                <button type="button" class="quiet" onClick={disconnect}>
                    disconnect
                </button>
            </span>
        );
    if (list.length === 0) return <span class="wallet dim" title="No wallet extension was found in this browser">watching only</span>;
    return (
        <span class="wallet">
            {list.map((one) => (
                <button
                    key={one.name}
                    type="button"
                    onClick={() => {
                        setError("");
                        connect(one).catch((e: Error) => setError(e.message));
                    }}
                >
                    Connect {tame(one.name, 24)}
                </button>
            ))}
            {error && (
                <span class="error" role="alert">
                    {tame(error, 160)}
                </span>
            )}
        </span>
    );
}

/**
 * A button that sends the call of `make`, which may throw a sentence about the input. `over`: only the outcome is shown;
 * `then` is given the hash of the transaction.
 */
export function Send({ label, make, done, over, then }: {
    label: string;
    make: () => Call;
    done?: ComponentChildren;
    over?: boolean;
    then?: (hash: string) => void;
}) {
    const [progress, setProgress] = useState("");
    const [error, setError] = useState("");
    const [hash, setHash] = useState("");
    const [late, setLate] = useState(false);
    const [begun, setBegun] = useState("");
    useEffect(() => (begun ? show(begun) : undefined), [begun]);
    const go = async (again = false) => {
        setError("");
        setHash("");
        setLate(false);
        try {
            setProgress("…");
            const sent = await send(label, make(), setProgress, setBegun, again);
            setHash(sent);
            then?.(sent);
        } catch (e) {
            setError((e as Error).message);
            setLate(e instanceof MayStillCome);
        }
        setProgress("");
    };
    return (
        <span class="send">
            {!over && (
                <button type="button" class="main" disabled={progress !== ""} onClick={() => void go()}>
                    {late ? "Look again" : label}
                </button>
            )}{" "}
            <span role="status">
                {progress}
                {hash && (
                    <>
                        {done ?? "Done"}: <TxLink of={hash} />
                    </>
                )}
            </span>
            {error && (
                <span class="error" role="alert">
                    {tame(error, 300)}
                </span>
            )}
            {late && (
                <button type="button" class="quiet" disabled={progress !== ""} onClick={() => void go(true)}>
                    Send a second one, beside the first
                </button>
            )}
        </span>
    );
}

/** What became of calls whose button is gone: of another page, of an account that is no longer connected, of a tab that was loaded again. */
export function Outbox() {
    const [list, setList] = useState<Entry[]>(leftOver());
    useEffect(() => onOutbox(() => setList(leftOver())), []);
    if (list.length === 0) return null;
    return (
        <div class="outbox" role="status">
            {list.map(({ label, hash, outcome }) => (
                <p key={hash}>
                    {label}: <TxLink of={hash} /> {outcome ? tame(outcome, 300) : "was sent; whether it is in a block is not known yet"}.{" "}
                    <button type="button" class="quiet" onClick={() => dismiss(hash)}>
                        {outcome ? "dismiss" : "forget it"}
                    </button>
                </p>
            ))}
        </div>
    );
}
