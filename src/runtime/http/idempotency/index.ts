import type { FeatureParts } from '../../../declare/extension.ts';
import type { Platform } from '../../../platform/platform.ts';
import { answerContext } from './stored-answer.ts';
import { idempotencySweep } from './sweep.ts';

export { createIdempotentRequests } from './idempotent-requests.ts';
export { readIdempotencyKey } from './key.ts';
export { idempotencyTables } from './table.ts';

/** What is done about keys outside of requests. */
export function idempotencyParts({ database }: Pick<Platform, 'database'>): FeatureParts {
  const answers = { name: 'idempotency_keys.answer', table: 'idempotency_keys', column: 'answer' };
  return { sweeps: [idempotencySweep(database)], encrypted: [{ ...answers, context: answerContext }] };
}
