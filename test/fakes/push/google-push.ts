import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { bytes, fixed64, int, lengthOf, type Message, readMessage, readVarint } from './protobuf.ts';
import { identity } from './tls.ts';

/** Google's push service as used by Chromium: a browser registers and receives messages, and its endpoints accept them (RFC 8030). */
export interface FakeGooglePush {
  /** The arguments with which a Chromium uses it. Omit Playwright's `--disable-background-networking`. */
  browserArgs: string[];
  /** `127.0.0.1:…`, the redirect target for the hosts of endpoints. */
  address: string;
  /** The encrypted bodies that endpoints received. */
  requests: { path: string; headers: http.IncomingHttpHeaders; body: Buffer }[];
  /** Leaves browsers that connect without a response until `release` is called. */
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

// The tags of https://chromium.googlesource.com/chromium/src/+/main/google_apis/gcm/protocol/mcs.proto.
const HEARTBEAT = 0;
const HEARTBEAT_ANSWER = 1;
const LOGIN = 2;
const LOGIN_ANSWER = 3;
const CLOSE = 4;
const DATA = 8;
const VERSION = 41;

const portOf = (server: Server) => (server.address() as AddressInfo).port;

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Starts a fake of Google's push service on 127.0.0.1. */
export async function startGooglePush(): Promise<FakeGooglePush> {
  const tokens = new Map<string, { app: string; subtype: string; sender: string }>();
  const requests: FakeGooglePush['requests'] = [];
  const sockets = new Set<TLSSocket>();
  // By id. A message is kept until a browser confirms at login that it has it, because the message may have been sent before the
  // browser was connected, or lost with a connection.
  const kept = new Map<string, Buffer>();
  let browser: TLSSocket | undefined;
  let waiting: (() => void)[] | undefined;

  function register(form: URLSearchParams): string {
    const app = form.get('app') ?? '';
    const subtype = form.get('X-subtype') ?? app;
    if (form.get('delete') === 'true') {
      for (const [token, one] of tokens) if (one.subtype === subtype) tokens.delete(token);
      return `deleted=${app}`;
    }
    const token = randomBytes(100).toString('base64url');
    tokens.set(token, { app, subtype, sender: form.get('sender') ?? '' });
    return `token=${token}`;
  }

  const checkIn = () =>
    Buffer.concat([
      int(1, 1),
      int(3, Date.now()),
      bytes(4, 'digest'),
      bytes(5, Buffer.concat([bytes(1, 'checkin_interval'), bytes(2, '172800')])),
      fixed64(7, 4_242_424_242_424_242n),
      fixed64(8, 1_313_131_313_131_313n),
      int(9, 0),
    ]);
  const plain = http.createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (request.url!.startsWith('/checkin')) {
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(checkIn());
    } else response.writeHead(200).end(register(new URLSearchParams(body.toString())));
  });

  const send = (socket: TLSSocket, tag: number, content: Buffer) =>
    socket.write(Buffer.concat([Buffer.from([tag]), lengthOf(content), content]));

  function logIn(socket: TLSSocket, login: Message): void {
    for (const id of login.get(10) ?? []) kept.delete(id.toString());
    send(socket, LOGIN_ANSWER, Buffer.concat([bytes(1, login.get(1)?.[0] as Buffer), int(8, Date.now())]));
    for (const message of kept.values()) send(socket, DATA, message);
    browser = socket;
  }

  function receive(socket: TLSSocket, tag: number, content: Buffer): void {
    if (tag === LOGIN) {
      const login = readMessage(content);
      if (waiting === undefined) logIn(socket, login);
      else waiting.push(() => logIn(socket, login));
    } else if (tag === HEARTBEAT) send(socket, HEARTBEAT_ANSWER, Buffer.alloc(0));
    else if (tag === CLOSE) socket.end();
  }

  const stream = tls.createServer(identity, (socket) => {
    let hasStarted = false;
    let unread = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      if (browser === socket) browser = undefined;
    });
    socket.on('data', (chunk) => {
      // The browser sends the protocol version first and expects it in the reply.
      if (!hasStarted) socket.write(Buffer.from([VERSION]));
      unread = Buffer.concat([unread, hasStarted ? chunk : chunk.subarray(1)]);
      hasStarted = true;
      for (;;) {
        const [length, start] = readVarint(unread, 1) ?? [0, Number.POSITIVE_INFINITY];
        if (unread.length < start + length) return;
        receive(socket, unread[0]!, unread.subarray(start, start + length));
        unread = unread.subarray(start + length);
      }
    });
  });

  const endpoints = https.createServer(identity, async (request, response) => {
    const { url, headers } = request;
    const body = await bodyOf(request);
    requests.push({ path: url!, headers, body });
    const subscription = tokens.get(url!.split('/').at(-1)!);
    if (subscription === undefined) {
      response.writeHead(410).end('push subscription has unsubscribed or expired.');
      return;
    }
    const { app, subtype, sender } = subscription;
    const id = randomUUID();
    const appData = (key: string, value: string) => bytes(7, Buffer.concat([bytes(1, key), bytes(2, value)]));
    const message = Buffer.concat([
      ...[bytes(3, sender), bytes(5, app), appData('subtype', subtype), appData('content-encoding', 'aes128gcm')],
      ...[bytes(21, body), bytes(9, id), int(17, Number(headers.ttl)), int(18, Date.now())],
    ]);
    kept.set(id, message);
    if (browser !== undefined) send(browser, DATA, message);
    response.writeHead(201, { location: `https://fcm.googleapis.com/${id}` }).end();
  });

  const servers = [plain, stream, endpoints];
  for (const server of servers) server.listen(0, '127.0.0.1');
  await Promise.all(servers.map((server) => once(server, 'listening')));
  return {
    browserArgs: [
      `--gcm-checkin-url=http://127.0.0.1:${portOf(plain)}/checkin`,
      `--gcm-registration-url=http://127.0.0.1:${portOf(plain)}/register`,
      `--gcm-mcs-endpoint=https://localhost:${portOf(stream)}`,
      '--ignore-certificate-errors',
    ],
    address: `127.0.0.1:${portOf(endpoints)}`,
    requests,
    hold() {
      waiting ??= [];
    },
    release() {
      for (const response of waiting ?? []) response();
      waiting = undefined;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const server of [plain, endpoints]) server.closeAllConnections();
      const closed = servers.map((server) => once(server, 'close'));
      for (const server of servers) server.close();
      await Promise.all(closed);
    },
  };
}
