import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { ErasurePlan } from '../../../records/schema/erasure-plan.ts';
import { erasedColumns, textArray } from './record-statements.ts';

/** $1 owner. Removes personal data from events of the owner's records that wait in the outbox. Waits for a relay that has locked them. */
function redactSql(gateway: ResourceGateway, plan: ErasurePlan): string {
  const erased = textArray(erasedColumns(gateway, plan));
  const owner = `'${plan.ownerColumn}'`;
  const theirs = (part: string) => `(payload->'${part}'->>${owner} = $1 and payload->'${part}' ?| ${erased})`;
  return `
  update outbox set payload = payload || jsonb_build_object('record', (payload->'record') - ${erased})
    || case when payload ? 'previous' then jsonb_build_object('previous', (payload->'previous') - ${erased}) else '{}' end
  where resource = '${gateway.name}' and (${theirs('record')} or ${theirs('previous')}) returning 1`;
}

/**
 * Creates the function that removes a user's personal data from waiting events, so that events sent after the erasure contain none.
 *
 * @param shares resources whose records are deleted or anonymized
 */
export function createRedactOutbox(
  { database }: Pick<Host, 'database'>,
  shares: readonly { gateway: ResourceGateway; plan: ErasurePlan }[],
): (userId: string) => Promise<void> {
  const texts = shares.map(({ gateway, plan }) => redactSql(gateway, plan));
  return async (userId) => {
    for (const text of texts) await database.write({ text, values: [userId] });
  };
}
