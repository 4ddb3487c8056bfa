import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHostResolver, isUnknownHostError } from '../../../../src/platform/http/address-guard/resolve-host.ts';
import { startDnsServer } from '../../../fakes/dns-server.ts';

let dns: Awaited<ReturnType<typeof startDnsServer>>;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belfry-hosts-'));
  await writeFile(
    join(folder, 'hosts'),
    '# comment\n10.1.2.3\tReceiver receiver.test # mine\nfd00::1 receiver\nbroken line\n',
  );
  dns = await startDnsServer((name, type) => {
    if (name.startsWith('both')) return type === 'A' ? ['192.0.2.1', '192.0.2.2'] : ['2001:db8::1'];
    if (name.startsWith('four')) return type === 'A' ? ['192.0.2.1'] : 'nxdomain';
    if (name.startsWith('six')) return type === 'A' ? 'nxdomain' : ['2001:db8::1'];
    if (name.startsWith('halfdead')) return type === 'A' ? ['192.0.2.1'] : 'silence';
    if (name.startsWith('broken')) return type === 'A' ? 'nxdomain' : 'servfail';
    if (name.startsWith('alias')) return name.startsWith('alias-broken') && type === 'AAAA' ? 'servfail' : 'alias';
    return name.startsWith('dead') ? 'silence' : 'nxdomain';
  });
});

afterAll(async () => {
  await dns.close();
  await rm(folder, { recursive: true });
});

function resolver(localNames: boolean, timeoutMs = 3_000) {
  return createHostResolver({ localNames, timeoutMs, servers: [dns.address], hostsFile: join(folder, 'hosts') });
}

describe('DNS', () => {
  test.each([
    ['both.example', ['192.0.2.1', '192.0.2.2', '2001:db8::1']],
    ['four.example', ['192.0.2.1']],
    ['six.example', ['2001:db8::1']],
  ])('%s: %j', async (host, expected) => {
    expect(await resolver(false)(host)).toEqual(expected);
  });

  test('a name that does not exist is an error', async () => {
    await expect(resolver(false)('none.example')).rejects.toThrow('ENOTFOUND');
  });

  test('a name is unknown only if the responses for both address families say so', async () => {
    const reason = (host: string) => resolver(false)(host).then(() => 'resolved', isUnknownHostError);
    expect(await reason('none.example')).toBe(true);
    expect(await reason('broken.example')).toBe(false);
  });

  test('a name whose response has no address, such as an alias without a target, is unknown', async () => {
    await expect(resolver(false)('alias.example')).rejects.toMatchObject({ code: 'ENODATA' });
    const failed = await resolver(false)('alias-broken.example').catch((error: unknown) => error);
    expect([isUnknownHostError(failed), isUnknownHostError(undefined)]).toEqual([false, false]);
  });

  test('a server that never responds for IPv6 does not delay IPv4 addresses', async () => {
    const start = performance.now();
    expect(await resolver(false, 30_000)('halfdead.example')).toEqual(['192.0.2.1']);
    expect(performance.now() - start).toBeLessThan(15_000);
  });

  test('a server that never responds times out', async () => {
    await expect(resolver(false, 600)('dead.example')).rejects.toThrow('ETIMEOUT');
  });
});

describe('local names', () => {
  test.each([
    ['localhost', ['127.0.0.1', '::1']],
    ['LOCALHOST.', ['127.0.0.1', '::1']],
    ['app.localhost', ['127.0.0.1', '::1']],
    ['receiver', ['10.1.2.3', 'fd00::1']],
    ['receiver.test.', ['10.1.2.3']],
    ['four.example', ['192.0.2.1']],
  ])('%s: %j', async (host, expected) => {
    expect(await resolver(true)(host)).toEqual(expected);
  });

  test('the hosts file is used only if local names are allowed', async () => {
    await expect(resolver(false)('receiver.test')).rejects.toThrow('ENOTFOUND');
    expect(dns.questions).toContain('A receiver.test');
  });

  test('a missing hosts file counts as empty', async () => {
    const resolve = createHostResolver({
      localNames: true,
      timeoutMs: 3_000,
      servers: [dns.address],
      hostsFile: '/nowhere',
    });
    expect(await resolve('four.example')).toEqual(['192.0.2.1']);
  });
});
