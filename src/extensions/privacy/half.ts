import type { FeatureParts } from '../../declare/extension.ts';

/** What each half of the extension brings. A kind of part that is not named here does not compile: none is lost when they are joined. */
export type Half = Pick<
  FeatureParts,
  | 'routes'
  | 'jobs'
  | 'revocationStep'
  | 'sweeps'
  | 'consumers'
  | 'listeners'
  | 'mails'
  | 'userData'
  | 'encrypted'
  | 'mistakes'
>;

/** All that is in these records. Throws for a name that two have: one would silently take the place of the other. */
function union<T>(records: readonly (Readonly<Record<string, T>> | undefined)[]): Record<string, T> {
  const entries = records.flatMap((record) => Object.entries(record ?? {}));
  const all = Object.fromEntries(entries);
  if (Object.keys(all).length < entries.length)
    throw new Error(`two parts of privacy() have one name: ${entries.map(([name]) => name).join(', ')}`);
  return all;
}

/** Everything that the halves bring, each with a name of its own. */
export function joinHalves(...halves: readonly Half[]): Required<Half> {
  return {
    routes: halves.flatMap(({ routes }) => routes ?? []),
    sweeps: halves.flatMap(({ sweeps }) => sweeps ?? []),
    consumers: halves.flatMap(({ consumers }) => consumers ?? []),
    userData: halves.flatMap(({ userData }) => userData ?? []),
    encrypted: halves.flatMap(({ encrypted }) => encrypted ?? []),
    jobs: union(halves.map(({ jobs }) => jobs)),
    mails: union(halves.map(({ mails }) => mails)),
    listeners: union(halves.map(({ listeners }) => listeners)),
    async revocationStep(revocation, tx) {
      for (const { revocationStep } of halves) await revocationStep?.(revocation, tx);
    },
    mistakes: () => halves.flatMap(({ mistakes }) => mistakes?.() ?? []),
  };
}
