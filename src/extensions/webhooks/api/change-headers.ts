import { ApiError, DecryptionError, type Executor, type Keyring, validationError } from '../../../extension/index.ts';
import { decryptHeaders, encryptHeaders, findListError, type HeaderList, maskHeaders } from '../endpoints/headers.ts';
import type { HeaderChanges } from './header-schema.ts';

/** What a statement stores: the ciphertext of the headers and their masks, both null without headers. */
type StoredHeaders = [headers: string | null, masks: string | null];

/** The parameters of `UPDATE_ENDPOINT` for headers. */
type HeaderUpdate = [isChange: boolean, ...StoredHeaders];

const UNCHANGED: HeaderUpdate = [false, null, null];

/** Reads what decides about headers, and locks the row until the change is written. $1 endpoint. */
const LOCK_HEADERS = `
  select url, headers, header_masks from webhook_endpoints where id = $1 and removed_at is null for no key update`;

type HeaderRow = [url: string, headers: string | null, masks: HeaderList | null];

/** Returns what is stored for the headers of an endpoint. */
export function toStoredHeaders(keyring: Keyring, endpointId: string, headers: HeaderList): StoredHeaders {
  if (headers.length === 0) return [null, null];
  return [encryptHeaders(keyring, endpointId, headers), JSON.stringify(maskHeaders(headers))];
}

function readKeptHeaders(keyring: Keyring, endpointId: string, stored: string, kept: ReadonlySet<string>): HeaderList {
  try {
    return decryptHeaders(keyring, endpointId, stored).filter(([name]) => kept.has(name));
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new ApiError(
      'CONFLICT',
      'The stored headers cannot be decrypted; send the values of all headers again, or null to remove them',
    );
  }
}

/**
 * Decides what a change of an endpoint does to its headers. Headers that the request does not name stay, unless the URL changes to another
 * origin: otherwise the holder of a link to the portal could send the values to a server of their own.
 *
 * @param tx the transaction of the change, in which the row of the endpoint stays locked
 * @throws ApiError VALIDATION_ERROR, or CONFLICT if headers stay that cannot be decrypted
 */
export async function decideHeaderUpdate(
  keyring: Keyring,
  tx: Executor,
  endpointId: string,
  { url, headers: changes }: { url: string | null; headers: HeaderChanges | null | undefined },
): Promise<HeaderUpdate> {
  if (changes === null) return [true, null, null];
  if (changes === undefined && url === null) return UNCHANGED;
  const [row] = await tx.write<HeaderRow>({ text: LOCK_HEADERS, values: [endpointId] });
  if (row === undefined) return UNCHANGED;
  const [currentUrl, stored, masks] = row;
  const named = new Set(changes?.map(([name]) => name.toLowerCase()));
  const kept = (masks ?? []).map(([name]) => name).filter((name) => !named.has(name.toLowerCase()));
  const isMoved = url !== null && new URL(url).origin !== new URL(currentUrl).origin;
  if (isMoved && kept.length > 0) {
    throw validationError({
      headers: `Send the values of these headers again, or remove them, because the URL changes to another origin: ${kept.join(', ')}`,
    });
  }
  if (changes === undefined) return UNCHANGED;
  const merged = [
    ...(stored === null || kept.length === 0 ? [] : readKeptHeaders(keyring, endpointId, stored, new Set(kept))),
    ...changes.filter((change): change is [string, string] => change[1] !== null),
  ];
  const error = findListError(merged);
  if (error !== undefined) throw validationError({ headers: error });
  return [true, ...toStoredHeaders(keyring, endpointId, merged)];
}
