import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { identity } from './tls.ts';

/** A notification as APNs received it. */
export interface ApnsRequest {
  /** From the path. */
  token: string;
  headers: IncomingHttpHeaders;
  body: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever JSON was sent
  payload: any;
  session: ServerHttp2Session;
  /** From the client's certificate. */
  client: string | undefined;
}

/** A response, or one of the ways in which no response arrives. */
export type ApnsReply =
  | { status: number; body?: unknown }
  | 'never'
  | 'refused stream'
  | 'reset stream'
  | 'closed connection'
  | 'reset connection';

/** An error in Apple's format. */
export const apnsError = (status: number, reason: string, more: object = {}): ApnsReply => ({
  status,
  body: { reason, ...more },
});

/** A fake of APNs, as far as providers use it. */
export interface FakeApns {
  /** `127.0.0.1:…`, the redirect target for api.push.apple.com or api.sandbox.push.apple.com. */
  address: string;
  requests: ApnsRequest[];
  /** The number of connections made. */
  connections: number;
  /** The reply to a notification. Default: accepted. */
  reply: (request: ApnsRequest) => ApnsReply | undefined | Promise<ApnsReply | undefined>;
  close(): Promise<void>;
}

/** Undefined if the request broke off. */
async function bodyOf(request: Http2ServerRequest): Promise<string | undefined> {
  let text = '';
  try {
    for await (const chunk of request) text += chunk;
  } catch {
    return undefined;
  }
  return text;
}

/** Starts a fake APNs on 127.0.0.1. It allows 1,000 streams per connection, as APNs does. */
export async function startApnsServer(): Promise<FakeApns> {
  /** Keyed by remote port, because an HTTP/2 session hides its socket. */
  const sockets = new Map<number, { tcp: Socket; tls?: TLSSocket }>();

  function answer(response: Http2ServerResponse, id: string, reply: Exclude<ApnsReply, 'never'>): void {
    const { stream } = response;
    const socket = stream.session && sockets.get(stream.session.socket.remotePort!);
    if (reply === 'refused stream') stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else if (reply === 'reset stream') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (reply === 'closed connection') socket?.tls?.end();
    else if (reply === 'reset connection') socket?.tcp.resetAndDestroy();
    else {
      response.writeHead(reply.status, { 'apns-id': id });
      response.end(reply.body === undefined ? '' : JSON.stringify(reply.body));
    }
  }

  const settings = { maxConcurrentStreams: 1000 };
  const options = { ...identity, settings, requestCert: true, rejectUnauthorized: false };
  const server = createSecureServer(options, async (request, response) => {
    const session = request.stream.session as ServerHttp2Session;
    const client = sockets.get(session.socket.remotePort!)?.tls?.getPeerCertificate().subject?.CN;
    const body = await bodyOf(request);
    if (body === undefined) return;
    const { headers } = request;
    const seen: ApnsRequest = {
      token: request.url.split('/').at(-1)!,
      headers,
      body,
      payload: JSON.parse(body),
      session,
      client: typeof client === 'string' ? client : undefined,
    };
    fake.requests.push(seen);
    const reply = (await fake.reply(seen)) ?? { status: 200 };
    if (reply !== 'never') answer(response, String(headers['apns-id'] ?? ''), reply);
  });
  server.on('connection', (tcp) => {
    const port = tcp.remotePort!;
    sockets.set(port, { tcp });
    tcp.on('close', () => sockets.delete(port));
  });
  server.on('secureConnection', (tls) => {
    const own = sockets.get(tls.remotePort!);
    if (own !== undefined) own.tls = tls;
  });
  server.on('session', (session) => {
    fake.connections += 1;
    session.on('error', () => undefined);
  });
  server.on('sessionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeApns = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    connections: 0,
    reply: () => undefined,
    async close() {
      for (const { tcp } of sockets.values()) tcp.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}
