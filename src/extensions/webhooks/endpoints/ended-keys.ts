import type { Host } from '../../../declare/host.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import type { EndpointRow } from './endpoint.ts';
import type { KeyLimits } from './key-limits.ts';
import type { NotifyDisabled } from './disabling.ts';
import { BOUND_KEYS, DISABLE_OF_KEYS } from './endpoints-sql.ts';

const PAGE = 500;
const EVERY_MS = 5000;

/**
 * Disables the endpoints of keys that have expired, and of revoked keys that no revocation step has handled. This is not what stops
 * deliveries after the expiry: every claim checks it.
 */
export function endedKeysSweep(
  { database }: Pick<Host, 'database'>,
  { ended }: Pick<KeyLimits, 'ended'>,
  notifyDisabled: NotifyDisabled,
  pollMs: number,
): Sweep {
  return {
    name: 'webhooks: ended API keys',
    everyMs: Math.min(Math.max(pollMs, 50), EVERY_MS),
    async run() {
      for (let after = '', found = PAGE; found === PAGE; ) {
        const keys = (await database.write<[string]>({ text: BOUND_KEYS, values: [after, PAGE] })).flat();
        found = keys.length;
        after = keys.at(-1) ?? after;
        const gone = found > 0 ? await ended(keys) : [];
        if (gone.length === 0) continue;
        await notifyDisabled(await database.write<EndpointRow>({ text: DISABLE_OF_KEYS, values: [gone] }));
      }
    },
  };
}
