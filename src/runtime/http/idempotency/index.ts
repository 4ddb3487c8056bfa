import type { FeatureParts } from '../../../declare/extension.ts';
import { retentionSweep } from '../../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import type { Platform } from '../../../platform/platform.ts';
import { REMOVE_OLD_KEYS } from './key-leases.ts';
import { responseContext } from './stored-response.ts';

export { createIdempotentRequests } from './idempotent-requests.ts';
export { readIdempotencyKey } from './key.ts';
export { idempotencyTables } from './table.ts';

/** Removes keys that are older than a day. */
export function idempotencySweep(database: Platform['database']): Sweep {
  return retentionSweep(database, { name: 'idempotency keys', removals: [{ text: REMOVE_OLD_KEYS }] });
}

/** Sweep and encrypted column of the keys. */
export function idempotencyParts({ database }: Pick<Platform, 'database'>): FeatureParts {
  const responses = { name: 'idempotency_keys.answer', table: 'idempotency_keys', column: 'answer' };
  return { sweeps: [idempotencySweep(database)], encrypted: [{ ...responses, context: responseContext }] };
}
