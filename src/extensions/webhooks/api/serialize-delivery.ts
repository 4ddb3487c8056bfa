import { z } from 'zod';
import { DecryptionError, type Host, parseCreatedMs } from '../../../extension/index.ts';
import { DELIVERY_STATUSES, earliestFinishSql } from '../deliveries/deliveries-sql.ts';
import { truncateToBytes } from '../deliveries/message.ts';
import { decryptResponse, decryptStoredBody } from '../deliveries/stored-body.ts';
import type { Audience, CheckReadability } from '../engine/readability/readability.ts';
import { type DeliveryRow, READ_BODIES } from './delivery-log-sql.ts';

/** Maximum bytes of a body that the delivery log shows. */
const PREVIEW_BYTES = 2048;

/** The body and response of a delivery, which may contain data of its record. */
interface DeliveryPreview {
  payload: string;
  payloadTruncated: boolean;
  response: string | null;
}

type SerializedDelivery = ReturnType<typeof serializeDelivery>;

/**
 * Serializes a delivery for the endpoint's owner.
 *
 * @param preview the start of the body and of the receiver's response; undefined if the owner may not read the body, because the
 *   response may repeat it
 */
export function serializeDelivery(row: DeliveryRow, preview: DeliveryPreview | undefined) {
  const [
    id,
    type,
    messageId,
    status,
    attempts,
    statusCode,
    durationMs,
    error,
    nextAttemptAt,
    ,
    ,
    attemptLog,
    ,
    backfill,
  ] = row;
  return {
    id,
    type,
    messageId,
    createdAt: new Date(parseCreatedMs(id)).toISOString(),
    status,
    attempts,
    statusCode,
    durationMs,
    error,
    nextAttemptAt: status === 'pending' ? nextAttemptAt : null,
    response: preview?.response ?? null,
    payload: preview?.payload ?? null,
    payloadTruncated: preview?.payloadTruncated ?? false,
    attemptLog,
    ...(backfill === true ? { backfill } : {}),
  };
}

/** Maximum bytes of bodies in memory at once; a single larger body is loaded alone. */
const BYTES_AT_ONCE = 4 * 2 ** 20;

type BodyRow = [id: string, type: string, body: string, encryptedBody: string | null];

/** Serializes deliveries for the owners of endpoints, with only those bodies that they may read now. */
export interface DeliverySerializer {
  /** Serializes deliveries of one endpoint for its owner, with the start of each readable body. */
  serializeDeliveries(audience: Audience, rows: readonly DeliveryRow[]): Promise<SerializedDelivery[]>;
  /** Returns the readable bodies, by delivery id. */
  readableBodies(audience: Audience, ids: readonly string[]): Promise<Map<string, string>>;
  /** Returns the response to a delivery whose body is readable; null if there is none, or if it cannot be decrypted. */
  decryptResponseOrNull(row: DeliveryRow): string | null;
}

/** Groups the ids of deliveries. The bodies of a group are small enough to be in memory together. */
export function groupIdsByBodySize(rows: readonly DeliveryRow[]): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const [id, , , , , , , , , , bytes] of rows) {
    if (bytes > room) {
      groups.push([]);
      room = BYTES_AT_ONCE;
    }
    groups.at(-1)!.push(id);
    room -= bytes;
  }
  return groups;
}

/** Creates the serializer of deliveries. */
export function createDeliverySerializer(
  { database, keyring, log }: Pick<Host, 'database' | 'keyring' | 'log'>,
  check: CheckReadability,
): DeliverySerializer {
  async function readableBodies(audience: Audience, ids: readonly string[]): Promise<Map<string, string>> {
    const statement = { name: 'webhook_bodies', text: READ_BODIES, values: [ids, earliestFinishSql(ids)] };
    const bodies = (await database.read<BodyRow>(statement)).flatMap(([id, type, body, encryptedBody]) => {
      try {
        return [{ id, type, body: decryptStoredBody(keyring, id, { body, encryptedBody }) }];
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        log.error({ err: error, delivery: id }, 'the body of a webhook cannot be decrypted; it is hidden');
        return [];
      }
    });
    const verdicts = await check(audience, bodies);
    return new Map(bodies.flatMap(({ id, body }, i) => (verdicts?.[i] ? [[id, body]] : [])));
  }

  function decryptResponseOrNull(row: DeliveryRow): string | null {
    const [id, , , , , , , , , response, , , encrypted] = row;
    if (encrypted === null) return response;
    try {
      return decryptResponse(keyring, id, encrypted);
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      log.error({ err: error, delivery: id }, 'the response to a webhook cannot be decrypted; it is hidden');
      return null;
    }
  }

  return {
    readableBodies,
    decryptResponseOrNull,
    async serializeDeliveries(audience, rows) {
      const payloads = new Map<string, Omit<DeliveryPreview, 'response'>>();
      for (const ids of groupIdsByBodySize(rows)) {
        for (const [id, body] of await readableBodies(audience, ids)) {
          const payload = truncateToBytes(body, PREVIEW_BYTES);
          payloads.set(id, { payload, payloadTruncated: payload.length < body.length });
        }
      }
      return rows.map((row) => {
        const preview = payloads.get(row[0]);
        return serializeDelivery(row, preview && { ...preview, response: decryptResponseOrNull(row) });
      });
    },
  };
}

/** The shape of a delivery in responses. */
export const deliveryShape = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    messageId: z.string(),
    createdAt: z.iso.datetime().meta({ description: 'When the delivery was created, to the second.' }),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.int(),
    statusCode: z.int().nullable(),
    durationMs: z.int().nullable(),
    error: z.string().nullable(),
    nextAttemptAt: z.iso.datetime().nullable(),
    response: z.string().nullable(),
    payload: z.string().nullable().meta({
      description: 'The start of the body. Null, like `response`, when the caller may no longer read the body.',
    }),
    payloadTruncated: z.boolean(),
    attemptLog: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        statusCode: z.int().nullable(),
        durationMs: z.int().nullable(),
        error: z.string().nullable(),
      }),
    ),
    backfill: z.literal(true).optional().meta({ description: 'A backfill created the delivery.' }),
  })
  .meta({ id: 'WebhookDelivery' });
