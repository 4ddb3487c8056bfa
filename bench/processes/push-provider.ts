// A push provider that accepts everything at once: FCM with Google's token server, APNs, or a push service for browsers. It
// reports how many notifications it received.
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { identity } from '../../test/fakes/push/tls.ts';
import { ready } from './child.ts';

interface Waiting {
  count: number;
  first: number;
  done: (perSecond: number) => void;
}

let waiting: Waiting | undefined;
let received = 0;

function count(): void {
  received += 1;
  if (waiting === undefined) return;
  if (received === 1) waiting.first = performance.now();
  if (received === waiting.count) waiting.done((received - 1) / ((performance.now() - waiting.first) / 1000));
}

const GRANTED = JSON.stringify({ access_token: 'token', expires_in: 3600, token_type: 'Bearer' });
const NAMED = JSON.stringify({ name: 'projects/bench/messages/1' });
const JSON_BODY = { 'content-type': 'application/json' };

/** The responses of FCM, APNs and push services, for any client. */
function answer(request: Http2ServerRequest, response: Http2ServerResponse): void {
  request.resume();
  request.on('end', () => {
    const { url } = request;
    if (url === '/token') return void response.writeHead(200, JSON_BODY).end(GRANTED);
    if (url.startsWith('/v1/')) response.writeHead(200, JSON_BODY).end(NAMED);
    else if (url.startsWith('/3/')) response.writeHead(200, { 'apns-id': '0' }).end();
    else response.writeHead(201, { location: '/m/1' }).end();
    count();
  });
}

const { PROVIDER } = process.env;
// The concurrent streams that FCM and APNs allow on a connection.
const settings = { maxConcurrentStreams: PROVIDER === 'fcm' ? 100 : 1000 };
const server =
  PROVIDER === 'web'
    ? createHttpsServer({ ...identity, keepAliveTimeout: 65_000 }, answer as never)
    : createSecureServer({ ...identity, allowHTTP1: true, settings }, answer);
server.listen(0, '127.0.0.1', () => {
  ready(`127.0.0.1:${(server.address() as AddressInfo).port}`, {
    /** Waits for this many notifications. Returns the number per second, from the first to the last. */
    receive: (count: number) =>
      new Promise<number>((resolve) => {
        received = 0;
        waiting = { count, first: 0, done: resolve };
      }),
  });
});
