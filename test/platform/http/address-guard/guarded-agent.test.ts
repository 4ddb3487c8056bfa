import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  AddressRefusedError,
  createGuardedAgent,
  type GuardedAgentOptions,
} from '../../../../src/platform/http/address-guard/index.ts';
import table from '../../../data/addresses.json' with { type: 'json' };

const open: { close(): unknown }[] = [];
let server: Server;
let sockets: Socket[] = [];

beforeAll(async () => {
  server = createServer((_, response) => response.end('reached'));
  server.on('connection', (socket) => sockets.push(socket));
  await listen(server);
});

afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
  sockets = [];
});

afterAll(() => {
  server.close();
});

async function listen(each: NetServer): Promise<number> {
  each.listen(0, '127.0.0.1');
  await once(each, 'listening');
  return portOf(each);
}

const portOf = (each: NetServer) => (each.address() as AddressInfo).port;

function agent(options: Partial<GuardedAgentOptions> = {}) {
  const made = createGuardedAgent({ allowPrivate: false, connectTimeoutMs: 2_000, ...options });
  open.push({ close: () => made.destroy() });
  return made;
}

async function get(url: string, options: Partial<GuardedAgentOptions>): Promise<string> {
  const response = await request(url, { dispatcher: agent(options), method: 'POST', body: '{}' });
  return response.body.text();
}

async function failure(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  return promise.then(
    (value) => expect.unreachable(`succeeded: ${value}`),
    (error) => error,
  );
}

/** Records the address to which each undici socket is about to connect, and destroys the socket before it connects. */
function interceptLookups() {
  const seen: string[] = [];
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    socket.once('lookup', (error, address) => {
      if (error) return;
      seen.push(address);
      socket.destroy(new Error('intercepted'));
    });
  };
  channel('net.client.socket').subscribe(onSocket);
  open.push({ close: () => channel('net.client.socket').unsubscribe(onSocket) });
  return seen;
}

describe('host names', () => {
  test.each(table.dns)('$name: $expected', async ({ answers: responses }) => {
    const error = await failure(get(`http://hooks.example.com:${portOf(server)}/`, { resolve: async () => responses }));
    expect(error).toBeInstanceOf(AddressRefusedError);
    expect(sockets).toHaveLength(0);
  });

  test('the socket connects to the public address that the resolver returned', async () => {
    const seen = interceptLookups();
    const error = await failure(get('http://hooks.example.com/', { resolve: async () => ['93.184.216.34'] }));
    expect(error.message).toBe('intercepted');
    expect(seen).toEqual(['93.184.216.34']);
  });

  test('a name that is rebound to a private address is refused on its next socket', async () => {
    const seen = interceptLookups();
    const responses = [['93.184.216.34'], ['127.0.0.1']];
    const guarded = agent({ resolve: async () => responses.shift()! });
    const url = `http://hooks.example.com:${portOf(server)}/`;
    expect((await failure(request(url, { dispatcher: guarded }))).message).toBe('intercepted');
    expect(await failure(request(url, { dispatcher: guarded }))).toBeInstanceOf(AddressRefusedError);
    expect(seen).toEqual(['93.184.216.34']);
    expect(sockets).toHaveLength(0);
  });

  test('a name is resolved once per socket, and the socket connects to the resolved address', async () => {
    let calls = 0;
    const resolve = async () => {
      calls += 1;
      return ['127.0.0.1'];
    };
    const guarded = agent({ allowPrivate: true, connections: 1, resolve });
    const url = `http://hooks.example.com:${portOf(server)}/`;
    for (let count = 0; count < 3; count++) {
      expect(await (await request(url, { dispatcher: guarded })).body.text()).toBe('reached');
    }
    expect(calls).toBe(1);
    expect(sockets).toHaveLength(1);
    expect(sockets[0]!.localAddress).toBe('127.0.0.1');
  });

  test('localhost is reachable only if private addresses are allowed', async () => {
    const url = `http://localhost:${portOf(server)}/`;
    expect(await get(url, { allowPrivate: true })).toBe('reached');
    expect(await failure(get(url, {}))).toBeInstanceOf(AddressRefusedError);
  });
});

