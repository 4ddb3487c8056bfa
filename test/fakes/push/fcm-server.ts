import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { identity } from './tls.ts';

/** A message as FCM received it. */
export interface FcmRequest {
  path: string;
  httpVersion: string;
  authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever JSON was sent
  message: any;
  validateOnly: boolean;
  session: ServerHttp2Session;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A response, or one of the ways in which no response arrives. */
export type FcmReply = Answer | 'never' | 'refused stream' | 'reset stream' | 'closed connection' | 'reset connection';

/** The documented error responses, by error code: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
export function fcmError(status: number, state: string, code?: string, message = state): Answer {
  const type = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
  const details = code === undefined ? [] : [{ '@type': type, errorCode: code }];
  return { status, body: { error: { code: status, message, status: state, details } } };
}

/** A fake of FCM and of Google's token server, as far as the Admin SDK uses them. */
export interface FakeFcm {
  /** `127.0.0.1:…`, the redirect target for fcm.googleapis.com and oauth2.googleapis.com. */
  address: string;
  requests: FcmRequest[];
  /** The number of HTTP/2 connections made. */
  connections: number;
  /** The number of access tokens requested. */
  tokens: number;
  /** The reply to a message. Default: accepted. */
  reply: (request: FcmRequest) => FcmReply | undefined | Promise<FcmReply | undefined>;
  /** The reply of the token server. Default: a token. */
  tokenReply: () => { status: number; body: unknown };
  close(): Promise<void>;
}

const GRANTED = { access_token: 'granted-token', expires_in: 3600, token_type: 'Bearer' };

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

/** Starts a fake FCM on 127.0.0.1. */
export async function startFcmServer(): Promise<FakeFcm> {
  /** Keyed by remote port, because an HTTP/2 session hides its socket. */
  const sockets = new Map<number, { tcp: Socket; tls?: TLSSocket }>();
  let sent = 0;

  function answer(response: Http2ServerResponse, reply: Exclude<FcmReply, 'never'>): void {
    const { stream } = response;
    if (reply === 'refused stream') stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else if (reply === 'reset stream') stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (reply === 'closed connection') sockets.get(stream.session!.socket.remotePort!)?.tls?.end();
    else if (reply === 'reset connection') sockets.get(stream.session!.socket.remotePort!)?.tcp.resetAndDestroy();
    else {
      response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
      response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
    }
  }

  const server = createSecureServer(
    { ...identity, allowHTTP1: true, settings: { maxConcurrentStreams: 100 } },
    async (request, response) => {
      const body = await bodyOf(request);
      if (body === undefined) return;
      if (request.url === '/token') {
        fake.tokens += 1;
        const { status, body: granted } = fake.tokenReply();
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(granted));
        return;
      }
      const { message, validate_only: validateOnly = false } = JSON.parse(body);
      const { url: path, httpVersion, headers } = request;
      const seen = {
        path,
        httpVersion,
        authorization: headers.authorization,
        message,
        validateOnly,
        session: request.stream.session as ServerHttp2Session,
      };
      fake.requests.push(seen);
      const project = path.split('/')[3];
      sent += 1;
      const reply = (await fake.reply(seen)) ?? { status: 200, body: { name: `projects/${project}/messages/${sent}` } };
      if (reply !== 'never') answer(response, reply);
    },
  );
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
  const fake: FakeFcm = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    connections: 0,
    tokens: 0,
    reply: () => undefined,
    tokenReply: () => ({ status: 200, body: GRANTED }),
    async close() {
      for (const { tcp } of sockets.values()) tcp.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}
