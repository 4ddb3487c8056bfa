import type { KeyObject } from 'node:crypto';
import { DecryptionError, type Host } from '../../../extension/index.ts';
import type { DeliveryRow } from '../api/delivery-log-sql.ts';
import type { DeliverySerializer } from '../api/serialize-delivery.ts';
import { truncateToBytes } from '../deliveries/message.ts';
import { getOwnerKey } from '../endpoints/endpoint.ts';
import { OLD_SECRETS } from '../endpoints/endpoints-sql.ts';
import { createSignatureHeader, createSigningKeyCache } from '../endpoints/signing.ts';
import { type LoadedEndpoint, serializeForAdministrator } from './as-owner.ts';
import type { AdministeredEndpoint, DeliveryContent } from './responses.ts';

/** Maximum bytes of a body that the console shows. */
const SHOWN_BYTES = 64 * 1024;

/** The secrets that sign the messages of an endpoint now. $1 endpoint. */
const READ_SECRETS = `select e.secret, ${OLD_SECRETS} from webhook_endpoints e where e.id = $1 and e.removed_at is null`;

/** Creates the reader of a delivery's content. It returns undefined if the owner of the endpoint may not read the content now, so that it is not sent either. */
export function createContentReader(
  { database, keyring, log }: Pick<Host, 'database' | 'keyring' | 'log'>,
  { readableBodies, decryptResponseOrNull }: Pick<DeliverySerializer, 'readableBodies' | 'decryptResponseOrNull'>,
): (of: LoadedEndpoint & { delivery: DeliveryRow }) => Promise<DeliveryContent | undefined> {
  const getSigningKeys = createSigningKeyCache(keyring);

  async function readKeys(endpointId: string): Promise<KeyObject[] | undefined> {
    const [secrets = []] = await database.read<(string | null)[]>({ text: READ_SECRETS, values: [endpointId] });
    try {
      return secrets.flatMap((secret) => (secret === null ? [] : getSigningKeys(endpointId, secret)));
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      log.error({ err: error, endpoint: endpointId }, 'the secret of a webhook endpoint cannot be decrypted');
      return undefined;
    }
  }

  async function createHeaders(
    { id: endpointId, headers: custom }: AdministeredEndpoint,
    row: DeliveryRow,
    body: string,
  ): Promise<DeliveryContent['headers']> {
    const last = row[11].at(-1);
    const keys = last && (await readKeys(endpointId));
    if (last === undefined || keys === undefined) return null;
    const seconds = Math.floor(Date.parse(last.at) / 1000);
    return {
      'content-type': 'application/json',
      'user-agent': 'Belfry-Webhooks',
      'webhook-id': row[2],
      'webhook-timestamp': String(seconds),
      'webhook-signature': createSignatureHeader(keys, row[2], seconds, body),
      ...custom,
      ...(row[13] === true ? { 'webhook-backfill': 'true' } : {}),
    };
  }

  return async ({ row, delivery }) => {
    const endpoint = serializeForAdministrator(row);
    const [id] = delivery;
    const body = (await readableBodies({ ...getOwnerKey(row), scope: endpoint.scope }, [id])).get(id);
    if (body === undefined) return undefined;
    const shown = truncateToBytes(body, SHOWN_BYTES);
    return {
      body: shown,
      isBodyCut: shown.length < body.length,
      headers: await createHeaders(endpoint, delivery, body),
      response: decryptResponseOrNull(delivery),
    };
  };
}