describe('address literals', () => {
  test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '169.254.169.254'])(
    '%s is refused before a socket opens, without a DNS look-up',
    async (host) => {
      const resolve = () => expect.unreachable();
      const error = await failure(get(`http://${host}:${portOf(server)}/`, { resolve }));
      expect(error).toBeInstanceOf(AddressRefusedError);
      expect(sockets).toHaveLength(0);
    },
  );

  test('a private address is reachable if private addresses are allowed', async () => {
    expect(await get(`http://127.0.0.1:${portOf(server)}/`, { allowPrivate: true })).toBe('reached');
  });

  test('a Host header does not redirect an address literal to another host', async () => {
    const resolve = () => expect.unreachable();
    const dispatcher = agent({ resolve });
    const headers = { host: 'hooks.example.com' };
    const error = await failure(request(`http://127.0.0.1:${portOf(server)}/`, { dispatcher, headers }));
    expect(error).toBeInstanceOf(AddressRefusedError);
    expect(sockets).toHaveLength(0);
  });
});

describe('misbehaving resolvers', () => {
  test.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('ENOTFOUND'))],
    [
      'throws',
      () => {
        throw new Error('at once');
      },
    ],
    ['returns no address', async () => []],
    ['returns undefined', async () => undefined],
    ['returns a name', async () => ['internal.example']],
    ['returns an empty address', async () => ['']],
    ['returns numbers', async () => [2130706433]],
    ['returns an address with a zone', async () => ['fe80::1%eth0', 'x%y']],
  ])('the request is refused if the resolver %s', async (_, resolve) => {
    for (const allowPrivate of [false, true]) {
      const options = { allowPrivate, resolve: resolve as () => Promise<string[]> };
      for (const scheme of ['http', 'https']) {
        const error = await failure(get(`${scheme}://hooks.example.com:${portOf(server)}/`, options));
        expect(error).toBeInstanceOf(AddressRefusedError);
      }
    }
    expect(sockets).toHaveLength(0);
  });

  test('the request is refused if the resolver responds after the connect timeout', async () => {
    let response: (addresses: string[]) => void = () => {};
    const resolve = () => new Promise<string[]>((settle) => (response = settle));
    const error = await failure(
      get(`http://hooks.example.com:${portOf(server)}/`, { allowPrivate: true, resolve, connectTimeoutMs: 50 }),
    );
    expect(error.code).toBe('UND_ERR_CONNECT_TIMEOUT');
    response(['127.0.0.1']);
    await new Promise((settle) => setTimeout(settle, 20));
    expect(sockets).toHaveLength(0);
  });
});

test('only the cause of the error distinguishes a private address from a missing name', async () => {
  const url = 'http://hooks.example.com/';
  const hidden = await failure(get(url, { resolve: async () => ['10.0.0.5'] }));
  const missing = await failure(get(url, { resolve: () => Promise.reject(new Error('ENOTFOUND')) }));
  const literal = await failure(get('http://10.0.0.5/', {}));
  for (const error of [hidden, missing, literal]) {
    expect({ ...error }).toEqual({ name: 'AddressRefusedError', code: 'ADDRESS_REFUSED' });
    expect(error.message).toBe('The host has no public address');
  }
  expect((hidden.cause as Error).message).toContain('10.0.0.5');
  expect((missing.cause as Error).message).toContain('ENOTFOUND');
});

describe('TLS', () => {
  const pem = (name: string) => readFileSync(new URL(`../../../data/tls/${name}`, import.meta.url), 'utf8');
  const ca = pem('hooks.example.com.crt');
  const seen: { servername: unknown; protocol: unknown }[] = [];
  let tlsServer: ReturnType<typeof createTlsServer>;

  beforeAll(async () => {
    const options = { key: pem('hooks.example.com.key'), cert: ca, ALPNProtocols: ['h2', 'http/1.1'] };
    tlsServer = createTlsServer(options, (incoming, response) => {
      const socket = incoming.socket as TLSSocket;
      seen.push({ servername: socket.servername, protocol: socket.alpnProtocol });
      response.end('reached');
    });
    await listen(tlsServer);
  });

  afterAll(() => {
    tlsServer.close();
  });

  const options = { allowPrivate: true, resolve: async () => ['127.0.0.1'] };

  test('the host name is sent as SNI and verified although the address is pinned, and HTTP/2 is not offered', async () => {
    expect(await get(`https://hooks.example.com:${portOf(tlsServer)}/`, { ...options, tls: { ca } })).toBe('reached');
    expect(seen).toEqual([{ servername: 'hooks.example.com', protocol: 'http/1.1' }]);
  });

  test.each([
    ['another name', 'other.example.com', { ca }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['an unknown authority', 'hooks.example.com', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('a certificate of %s is refused', async (_, host, tls, code) => {
    const error = await failure(get(`https://${host}:${portOf(tlsServer)}/`, { ...options, ...(tls ? { tls } : {}) }));
    expect(error.code).toBe(code);
  });
});
