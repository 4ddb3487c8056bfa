/** The client data that a browser collects for a passkey: https://www.w3.org/TR/webauthn-3/#dictionary-client-data */
interface ClientData {
  type: string;
  challenge: string;
  origin: string;
  /** Whether the page is in a frame of another origin. */
  crossOrigin?: unknown;
  /** The origin of the page that contains the frame. */
  topOrigin?: unknown;
}

/**
 * Reads the client data of a response, which is not verified yet.
 *
 * @param clientDataJSON base64url
 * @returns undefined if it is malformed
 */
export function readClientData(clientDataJSON: string): ClientData | undefined {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'));
    if (typeof data !== 'object' || data === null) return undefined;
    const { type, challenge, origin } = data as Record<string, unknown>;
    const isComplete = [type, challenge, origin].every((value) => typeof value === 'string');
    return isComplete ? (data as ClientData) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what is wrong with the page on which a passkey was used; undefined if the page is one of the app. */
export function findPageError({ origin, crossOrigin, topOrigin }: ClientData, origins: readonly string[]) {
  if (!origins.includes(origin)) return 'Must come from one of the origins that the app allows for passkeys';
  if (crossOrigin === true || topOrigin !== undefined) return 'Must not come from a frame in a page of another origin';
  return undefined;
}
