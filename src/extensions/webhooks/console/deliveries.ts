import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { ConsoleRoute } from '../../../declare/console-tab.ts';
import type { Host } from '../../../declare/host.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { DecryptionError } from '../../../platform/crypto/keyring.ts';
import { ApiError } from '../../../platform/errors.ts';
import { withMeta } from '../../../platform/http/response.ts';
import { createdMsOf, isId } from '../../../platform/ids.ts';
import { type DeliveryRow, readDeliverySql } from '../api/delivery-log-sql.ts';
import { type DeliverySerializer, serializeDelivery } from '../api/serialize-delivery.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  earliestFinishOf,
  IS_LEASED,
  isKeptSql,
} from '../deliveries/deliveries-sql.ts';
import { truncateToBytes } from '../deliveries/message.ts';
import { OLD_SECRETS } from '../endpoints/endpoints-sql.ts';
import { createSignatureHeader, createSigningKeyCache } from '../endpoints/signing.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type OwnerRoutes, serializeForAdministrator } from './as-owner.ts';

const MAX_LIMIT = 100;
/** Maximum bytes of a body that the console shows. */
const SHOWN_BYTES = 64 * 1024;
/** Maximum number of deliveries that a filtered page searches; the next page continues the search. */
const SEARCHED = 10_000;

const listQuery = z.strictObject({
  status: z.enum(DELIVERY_STATUSES, { error: `Must be one of: ${DELIVERY_STATUSES.join(', ')}` }).optional(),
  event: z
    .string()
    .regex(/^[\w.-]{1,200}$/, { error: 'Must be the name of an event, such as post.created' })
    .optional(),
  after: z.string().refine(isId, { error: 'Must be the "meta.next" of a previous page' }).optional(),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(50),
});

const WAITING_STATUS = `case when ${IS_LEASED} then 'sending' else d.status end as status`;

const LIST_COLUMNS = 'd.id, d.endpoint_id, d.type, d.attempts, d.status_code, d.duration_ms, d.error';

type ListRow = [
  id: string,
  endpointId: string,
  type: string,
  attempts: number,
  statusCode: number | null,
  durationMs: number | null,
  error: string | null,
  status: DeliveryStatus,
  nextAttemptAt: string | null,
  url: string,
  owner: string,
];

/**
 * Lists the deliveries of all endpoints, newest first. $1 page size, $2 maximum number of deliveries to search, $3 the id before which
 * the search begins. Uses the indexes by id. The last row has only the id at which the search ended, or null if it reached the oldest delivery.
 */
function listStatement(isKept: string, { status, event, after, limit }: z.output<typeof listQuery>) {
  const values: unknown[] = [limit + 1, status === undefined && event === undefined ? limit + 1 : SEARCHED, after];
  const before = 'd.id < coalesce($3::text, repeat(chr(103), 24))';
  const conditions = [
    ...(status === undefined ? [] : [`and d.status = $${values.push(status)}::text`]),
    ...(event === undefined ? [] : [`and d.type = $${values.push(event)}::text`]),
  ];
  const text = `
  with searched as materialized (
    select * from (
      (select ${LIST_COLUMNS}, ${WAITING_STATUS}, d.next_attempt_at from webhook_deliveries d where ${before} order by d.id desc limit $2)
      union all
      (select ${LIST_COLUMNS}, d.status, null::timestamptz from webhook_delivery_log d where ${before} and ${isKept}
        order by d.id desc limit $2)) d
    order by d.id desc limit $2)
  (select d.*, e.url, e.owner_id from searched d join webhook_endpoints e on e.id = d.endpoint_id
    where e.removed_at is null ${conditions.join(' ')} order by d.id desc limit $1)
  union all
  select case when count(*) = $2 then min(id) end, null, null, null, null, null, null, null, null, null, null from searched`;
  return { text, values };
}

const toListItem = ([
  id,
  endpoint,
  type,
  attempts,
  statusCode,
  durationMs,
  error,
  status,
  next,
  url,
  owner,
]: ListRow) => ({
  id,
  type,
  createdAt: new Date(createdMsOf(id)).toISOString(),
  status,
  attempts,
  statusCode,
  durationMs,
  error,
  nextAttemptAt: status === 'pending' ? next : null,
  endpoint: { id: endpoint, url, owner },
});

/** Finds a delivery of any endpoint. $1 delivery, $2 see `earliestFinishOf`. Uses the primary keys. */
const FIND_DELIVERY = `
  select endpoint_id, event_id, encrypted_body is not null from webhook_deliveries where id = $1
  union all
  select endpoint_id, event_id, encrypted_body is not null from webhook_delivery_log where id = $1 and finished_at >= $2::timestamptz`;

type FoundRow = [endpointId: string, eventId: string, isEncrypted: boolean];

/** The secrets that sign the messages of an endpoint now. $1 endpoint. */
const READ_SECRETS = `select e.secret, ${OLD_SECRETS} from webhook_endpoints e where e.id = $1 and e.removed_at is null`;

/** The request and the response of a delivery, which may contain values of its record. */
interface Content {
  /** The start of the body. */
  body: string;
  isBodyCut: boolean;
  /** The headers of the last attempt, signed with the secrets of now; null if no attempt was made, or the secrets cannot be decrypted. */
  headers: Record<string, string> | null;
  response: string | null;
}

