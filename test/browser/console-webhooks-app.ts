// The app of the browser tests of the webhooks tab, with endpoints and deliveries as a running app has them.
import { Client } from 'pg';
import { afterAll } from 'vitest';
import { z } from 'zod';
import { adminConsole, defineResource, defineUser, f, organisations, webhooks } from '../../src/index.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { type Person, startTestApp } from '../support/app.ts';

const order = defineResource('order', {
  description: 'An order of a customer',
  fields: {
    title: f.string().required().max(80).searchable(),
    total: f.number().min(0).filterable(),
    card: f.string().encrypted(),
    customer: f.ref('user').owner(),
  },
  policies: { read: 'owner', list: 'owner' },
});
const shipment = defineResource('shipment', { fields: { code: f.string() }, policies: { read: 'admin' } });
const paid = z.object({ invoice: z.string(), amount: z.number().positive() });

export const receiver = await startReceiver();
afterAll(() => receiver.close());

export const webhookApp = await startTestApp(
  {
    resources: [defineUser(), order, shipment],
    extensions: [
      webhooks({
        retrySchedule: [],
        pollMs: 100,
        keepEventsDays: 7,
        disableAfterFailures: 0,
        maxEndpointsPerUser: 50,
        events: { 'invoice.paid': { schema: paid, description: 'An invoice was <b>paid</b>' } },
      }),
      organisations(),
      adminConsole(),
    ],
  },
  { roles: 'all' },
);

const COMPANIES = ['Acme Industries', 'Globex', 'Initech', 'Müller & Söhne Maschinenbau GmbH', 'Umbrella', 'Stark'];

const ENDPOINTS = `
  insert into webhook_endpoints (id, owner_id, url, events, scope, secret, description, enabled, disabled_reason, consecutive_failures,
    last_success_at, last_failure_at, last_error, created_at)
  select to_hex(extract(epoch from now())::bigint - g * 3600) || lpad(g::text, 16, '0'), $1,
    'https://hooks.' || $2 || '.example.com/integrations/belfry/v2/' || g || case when g % 4 = 0 then '/a-rather-long-path-for-events?tenant=0123456789abcdef' else '' end,
    (array['{order.*}', '{shipment.*,invoice.paid}', '{order.created,order.updated,invoice.paid,shipment.created}'])[1 + g % 3]::text[],
    case when g % 9 = 0 then 'global' else 'own' end, 'x', case when g % 5 = 0 then 'Billing sync of ' || $2 end,
    g % 7 <> 0, case when g % 14 = 0 then 'failing' when g % 7 = 0 then 'manual' end, case when g % 5 = 1 then 3 else 0 end,
    now() - g * interval '7 minutes', case when g % 5 = 1 then now() - g * interval '3 minutes' end,
    case when g % 5 = 1 then 'timeout' end, now() - g * interval '1 hour'
  from generate_series($3::int, $3::int + 5) g returning id`;

const DELIVERIES = `
  insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, attempts, duration_ms, status_code, error,
    attempt_log, created_at, finished_at, mentions)
  select to_hex(t.at) || left(md5($1 || g), 16), $1, to_hex(t.at) || left(md5('event' || $1 || g), 16), 'msg_' || g,
    (array['order.created', 'order.updated', 'invoice.paid', 'shipment.created'])[1 + g % 4],
    '{"type":"order.created","timestamp":"2030-01-01T00:00:00.000Z","data":{}}',
    case when g % $2 = 0 then 'failed' else 'succeeded' end, 1, 20 + (g * 37) % 900,
    case when g % $2 = 0 then 503 else 204 end, case when g % $2 = 0 then 'status 503' end, '[]',
    to_timestamp(t.at), to_timestamp(t.at), '{}'
  from generate_series(1, 60) g cross join lateral (select extract(epoch from now())::bigint - g * g * 24 as at) t`;

const STATISTICS = `
  insert into webhook_endpoint_stats (endpoint_id, hour, attempts, succeeded, failed, delivery_attempts, duration_sum, durations)
  select endpoint_id, date_trunc('hour', finished_at, 'UTC'), count(*), count(*) filter (where status = 'succeeded'),
    count(*) filter (where status = 'failed'), count(*), sum(duration_ms), array_fill(0, array[28]) || count(*)::int || 1
  from webhook_delivery_log group by 1, 2`;

/** Fills the app with the endpoints of several users, and a day of deliveries to them. */
export async function seedWebhooks(): Promise<Person[]> {
  const client = new Client({ connectionString: webhookApp.env.DATABASE_URL });
  await client.connect();
  const people: Person[] = [];
  try {
    for (const [index, company] of COMPANIES.entries()) {
      const person = await webhookApp.person(company.replace(/[^a-z]/gi, ''));
      people.push(person);
      const name = company.toLowerCase().replace(/[^a-z]+/g, '-');
      const { rows } = await client.query<{ id: string }>(ENDPOINTS, [person.id, name, 1 + index * 6]);
      for (const [at, { id }] of rows.entries()) await client.query(DELIVERIES, [id, at === 1 ? 3 : 23]);
    }
    await client.query(STATISTICS);
  } finally {
    await client.end();
  }
  return people;
}
