// Redirects the sockets of named hosts to fakes on this machine. Only the target of the socket changes: name, certificate check,
// ALPN, HTTP version and headers remain those of the library. In a process without test code:
//   PUSH_FAKE="fcm.googleapis.com=127.0.0.1:8443" PUSH_FAKE_CA=push-ca.crt node --import ./redirect.ts …
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';

const targets = new Map<string, string>();
const { connect: tlsConnect } = tls;
const { connect: http2Connect } = http2;
const authorities = tls.getCACertificates('default');

type Options = tls.ConnectionOptions & { host?: string; port?: number; servername?: string };

/** The options of any form of tls.connect: (options), (port, host, options). */
function optionsOf(args: unknown[]): Options {
  const options: Options = {};
  for (const arg of args) {
    if (typeof arg === 'object' && arg !== null) Object.assign(options, arg);
    else if (/^\d+$/.test(String(arg))) options.port ??= Number(arg);
    else if (typeof arg === 'string') options.host ??= arg;
  }
  return options;
}

function connectTls(...args: unknown[]): tls.TLSSocket {
  const listener = typeof args.at(-1) === 'function' ? (args.pop() as () => void) : undefined;
  const options = optionsOf(args);
  const target = options.socket ? undefined : targets.get(options.host ?? options.servername ?? '');
  if (target !== undefined) {
    const [host, port] = target.split(':');
    options.servername ||= options.host!;
    options.socket = net.connect(Number(port), host).setNoDelay(true);
  }
  return tlsConnect(options, listener);
}

// firebase-admin sends ":scheme: https:", with a superfluous colon. Google's servers accept it; Node's refuse the stream.
function connectHttp2(authority: string | URL, ...rest: never[]): http2.ClientHttp2Session {
  const session = http2Connect(authority, ...rest);
  if (targets.has(new URL(authority).hostname)) {
    const request = session.request.bind(session);
    session.request = (headers, options) => {
      const scheme = (headers as http2.OutgoingHttpHeaders | undefined)?.[':scheme'];
      const repaired = typeof scheme === 'string' ? { ...headers, ':scheme': scheme.replace(/:$/, '') } : headers;
      return request(repaired as http2.OutgoingHttpHeaders, options);
    };
  }
  return session;
}

/**
 * Redirects hosts (`fcm.googleapis.com`) to fakes (`127.0.0.1:8443`) and trusts the certificate authority of the fakes.
 *
 * @returns a function that undoes the redirect
 */
export function redirect(hosts: Record<string, string>, ca: string): () => void {
  for (const [host, target] of Object.entries(hosts)) targets.set(host, target);
  tls.connect = connectTls as typeof tls.connect;
  http2.connect = connectHttp2 as typeof http2.connect;
  tls.setDefaultCACertificates([...authorities, ca]);
  return () => {
    for (const host of Object.keys(hosts)) targets.delete(host);
    if (targets.size > 0) return;
    tls.connect = tlsConnect;
    http2.connect = http2Connect;
    tls.setDefaultCACertificates(authorities);
  };
}

const { PUSH_FAKE, PUSH_FAKE_CA } = process.env;
if (PUSH_FAKE !== undefined && PUSH_FAKE_CA !== undefined) {
  redirect(
    Object.fromEntries(PUSH_FAKE.split(',').map((pair) => pair.split('=') as [string, string])),
    readFileSync(PUSH_FAKE_CA, 'utf8'),
  );
}
