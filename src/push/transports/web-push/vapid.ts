import { createECDH } from 'node:crypto';
import { isEmailAddress } from '../../../platform/helpers/email-address.ts';
import { checkUrl } from '../../../platform/http/address-guard/index.ts';

/** The identity of the app towards push services (RFC 8292): a key pair and a contact address. */
export interface VapidCredentials {
  /** Base64url without padding: 65 and 32 bytes. */
  publicKey: string;
  privateKey: string;
  /** The contact address: a `mailto:` or `https:` URL. */
  subject: string;
}

const HOW_TO_GENERATE_KEYS = 'generate a key pair with: npx web-push generate-vapid-keys';

function decodeBase64url(text: string): Buffer {
  return /^[\w-]+$/.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0);
}

function isKeyPair(publicKey: Buffer, privateKey: Buffer): boolean {
  const pair = createECDH('prime256v1');
  try {
    pair.setPrivateKey(privateKey);
    return pair.getPublicKey().equals(publicKey);
  } catch {
    return false;
  }
}

/** Returns the address of a `mailto:` URL (RFC 6068: its special characters may be percent-encoded); undefined if it is malformed. */
function readMailto(text: string): string | undefined {
  try {
    return /^mailto:/i.test(text) ? decodeURIComponent(text.slice('mailto:'.length)) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text is a plausible contact address: Apple refuses notifications with another one, such as an address on localhost. */
function isValidSubject(text: string): boolean {
  const address = readMailto(text);
  return (
    (address !== undefined && isEmailAddress(address)) || checkUrl(text, { allowPrivate: false, requireHttps: true }).ok
  );
}

/**
 * Reads VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY and VAPID_SUBJECT.
 *
 * @param reportError called for each configuration error
 */
export function readVapidCredentials(
  variables: Readonly<Record<string, string>>,
  reportError: (text: string) => void,
): VapidCredentials {
  const { VAPID_PUBLIC_KEY = '', VAPID_PRIVATE_KEY = '', VAPID_SUBJECT = '' } = variables;
  const [publicKey, privateKey] = [decodeBase64url(VAPID_PUBLIC_KEY), decodeBase64url(VAPID_PRIVATE_KEY)];
  const [isValidPublicKey, isValidPrivateKey] = [
    publicKey.length === 65 && publicKey[0] === 4,
    privateKey.length === 32,
  ];
  if (!isValidPublicKey) reportError(`VAPID_PUBLIC_KEY must be 65 bytes in base64url; ${HOW_TO_GENERATE_KEYS}`);
  if (!isValidPrivateKey) reportError(`VAPID_PRIVATE_KEY must be 32 bytes in base64url; ${HOW_TO_GENERATE_KEYS}`);
  if (isValidPublicKey && isValidPrivateKey && !isKeyPair(publicKey, privateKey)) {
    reportError('VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY are not a key pair');
  }
  if (!isValidSubject(VAPID_SUBJECT)) {
    reportError('VAPID_SUBJECT must be your contact address, such as mailto:push@example.com or https://example.com');
  }
  return { publicKey: VAPID_PUBLIC_KEY, privateKey: VAPID_PRIVATE_KEY, subject: VAPID_SUBJECT };
}