/** The routes of the deliveries of all endpoints, for administrators. */
export function deliveryConsoleRoutes(
  { database, keyring, log }: Pick<Host, 'database' | 'keyring' | 'log'>,
  settings: WebhookSettings,
  as: OwnerRoutes,
  { readableBodies, readableResponseOf }: Pick<DeliverySerializer, 'readableBodies' | 'readableResponseOf'>,
): ConsoleRoute[] {
  const isKept = isKeptSql(settings);
  const readText = readDeliverySql(isKept);
  const keysOf = createSigningKeyCache(keyring);

  async function listDeliveries(ctx: RouteContext) {
    const query = ctx.query as unknown as z.output<typeof listQuery>;
    const found = await database.readSlowly<ListRow>(listStatement(isKept, query));
    const listed = found.filter(([, endpoint]) => endpoint !== null);
    const rows = listed.slice(0, query.limit);
    const [searchedTo] = found.find(([, endpoint]) => endpoint === null)!;
    const next = listed.length > query.limit ? rows.at(-1)![0] : searchedTo;
    return withMeta(rows.map(toListItem), { limit: query.limit, next, searched: SEARCHED });
  }

  async function find(id: string | undefined) {
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    const earliest = earliestFinishOf([id]);
    const [found] = await database.read<FoundRow>({ text: FIND_DELIVERY, values: [id, earliest] });
    if (found === undefined) throw new ApiError('NOT_FOUND');
    const [endpointId, eventId, isEncrypted] = found;
    const [loaded, [row]] = await Promise.all([
      as.load(endpointId),
      database.read<DeliveryRow>({ name: 'webhook_delivery', text: readText, values: [id, endpointId, earliest] }),
    ]);
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return { ...loaded, delivery: row, eventId, isEncrypted };
  }

  async function readKeys(endpointId: string): Promise<KeyObject[] | undefined> {
    const [secrets = []] = await database.read<(string | null)[]>({ text: READ_SECRETS, values: [endpointId] });
    try {
      return secrets.flatMap((secret) => (secret === null ? [] : keysOf(endpointId, secret)));
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      log.error({ err: error, endpoint: endpointId }, 'the secret of a webhook endpoint cannot be decrypted');
      return undefined;
    }
  }

  async function createHeaders(endpointId: string, row: DeliveryRow, body: string) {
    const last = row[11].at(-1) as { at: string } | undefined;
    const keys = last && (await readKeys(endpointId));
    if (last === undefined || keys === undefined) return null;
    const seconds = Math.floor(Date.parse(last.at) / 1000);
    return {
      'content-type': 'application/json',
      'user-agent': 'Belfry-Webhooks',
      'webhook-id': row[2],
      'webhook-timestamp': String(seconds),
      'webhook-signature': createSignatureHeader(keys, row[2], seconds, body),
    };
  }

  /** Returns the content of a delivery; undefined if the owner of the endpoint may not read it now, so that it is not sent either. */
  async function readContent({ row, owner, delivery }: Awaited<ReturnType<typeof find>>): Promise<Content | undefined> {
    const { id: endpointId, scope } = serializeForAdministrator(row);
    const [id] = delivery;
    const body = (await readableBodies({ owner: owner.id, scope }, [id])).get(id);
    if (body === undefined) return undefined;
    const shown = truncateToBytes(body, SHOWN_BYTES);
    return {
      body: shown,
      isBodyCut: shown.length < body.length,
      headers: await createHeaders(endpointId, delivery, body),
      response: readableResponseOf(delivery),
    };
  }

  async function readDelivery({ params }: RouteContext) {
    const found = await find(params.id);
    const {
      response: _,
      payload: __,
      payloadTruncated: ___,
      ...delivery
    } = serializeDelivery(found.delivery, undefined);
    return {
      ...delivery,
      eventId: found.eventId,
      bytes: found.delivery[10],
      endpoint: serializeForAdministrator(found.row),
      // Encrypted values are shown only on request, which the audit trail records.
      isEncrypted: found.isEncrypted,
      content: found.isEncrypted ? null : ((await readContent(found)) ?? null),
    };
  }

  // An entry of the audit trail names the endpoint and its owner, so the delivery is found before.
  const foundBefore = new WeakMap<RouteContext, Awaited<ReturnType<typeof find>>>();
  const check = async (ctx: RouteContext) => {
    foundBefore.set(ctx, await find(ctx.params.id));
  };
  const recordedAs = (ctx: RouteContext) => {
    const { row, owner, delivery } = foundBefore.get(ctx)!;
    return { resource: 'webhook', record: row[0], details: { delivery: delivery[0], owner: owner.id } };
  };

  return [
    { method: 'GET', path: '/deliveries', query: listQuery, handler: listDeliveries },
    { method: 'GET', path: '/deliveries/:id', handler: readDelivery },
    {
      method: 'POST',
      path: '/deliveries/:id/reveal',
      action: 'deliveryRevealed',
      check,
      recordedAs,
      async handler(ctx) {
        return { content: (await readContent(foundBefore.get(ctx)!)) ?? null };
      },
    },
    {
      method: 'POST',
      path: '/deliveries/:id/retry',
      action: 'deliveryRetried',
      check,
      recordedAs,
      async handler(ctx) {
        const { row, owner, delivery } = foundBefore.get(ctx)!;
        const params = { id: row[0], deliveryId: delivery[0] };
        return as.perform('retryWebhookDelivery', ctx, { owner, row, params });
      },
    },
  ];
}
