import { afterAll, expect, test } from 'vitest';
import { defineUser, webhooks } from '../../../../src/index.ts';
import table from '../../../data/addresses.json' with { type: 'json' };
import { startDnsServer } from '../../../fakes/dns-server.ts';
import { startTestApp } from '../../../support/app.ts';

const REFUSED = { url: 'Must have a public host name' };
const PUBLIC = '93.184.216.34';

const answers: Record<string, string[] | 'alias' | 'nxdomain' | 'servfail' | 'silence'> = {
  'public.example.com': [PUBLIC, '2606:4700:4700::1111'],
  'unknown.example.com': 'nxdomain',
  'empty.example.com': [],
  'alias.example.com': 'alias',
  'failing.example.com': 'servfail',
  'silent.example.com': 'silence',
  'later.example.com': 'servfail',
  'not-asked.example.net': ['10.0.0.5'],
  ...Object.fromEntries(table.dns.map(({ answers }, n) => [`case-${n}.example.com`, answers])),
};
const dns = await startDnsServer((name, type) => {
  const dnsAnswer = answers[name] ?? 'nxdomain';
  return typeof dnsAnswer === 'string'
    ? dnsAnswer
    : dnsAnswer.filter((address) => address.includes(':') === (type === 'AAAA'));
});
afterAll(() => dns.close());

const options = { requireHttps: true, maxEndpointsPerUser: 100, nameServers: [dns.address] };
const strict = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [webhooks({ ...options, allowPrivate: false })],
  },
  { roles: 'all' },
);
const open = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [webhooks({ ...options, allowPrivate: true })],
  },
  { roles: 'all' },
);
const ann = await strict.person('Ann');
const body = (host: string) => ({ url: `https://${host}/hooks`, events: ['*'] });

test('an endpoint whose host has only public addresses can be created, and others can be moved to it', async () => {
  const { status, body: answer } = await ann.call('POST', '/api/webhooks', body('public.example.com'));
  expect(status).toBe(201);
  const patch = { url: 'https://public.example.com./other' };
  expect((await ann.call('PATCH', `/api/webhooks/${answer.data.id}`, patch)).body.data).toMatchObject(patch);
  expect(dns.questions).toContain('A public.example.com');
  expect(dns.questions).toContain('AAAA public.example.com');
});

test.each([
  ...table.dns.map(({ name }, n): [string, string] => [name, `case-${n}.example.com`]),
  ['a name without addresses', 'empty.example.com'],
  ['an alias of a name without addresses', 'alias.example.com'],
])('%s is refused on create and on change with the same error as an unknown name', async (_, host) => {
  const made = await ann.call('POST', '/api/webhooks', body('public.example.com'));
  const { id, url } = made.body.data;
  const patch = (name: string) => ann.call('PATCH', `/api/webhooks/${id}`, { url: body(name).url });
  const unknown = [
    await ann.call('POST', '/api/webhooks', body('unknown.example.com')),
    await patch('unknown.example.com'),
  ];
  const refused = [await ann.call('POST', '/api/webhooks', body(host)), await patch(host)];
  for (const [i, answer] of refused.entries()) {
    expect([answer.status, answer.body.error.code, answer.body.error.details]).toEqual([
      422,
      'VALIDATION_ERROR',
      REFUSED,
    ]);
    const { requestId: _, ...error } = answer.body.error;
    const { requestId: __, ...sameError } = unknown[i]!.body.error;
    expect(error).toEqual(sameError);
  }
  expect((await ann.call('GET', `/api/webhooks/${id}`)).body.data.url).toBe(url);
  await ann.call('DELETE', `/api/webhooks/${id}`);
});

test.each(['failing.example.com', 'silent.example.com'])(
  'with %s, a name server that fails does not prevent saving an endpoint',
  async (host) => {
    const made = await ann.call('POST', '/api/webhooks', body(host));
    expect(made.status).toBe(201);
    const moved = await ann.call('PATCH', `/api/webhooks/${made.body.data.id}`, { url: body(host).url });
    expect(moved.status).toBe(200);
  },
);

test('if private receivers are allowed, no name server is queried, so an unknown or private name can be saved', async () => {
  const bob = await open.person('Bob');
  // No other test uses these names: a resolver may repeat a question long after its call has ended.
  const hosts = ['not-asked.example.com', 'not-asked.example.net', 'localhost'];
  // The event of Bob's registration may be sent only now, and sending it would ask for the name.
  const events = ['user.deleted'];
  for (const host of hosts)
    expect((await bob.call('POST', '/api/webhooks', { ...body(host), events })).status).toBe(201);
  expect(dns.questions.filter((question) => hosts.some((host) => question.endsWith(` ${host}`)))).toEqual([]);
});

test('a name that was saved while its name server failed is not called if it later resolves to a private address', async () => {
  const { body: made } = await ann.call('POST', '/api/webhooks', body('later.example.com'));
  answers['later.example.com'] = ['10.0.0.5'];
  const { status, body: tested } = await ann.call('POST', `/api/webhooks/${made.data.id}/test`);
  expect(status).toBe(200);
  expect(tested.data).toMatchObject({ status: 'failed', statusCode: null, error: 'address not allowed or not found' });
});
