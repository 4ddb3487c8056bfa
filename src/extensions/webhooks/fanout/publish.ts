import type { Host } from '../../../declare/host.ts';
import { issuePath } from '../../../declare/standard-schema.ts';
import { isId, newId } from '../../../platform/ids.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { writeInBatches } from '../../../platform/postgres/write-in-batches.ts';
import type { EventData, EventDeclarations } from '../events.ts';
import type { WebhookSettings } from '../settings.ts';
import { OWN_ROW, type OwnPayload } from './outgoing-event.ts';

/** $1 event, $2 name of the outbox row, $3 its payload, $4 name of the event, $5 owner. One statement: it is on its way, and remembered. */
const PUBLISH = `
  with sent as (insert into outbox (event_id, name, payload) values ($1, $2, $3::jsonb))
  insert into webhook_events (id, name, owner_id) values ($1, $4, $5)`;

/** $1 ms that events are remembered, $2 how many. By the primary key: ids begin with the second of their making. Returns a row for each. */
const DELETE_EVENTS = `
  delete from webhook_events where id in (
    select id from webhook_events where id < to_hex(floor(extract(epoch from now() - $1 * interval '1 millisecond'))::bigint)
    order by id limit $2 for update skip locked)
  returning 1`;

const DAY_MS = 86_400_000;

/** `app.webhooks`. */
export interface WebhooksApi<E extends EventDeclarations = EventDeclarations> {
  /**
   * Sends an event of the app's own to the endpoints that subscribe to it: those of `owner`, and all of scope `global`. It is stored
   * before this resolves, in the transaction when called in the function of `app.transaction`: then it is sent once that is
   * committed, and never when it is rolled back.
   *
   * @param data what the event's schema takes
   * @param options `owner`: a user's id; left out, only endpoints of scope `global` get it
   * @returns the id of the event
   * @throws Error for an event that is not declared, data that the schema refuses or that is larger than a request body may be,
   *   and an owner that cannot be one
   */
  publish<N extends keyof E & string>(
    name: N,
    data: EventData<E[N]>,
    options?: { owner?: string | undefined },
  ): Promise<{ id: string }>;
}

/** Creates `app.webhooks.publish`. */
export function createPublish(
  { database, wake, settings, currentTransaction }: Pick<Host, 'database' | 'wake' | 'settings' | 'currentTransaction'>,
  events: EventDeclarations,
): WebhooksApi['publish'] {
  const most = settings.http.bodyLimit;

  async function jsonOf(name: string, data: unknown): Promise<string> {
    const refuse = (why: string): never => {
      throw new Error(`webhooks.publish('${name}', data): ${why}`);
    };
    const declared = Object.hasOwn(events, name) ? events[name] : undefined;
    if (declared === undefined) {
      const names = Object.keys(events).join(', ') || 'none';
      return refuse(`there is no such event; declared in webhooks({ events }): ${names}`);
    }
    const result = await declared.schema['~standard'].validate(data);
    if (result.issues !== undefined) {
      const issues = result.issues
        .slice(0, 10)
        .map((issue) => `${issuePath(issue).join('.') || 'data'}: ${issue.message}`);
      return refuse(`it is not valid: ${issues.join('; ')}`);
    }
    // For a value that JSON cannot express, stringify throws or returns undefined.
    const text: string | undefined = JSON.stringify(result.value);
    if (text === undefined) return refuse('it cannot be written as JSON');
    const bytes = Buffer.byteLength(text);
    return bytes <= most ? text : refuse(`it is ${bytes} bytes of JSON; ${most} are allowed (settings.http.bodyLimit)`);
  }

  return async (name, data, { owner } = {}) => {
    // Before anything is awaited: a call that is not awaited is not part of the transaction any more.
    const transaction = currentTransaction();
    if (owner !== undefined && !isId(owner))
      throw new Error(`webhooks.publish('${name}'): owner must be the id of a user`);
    const payload: OwnPayload = { name, data: await jsonOf(name, data), owner: owner ?? null };
    const id = newId();
    const statement = {
      name: 'webhook_publish',
      text: PUBLISH,
      values: [id, OWN_ROW, JSON.stringify(payload), name, owner],
    };
    await (transaction?.database ?? database).write(statement);
    if (transaction === undefined) wake.hint();
    else transaction.afterCommit(() => wake.hint());
    return { id };
  };
}

/** Forgets published events when their deliveries are forgotten. */
export function forgetEvents(
  { database }: Pick<Host, 'database'>,
  { keepDeliveriesDays, cleanMs }: Pick<WebhookSettings, 'keepDeliveriesDays' | 'cleanMs'>,
): Sweep {
  return {
    name: 'webhooks: old events',
    everyMs: cleanMs,
    run: () => writeInBatches(database, DELETE_EVENTS, [keepDeliveriesDays * DAY_MS]),
  };
}
