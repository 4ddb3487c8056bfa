import { DecryptionError, gatewaysByName, type Host, type Sweep } from '../../../../extension/index.ts';
import { decryptStoredBody } from '../../deliveries/stored-body.ts';
import { collectMentions } from '../fanout/mentions.ts';

const EVERY_MS = 5000;
// Few, because a body may be as large as a record.
const ROWS_PER_BATCH = 100;
// A stopping relay waits for the sweep in progress.
const MAX_BATCHES = 40;

/**
 * Reads finished deliveries without mentions. $1 the last delivery of the previous batch, $2 batch size. Uses
 * webhook_delivery_log_unknown_mentions_index.
 */
const SELECT_UNKNOWN = `
  select d.id, d.finished_at, d.type, coalesce(d.subject_id, e.owner_id), d.body, d.encrypted_body
  from webhook_delivery_log d left join webhook_events e on e.id = d.event_id
  where d.mentions is null and d.id > $1 order by d.id limit $2`;
type UnknownRow = [
  id: string,
  finishedAt: string,
  type: string,
  owner: string | null,
  body: string,
  encryptedBody: string | null,
];

/** $1 ids, $2 finish times, $3 mentions, each as the text of an array. Returns a row for each changed delivery. Uses the primary key. */
const STORE_MENTIONS = `
  update webhook_delivery_log d set mentions = r.mentions::text[]
  from unnest($1::text[], $2::timestamptz[], $3::text[]) as r(id, finished_at, mentions)
  where d.id = r.id and d.finished_at = r.finished_at and d.mentions is null returning 1`;

/**
 * Creates the sweep that collects the mentions of finished deliveries that an earlier version of Belfry created without them. Otherwise each
 * erasure would parse the bodies of all of them. Processes of that version may still add some during a deploy.
 */
export function createUnknownMentionsSweep({
  database,
  keyring,
  resources,
}: Pick<Host, 'database' | 'keyring' | 'resources'>): Sweep {
  const gateways = gatewaysByName(resources);
  const declarations = new Map([...gateways].map(([name, { declaration }]) => [name, declaration]));
  let after = '';

  /**
   * Returns the mentions of a delivery as the text of an array. Null if they cannot be known, so that an erasure must check the delivery: its body
   * cannot be decrypted, or it is encrypted and its resource is no longer declared.
   */
  function readMentions([id, , type, owner, body, encryptedBody]: UnknownRow): string | null {
    try {
      // Only an encrypted body has values of encrypted fields, which the declaration excludes from the mentions.
      const resource = encryptedBody === null ? undefined : declarations.get(type.split('.')[0]!);
      if (encryptedBody !== null && resource === undefined) return null;
      const { data } = JSON.parse(decryptStoredBody(keyring, id, { body, encryptedBody }));
      return `{${collectMentions(data, owner, resource, declarations).join(',')}}`;
    } catch (error) {
      if (!(error instanceof DecryptionError || error instanceof SyntaxError)) throw error;
      return null;
    }
  }

  return {
    name: 'webhooks: mentions of earlier deliveries',
    everyMs: EVERY_MS,
    async run() {
      let total = 0;
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const rows = await database.write<UnknownRow>({ text: SELECT_UNKNOWN, values: [after, ROWS_PER_BATCH] });
        const known = rows.flatMap((row) => {
          const mentions = readMentions(row);
          return mentions === null ? [] : [[row[0], row[1], mentions] as const];
        });
        const values = [0, 1, 2].map((column) => known.map((row) => row[column]));
        if (known.length > 0) total += (await database.write({ text: STORE_MENTIONS, values })).length;
        // Deliveries that cannot be decrypted are passed over, until the search starts again.
        after = rows.length < ROWS_PER_BATCH ? '' : rows.at(-1)![0];
        if (after === '') break;
      }
      return total;
    },
  };
}
