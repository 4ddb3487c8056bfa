import { expect, test } from 'vitest';
import {
  describeErrorStatus,
  describeRequestError,
} from '../../../../../../src/extensions/webhooks/engine/delivery/attempt.ts';

test.each([
  ['ETIMEDOUT', 'timeout'],
  ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
  ['ECONNREFUSED', 'connection refused'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls certificate not valid'],
  ['CERT_HAS_EXPIRED', 'tls certificate not valid'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls certificate not valid'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls handshake failed'],
  ['EPROTO', 'tls handshake failed'],
  ['ECONNRESET', 'connection closed'],
  ['HPE_INVALID_CONSTANT', 'invalid answer'],
  ['ADDRESS_REFUSED', 'invalid answer'],
])('an error with code %s is reported as "%s"', (code, expected) => {
  expect(describeRequestError(Object.assign(new Error('x'), { code }))).toBe(expected);
});

test.each([null, undefined, 'ECONNREFUSED', new Error('x')])(
  '%s has no code, so it is reported as a missing HTTP response',
  (error) => {
    expect(describeRequestError(error)).toBe('invalid answer');
  },
);

test('a status code is reported as its class', () => {
  expect([101, 200, 204, 299, 300, 304, 307, 399, 400, 404, 500].map(describeErrorStatus)).toEqual([
    'status 101',
    null,
    null,
    null,
    'redirect',
    'redirect',
    'redirect',
    'redirect',
    'status 400',
    'status 404',
    'status 500',
  ]);
});
