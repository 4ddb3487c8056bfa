import type { KeyObject } from 'node:crypto';
import { AddressRefusedError, checkUrl } from '../../../platform/address-guard.ts';
import { DecryptionError } from '../../../platform/crypto/keyring.ts';
import type { Logger } from '../../../platform/log.ts';
import type { SigningKeys } from '../endpoints/signing-keys.ts';

/** What attempts at an endpoint have in common, worked out once for all that were claimed together. */
export interface Target {
  url: URL;
  /** The newest first. */
  keys: KeyObject[];
}

/** What targets are made with. */
export interface TargetParts {
  keys: SigningKeys;
  log: Logger;
  settings: { allowPrivate: boolean; requireHttps: boolean };
}

/** An endpoint as it was when its deliveries were claimed; secrets as stored: ciphertexts, the newest first, then those that are still in their grace time. */
export interface Called {
  id: string;
  url: string;
  secrets: readonly string[];
}

/** Where attempts at an endpoint go, and what they are signed with; or the error with which each of them ends. */
export function targetOf({ keys, log, settings }: TargetParts, endpoint: Called): Target | Error {
  const checked = checkUrl(endpoint.url, settings);
  if (!checked.ok) return new AddressRefusedError(checked.reason);
  try {
    return { url: checked.url, keys: endpoint.secrets.flatMap((secret) => keys(endpoint.id, secret)) };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    // A secret under a key that this process does not have is a fault of ours.
    log.error({ err: error, endpoint: endpoint.id }, 'the secret of a webhook endpoint cannot be decrypted');
    return error;
  }
}
