import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { ErasurePlan } from '../../../records/schema/erasure-plan.ts';
import { textArray, untoldColumns } from './record-statements.ts';

/** $1 owner. Takes what is personal out of events of his records that wait for the relay. Waits for a relay that has them. */
function redactSql(gateway: ResourceGateway, plan: ErasurePlan): string {
  const untold = textArray(untoldColumns(gateway, plan));
  const owner = `'${plan.ownerColumn}'`;
  const theirs = (part: string) => `(payload->'${part}'->>${owner} = $1 and payload->'${part}' ?| ${untold})`;
  return `
  update outbox set payload = payload || jsonb_build_object('record', (payload->'record') - ${untold})
    || case when payload ? 'previous' then jsonb_build_object('previous', (payload->'previous') - ${untold}) else '{}' end
  where resource = '${gateway.name}' and (${theirs('record')} or ${theirs('previous')}) returning 1`;
}

/**
 * Makes what takes the personal data of a user out of events that wait: what is sent of them after an erasure has none of it.
 *
 * @param shares of resources whose records do not stay as they are
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
