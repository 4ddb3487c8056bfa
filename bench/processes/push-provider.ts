// A push provider that accepts everything at once: FCM with Google's token server, APNs, or a push service for browsers. It
// reports how many notifications it received.
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { identity } from '../../test/fakes/push/tls.ts';
import { reportReady } from './child.ts';

interface ExpectedRequests {
  count: number;
  first: number;
  done: (perSecond: number) => void;
}

let expected: ExpectedRequests | undefined;
let received = 0;

function countRequest(): void {
  received += 1;
  if (expected === undefined) return;
  if (received === 1) expected.first = performance.now();
  if (received === expected.count) expected.done((received - 1) / ((performance.now() - expected.first) / 1000));
}

const TOKEN_BODY = JSON.stringify({ access_token: 'token', expires_in: 3600, token_type: 'Bearer' });
const MESSAGE_BODY = JSON.stringify({ name: 'projects/bench/messages/1' });
const JSON_BODY = { 'content-type': 'application/json' };

/** The responses of FCM, APNs and push services, for any client. */
function respond(request: Http2ServerRequest, response: Http2ServerResponse): void {
  request.resume();
  request.on('end', () => {
    const { url } = request;
    if (url === '/token') return void response.writeHead(200, JSON_BODY).end(TOKEN_BODY);
    if (url.startsWith('/v1/')) response.writeHead(200, JSON_BODY).end(MESSAGE_BODY);
    else if (url.startsWith('/3/')) response.writeHead(200, { 'apns-id': '0' }).end();
    else response.writeHead(201, { location: '/m/1' }).end();
    countRequest();
  });
}

const { PROVIDER } = process.env;
// The concurrent streams that FCM and APNs allow on a connection.
const settings = { maxConcurrentStreams: PROVIDER === 'fcm' ? 100 : 1000 };
const server =
  PROVIDER === 'web'
    ? createHttpsServer({ ...identity, keepAliveTimeout: 65_000 }, respond as never)
    : createSecureServer({ ...identity, allowHTTP1: true, settings }, respond);
server.listen(0, '127.0.0.1', () => {
  reportReady(`127.0.0.1:${(server.address() as AddressInfo).port}`, {
    /** Waits for this many notifications. Returns the number per second, from the first to the last. */
    receive: (count: number) =>
      new Promise<number>((resolve) => {
        received = 0;
        expected = { count, first: 0, done: resolve };
      }),
  });
});
