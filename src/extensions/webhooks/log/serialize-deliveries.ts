import type { Host } from '../../../declare/host.ts';
import { DecryptionError } from '../../../platform/crypto/keyring.ts';
import {
  cutBytes,
  type DeliveryPreview,
  type DeliveryRow,
  PREVIEW_BYTES,
  type ShownDelivery,
  showDelivery,
} from './delivery.ts';
import type { Audience, CheckReadability } from '../readability/readability.ts';
import { READ_BODIES } from './deliveries-sql.ts';
import { decryptResponse, readBody } from '../readability/stored-body.ts';

/** The most bytes of bodies in memory at once; a single larger body is loaded alone. */
const BYTES_AT_ONCE = 4 * 2 ** 20;

type BodyRow = [id: string, type: string, body: string, encryptedBody: string | null];

/** Serializes deliveries for the owners of endpoints, who get only the bodies that they may read now. */
export interface ShownDeliveries {
  /** Deliveries of one endpoint as its owner sees them, with the start of each readable body. */
  show(audience: Audience, rows: readonly DeliveryRow[]): Promise<ShownDelivery[]>;
  /** The readable bodies, by delivery id. */
  readableBodies(audience: Audience, ids: readonly string[]): Promise<Map<string, string>>;
}

/** Splits deliveries into groups whose bodies are small enough to be in memory together. */
function inGroups(rows: readonly DeliveryRow[]): string[][] {
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
export function createShownDeliveries(
  { database, keyring, log }: Pick<Host, 'database' | 'keyring' | 'log'>,
  check: CheckReadability,
): ShownDeliveries {
  async function readableBodies(audience: Audience, ids: readonly string[]): Promise<Map<string, string>> {
    const statement = { name: 'webhook_bodies', text: READ_BODIES, values: [ids] };
    const bodies = (await database.read<BodyRow>(statement)).flatMap(([id, type, body, encryptedBody]) => {
      try {
        return [{ id, type, body: readBody(keyring, id, { body, encryptedBody }) }];
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        log.error({ err: error, delivery: id }, 'the body of a webhook cannot be decrypted; it is not shown');
        return [];
      }
    });
    const verdicts = await check(audience, bodies);
    return new Map(bodies.flatMap(({ id, body }, i) => (verdicts?.[i] ? [[id, body]] : [])));
  }

  function responseOf(row: DeliveryRow): string | null {
    const [id, , , , , , , , , response, , , encrypted] = row;
    if (encrypted === null) return response;
    try {
      return decryptResponse(keyring, id, encrypted);
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      log.error({ err: error, delivery: id }, 'the answer to a webhook cannot be decrypted; it is not shown');
      return null;
    }
  }

  return {
    readableBodies,
    async show(audience, rows) {
      const payloads = new Map<string, Omit<DeliveryPreview, 'response'>>();
      for (const ids of inGroups(rows)) {
        for (const [id, body] of await readableBodies(audience, ids)) {
          const payload = cutBytes(body, PREVIEW_BYTES);
          payloads.set(id, { payload, payloadTruncated: payload.length < body.length });
        }
      }
      return rows.map((row) => {
        const preview = payloads.get(row[0]);
        return showDelivery(row, preview && { ...preview, response: responseOf(row) });
      });
    },
  };
}
