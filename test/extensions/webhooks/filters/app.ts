import { expect, vi } from 'vitest';
import { z } from 'zod';
import type { AnyResource } from '../../../../src/extension/index.ts';
import { type AppOptions, apiKeys, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const customer = defineResource('customer', {
  fields: {
    name: f.string().filterable(),
    tier: f.enum(['free', 'gold']).default('free').filterable(),
    creditLimit: f.integer().filterable().visibleTo('admin'),
    banker: f.ref('vault').filterable(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'authenticated' },
});

/** Only administrators see these records. */
const vault = defineResource('vault', {
  fields: { code: f.string().filterable() },
  policies: { list: 'admin', read: 'admin', create: 'admin', update: 'admin', delete: 'admin' },
});

const invoice = defineResource('invoice', {
  fields: {
    status: f.enum(['open', 'paid', 'void']).default('open').filterable(),
    total: f.integer().filterable(),
    note: f.string().filterable().visibleTo('owner'),
    memo: f.string(),
    internal: f.string().filterable().visibleTo('admin').writableBy('authenticated'),
    judged: f.string().visibleTo(() => true),
    pin: f.string().hidden(),
    changed: f.string().filterable(),
    customer: f.ref('customer').filterable(),
    user: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'authenticated' },
  softDelete: false,
});

const quiet = defineResource('quiet', { fields: { title: f.string().filterable() }, webhooks: false });

/** Starts an app whose endpoints call a closed port: only which deliveries exist matters. */
export async function startFilterApp(settings: AppOptions<readonly AnyResource[]>['settings'] = {}) {
  return startTestApp(
    {
      settings,
      resources: [defineUser({ roles: ['user', 'admin'] }), customer, vault, invoice, quiet],
      extensions: [
        apiKeys({ maxKeysPerUser: 100 }),
        webhooks({
          retrySchedule: [],
          pollMs: 50,
          maxEndpointsPerUser: 200,
          disableAfterFailures: 1000,
          events: {
            'report.made': { schema: z.object({ pages: z.number() }) },
            'invoice.printed': { schema: z.object({ pages: z.number() }) },
          },
        }),
      ],
    },
    { roles: 'all' },
  );
}

type Call = Pick<Person, 'call'>;

/** Creates an endpoint with a filter. Returns its id. */
export async function subscribe(who: Call, events: string[], filter: object | null = null, other: object = {}) {
  const body = { url: 'http://127.0.0.1:9/', events, filter, ...other };
  const created = await who.call('POST', '/api/webhooks', body);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  return created.body.data.id as string;
}

/** Returns the deliveries of an endpoint, oldest first, as `type id-of-record`; `-` for a record that the owner may no longer read, or none. */
export async function delivered(who: Call, endpoint: string): Promise<string[]> {
  const { body } = await who.call('GET', `/api/webhooks/${endpoint}/deliveries?limit=100`);
  return body.data
    .map(({ type, payload }: { type: string; payload: string }) => `${type} ${JSON.parse(payload)?.data.id ?? '-'}`)
    .reverse();
}

/** Waits until an endpoint without a filter has so many deliveries. The endpoints of the same owner then have theirs, too. */
export async function untilDelivered(who: Call, endpoint: string, count: number): Promise<void> {
  await vi.waitUntil(async () => (await delivered(who, endpoint)).length >= count, { timeout: 60_000, interval: 50 });
}
