import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { SecureVersion } from 'node:tls';

const pem = (name: string) => readFileSync(new URL(`../data/tls/${name}`, import.meta.url), 'utf8');

/** A receiver behind TLS. */
export interface TlsReceiver {
  port: number;
  /** The certificate authority that a client must trust to call it. */
  ca: string;
  /** The number of requests received. */
  requests: number;
  close(): void;
}

/**
 * Starts a receiver on 127.0.0.1 that responds with 200.
 *
 * @param host the host in its certificate: `hooks.example.com` or `expired.example.com`
 * @param newest the newest TLS version that it supports
 */
export async function startTlsReceiver(host: string, newest: SecureVersion = 'TLSv1.3'): Promise<TlsReceiver> {
  const ca = pem(`${host}.crt`);
  const options = { key: pem(`${host}.key`), cert: ca, minVersion: 'TLSv1', maxVersion: newest } as const;
  const server = createServer({ ...options, ciphers: 'DEFAULT@SECLEVEL=0' }, (_, response) => {
    receiver.requests += 1;
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: TlsReceiver = {
    port: (server.address() as AddressInfo).port,
    ca,
    requests: 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return receiver;
}
