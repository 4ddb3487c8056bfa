import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { identity } from './tls.ts';

/** A message as a push service received it. */
export interface WebPushRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A response, or one of the ways in which no response arrives. */
export type WebPushReply =
  | { status: number; headers?: Record<string, string>; body?: string }
  | 'never'
  | 'closed connection'
  | 'half an answer';

/** A push service according to RFC 8030. */
export interface FakeWebPush {
  /** `https://localhost:…` */
  origin: string;
  /** `127.0.0.1:…`, the redirect target for the host of a push service. */
  address: string;
  requests: WebPushRequest[];
  /** The number of connections made. */
  connections: number;
  /** The reply to a message. Default: accepted, but more than 4,096 bytes are refused. */
  reply: (request: WebPushRequest) => WebPushReply | undefined | Promise<WebPushReply | undefined>;
  close(): Promise<void>;
}

/** Starts a push service on 127.0.0.1. */
export async function startWebPushServer(): Promise<FakeWebPush> {
  const sockets = new Set<Duplex>();
  const server = createServer(identity, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const seen = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks) };
    fake.requests.push(seen);
    const taken = { status: 201, headers: { location: `${fake.origin}/m/${fake.requests.length}` } };
    const usual = seen.body.length > 4096 ? { status: 413 } : taken;
    const reply: WebPushReply = (await fake.reply(seen)) ?? usual;
    if (reply === 'never') return;
    if (reply === 'closed connection') request.socket.destroy();
    else if (reply === 'half an answer') {
      response.writeHead(500, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    } else response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  server.on('connection', (socket) => {
    fake.connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const fake: FakeWebPush = {
    origin: `https://localhost:${port}`,
    address: `127.0.0.1:${port}`,
    requests: [],
    connections: 0,
    reply: () => undefined,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}
