import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { assignRequestId } from '../../../src/platform/http/request-context.ts';
import { createLogger, redactTokens } from '../../../src/platform/observability/log.ts';
import { logRequest, setRoutePattern } from '../../../src/runtime/http/request-log.ts';

const HEX = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

/** The log line of a request with this id. */
function lineOf(requestId: string, path = '/api/posts', pattern = path): Record<string, unknown> {
  const lines: string[] = [];
  const log = createLogger('info', 'web', { write: (line) => void lines.push(line) });
  const req = { method: 'GET', originalUrl: path, headers: { 'x-request-id': requestId } };
  assignRequestId(req as unknown as IncomingMessage);
  setRoutePattern(req as unknown as IncomingMessage, pattern);
  logRequest(
    log,
    req as unknown as IncomingMessage,
    { writableFinished: true, statusCode: 200 } as unknown as ServerResponse,
    5,
  );
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0]!);
}

test.each([
  ['a session token', `svc_${HEX}`, 'svc_[redacted]'],
  ['an API key', 'svc_ak_4f9a_c29tZXRoaW5n', 'svc_[redacted]'],
  ['a webhook secret', 'whsec_c2VjcmV0c2VjcmV0', 'whsec_[redacted]'],
  ['a JSON Web Token', JWT, '[redacted]'],
  ['64 hex digits', HEX, '[redacted]'],
  ['64 hex digits in upper case', HEX.toUpperCase(), '[redacted]'],
  ['a token behind a prefix', `req-svc_${HEX}`, 'req-svc_[redacted]'],
])('a request id that is %s is redacted in the log line', (_what, requestId, logged) => {
  expect(lineOf(requestId)).toMatchObject({ msg: 'request', requestId: logged });
});

test.each([
  '0b9c6f1e-8a52-4f0e-9f0c-2f6e1c1f8a52',
  '4bf92f3577b34da6a3ce929d0e0e4736',
  'a'.repeat(128),
  'checkout.42',
  'svc_orders-8f3a',
  'mysvc_request_0123456789abcdef',
])('the request id %s is logged unchanged', (requestId) => expect(lineOf(requestId).requestId).toBe(requestId));

const ID = '6b0d2de68ad3894a1dfbdb3e';
test.each([
  [`/api/posts/${ID}`, '/api/posts/:id', ID],
  [`/api/posts/${ID}/publish?now=1`, '/api/posts/:id/publish', ID],
  ['/api/posts/secret', '/api/posts/:id', undefined],
  [`/api/reset/${ID}`, '/api/reset/:token', undefined],
  [`/api/posts/${ID}`, '/api/posts/:identity', undefined],
  [`/api/posts?x=${ID}`, '/api/posts/:id', undefined],
  [`/api/posts?x=${ID}`, '/api/posts', undefined],
])('the log line of a request to %s at the route %s has the record %s', (path, pattern, record) => {
  expect(lineOf('one', path, pattern).record).toBe(record);
});

test('the fields that are added to each line are not changed by the lines', () => {
  const lines: string[] = [];
  const fields = { trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' };
  const log = createLogger('info', 'web', { write: (line) => void lines.push(line) }, () => fields);
  log.info({ route: '/api/posts' }, 'one');
  log.info('two');
  expect(JSON.parse(lines[0]!)).toMatchObject({ ...fields, route: '/api/posts' });
  expect(JSON.parse(lines[1]!)).not.toHaveProperty('route');
});

test('a path keeps the segments around a token', () => {
  expect(redactTokens(`/api/svc_${HEX}/posts`)).toBe('/api/svc_[redacted]/posts');
});

test('a text without tokens stays as it is', () => {
  expect(redactTokens('/api/posts/66f0c0ffee0123456789abcd')).toBe('/api/posts/66f0c0ffee0123456789abcd');
});

test('an error of Redis names its command, but not the arguments, such as a password', () => {
  const lines: string[] = [];
  const log = createLogger('info', 'web', { write: (line) => void lines.push(line) });
  const refused = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['bell', 'hidden'] } });
  log.warn({ err: refused }, 'one');
  log.warn({ err: Object.assign(new Error('all nodes'), { lastNodeError: refused }) }, 'two');
  expect(lines.join('')).not.toContain('hidden');
  expect(JSON.parse(lines[0]!).err).toMatchObject({ message: 'WRONGPASS', command: 'auth' });
});
