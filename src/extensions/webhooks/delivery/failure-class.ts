import { AddressRefusedError } from '../../../platform/address-guard.ts';
import { DecryptionError } from '../../../platform/crypto/keyring.ts';

/** What was wrong when a receiver could not be called at all, or gave no proper answer. Shown to the endpoint's owner. */
export const TIMEOUT = 'timeout';
/** A name that does not exist and a private address have the same text, so that nobody can map a private network by it. */
const NOT_ALLOWED = 'address not allowed or not found';

const CLASSES: readonly [RegExp, string][] = [
  [/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/, TIMEOUT],
  [/^ECONNREFUSED$/, 'connection refused'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EHOSTDOWN|ENETDOWN)$/, 'host unreachable'],
  [
    /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/,
    'tls certificate not valid',
  ],
  [/^(ERR_TLS_|ERR_SSL_|EPROTO)/, 'tls handshake failed'],
  [
    /^(UND_ERR_SOCKET|ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|UND_ERR_ABORTED)$/,
    'connection closed',
  ],
];

/** The class of an error of a request. Anything unknown is the receiver's: an answer that is no HTTP. */
export function failureClass(error: unknown): string {
  if (error instanceof AddressRefusedError) return NOT_ALLOWED;
  if (error instanceof DecryptionError) return 'signing secret not readable';
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  return CLASSES.find(([pattern]) => pattern.test(code))?.[1] ?? 'invalid answer';
}

/** The class of an answer's status; null for a success. */
export function statusClass(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : `status ${status}`;
}
