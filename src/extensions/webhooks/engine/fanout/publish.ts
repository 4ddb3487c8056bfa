import {
  createRetentionSweep,
  type Host,
  isId,
  issuePath,
  newId,
  type PublishEvent,
  type Sweep,
} from '../../../../extension/index.ts';
import type { EventData, EventDeclarations } from '../../settings/events.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import { OWN_ROW_NAME, type OwnPayload } from './outgoing-event.ts';

/**
 * Stores an event of the app and its outbox row. $1 id of the event, $2 name of the outbox row, $3 payload of the outbox row, $4 name of
 * the event, $5 owner, $6 trace context.
 */
const PUBLISH = `
  with sent as (insert into outbox (event_id, name, payload, trace_context) values ($1, $2, $3::jsonb, $6))
  insert into webhook_events (id, name, owner_id) values ($1, $4, $5)`;

/** Publishes the events of an app. */
export interface WebhookPublisher<E extends EventDeclarations = EventDeclarations> {
  /**
   * Sends one of the app's own events to the endpoints that subscribe to it: those of `owner` or `organisation`, and all with scope `global`. The event is
   * stored before this resolves. Within the function of `app.transaction` it is stored in that transaction: it is sent once the transaction
   * is committed, and never if it is rolled back.
   *
   * @param data the input of the event's schema
   * @param options `owner`: id of a user, or `organisation`: id of an organisation; without either, only endpoints with scope `global` get the event
   * @returns the id of the event
   * @throws Error if the event is not declared, if the schema refuses the data, if the data is larger than a request body may be, or if
   *   the owner or organisation is not a valid id
   */
  publish<N extends keyof E & string>(
    name: N,
    data: EventData<E[N]>,
    options?: { owner?: string | undefined; organisation?: string | undefined },
  ): Promise<{ id: string }>;
}

/** Creates `app.webhooks.publish`. */
export function createEventPublisher(
  {
    database,
    wake,
    settings,
    tracing,
    currentTransaction,
  }: Pick<Host, 'database' | 'wake' | 'settings' | 'tracing' | 'currentTransaction'>,
  events: EventDeclarations,
): PublishEvent {
  const maxBytes = settings.http.bodyLimit;

  async function serializeEventData(name: string, data: unknown): Promise<string> {
    const throwPublishError = (why: string): never => {
      throw new Error(`webhooks.publish('${name}', data): ${why}`);
    };
    const declared = Object.hasOwn(events, name) ? events[name] : undefined;
    if (declared === undefined) {
      const names = Object.keys(events).join(', ') || 'none';
      return throwPublishError(`unknown event; events declared in webhooks({ events }): ${names}`);
    }
    const result = await declared.schema['~standard'].validate(data);
    if (result.issues !== undefined) {
      const issues = result.issues
        .slice(0, 10)
        .map((issue) => `${issuePath(issue).join('.') || 'data'}: ${issue.message}`);
      return throwPublishError(`the data is not valid: ${issues.join('; ')}`);
    }
    // JSON.stringify returns undefined for a function, although its type does not say so. For a cycle or a bigint it throws.
    const text: string | undefined = JSON.stringify(result.value);
    if (text === undefined) return throwPublishError('the data cannot be written as JSON');
    const bytes = Buffer.byteLength(text);
    return bytes <= maxBytes
      ? text
      : throwPublishError(
          `the data is ${bytes} bytes of JSON; at most ${maxBytes} are allowed (settings.http.bodyLimit)`,
        );
  }

  return async (name, data, { owner: user, organisation } = {}) => {
    // Read this before the first await: a call that is not awaited may outlive the transaction.
    const transaction = currentTransaction();
    if (user !== undefined && !isId(user))
      throw new Error(`webhooks.publish('${name}'): owner must be the id of a user`);
    if (organisation !== undefined && !isId(organisation))
      throw new Error(`webhooks.publish('${name}'): organisation must be the id of an organisation`);
    if (user !== undefined && organisation !== undefined)
      throw new Error(`webhooks.publish('${name}'): set owner or organisation, not both`);
    const owner = user ?? organisation;
    const payload: OwnPayload = { name, data: await serializeEventData(name, data), owner: owner ?? null };
    const id = newId();
    const statement = {
      name: 'webhook_publish',
      text: PUBLISH,
      values: [id, OWN_ROW_NAME, JSON.stringify(payload), name, owner, tracing.current()],
    };
    await (transaction?.database ?? database).write(statement);
    if (transaction === undefined) wake.hint();
    else transaction.afterCommit(() => wake.hint());
    return { id };
  };
}

/** Creates the sweep that deletes published events after `keepDeliveriesDays`, as their deliveries. */
export function createEventRetentionSweep(
  { database }: Pick<Host, 'database'>,
  { keepDeliveriesDays, cleanMs }: Pick<WebhookSettings, 'keepDeliveriesDays' | 'cleanMs'>,
): Sweep {
  const keep = `${keepDeliveriesDays} * interval '1 day'`;
  return createRetentionSweep(database, {
    name: 'webhooks: old events',
    everyMs: cleanMs,
    removals: [{ table: 'webhook_events', column: 'id', keep, maxBatches: Number.POSITIVE_INFINITY }],
  });
}
