// What an erasure does with deliveries about the user that endpoints of other users received or wait for.
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../support/app.ts';
import { generateKey } from '../../../support/database/encrypted-patients.ts';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';
import { PASSWORD } from '../../two-factor/two-factor-user.ts';

const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
// A receiver does not see the owner of a memo, so no body contains the owner's id.
const memo = defineResource('memo', {
  fields: { text: f.string(), author: f.ref('user').owner().visibleTo('admin') },
  policies: open,
});
const diary = defineResource('diary', {
  fields: { text: f.string().encrypted(), author: f.ref('user').owner().visibleTo('admin') },
  policies: open,
});
const pin = defineResource('pin', {
  fields: { memo: f.ref('memo').populate(), memos: f.array(f.ref('memo')).populate(), by: f.ref('user').owner() },
  policies: open,
});
// The second name begins with the name of a resource, so its data may be about a record.
const told = { 'thing.told': { schema: z.unknown() }, 'memo.noted': { schema: z.unknown() } };

const { app, person, env } = await startTestApp(
  {
    resources: [defineUser(), memo, diary, pin],
    extensions: [privacy(), webhooks({ retrySchedule: ['1h'], pollMs: 50, events: told })],
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: generateKey() }) },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const [ready, failing] = [await startReceiver(), await startReceiver()];
failing.answer((_, res) => void res.writeHead(500).end());
afterAll(() => Promise.all([client.end(), ready.close(), failing.close()]));

const patience = { timeout: 60_000, interval: 25 };
const root = await person('Root', ['user', 'admin']);
const bob = await person('Bob');
// Deliveries to the first receiver finish. Deliveries to the second one wait an hour for their second attempt.
for (const { url } of [ready, failing]) {
  for (const [who, body] of [
    [bob, { url, events: ['memo.*', 'diary.*', 'pin.*'] }],
    [root, { url, events: ['thing.told', 'memo.noted'], scope: 'global' }],
  ] as const) {
    expect((await who.call('POST', '/api/webhooks', body)).status).toBe(201);
  }
}

interface Stored {
  id: string;
  type: string;
  table: string;
  encrypted: boolean;
  unknown: boolean;
}
const readDeliveries = async () =>
  (
    await client.query<Stored & { settled: boolean }>(
      `select id, type, case when finished_at is null then 'waiting' else 'finished' end as table,
         encrypted_body is not null as encrypted, mentions is null as unknown,
         finished_at is not null or (status = 'pending' and attempts = 1) as settled
       from ${ALL_DELIVERIES} d order by id`,
    )
  ).rows;

/** Runs a function that causes this many events, and returns the deliveries that it created: of each event a finished and a waiting one. */
async function deliveriesOf(events: number, work: () => Promise<unknown>): Promise<Stored[]> {
  const before = new Set((await readDeliveries()).map(({ id }) => id));
  await work();
  const created = await vi.waitUntil(async () => {
    const added = (await readDeliveries()).filter(({ id }) => !before.has(id));
    return added.length === 2 * events && added.every(({ settled }) => settled) && added;
  }, patience);
  expect(created.map(({ table }) => table).sort()).toEqual(
    ['finished', 'waiting'].flatMap((table) => Array(events).fill(table)),
  );
  return created;
}

async function create(who: Person, path: string, body: object): Promise<string> {
  const response = await who.call('POST', `/api/${path}`, body);
  expect(response.status).toBe(201);
  return response.body.data.id;
}
const setAuthor = (id: string, { id: author }: Person) => app.service('memo').update(id, { author } as never);
// The type of the test helper does not know the APIs that extensions add.
const published = app as unknown as {
  webhooks: { publish(name: string, data: unknown, options: { owner: string }): Promise<unknown> };
};

/** Creates deliveries about a user, of each kind. @param other a user who owns some of the records before or after */
async function createDeliveriesAbout(user: Person, other: Person) {
  let [own, kept, received, lent] = ['', '', '', ''];
  const about: Record<string, Stored[]> = {};
  about['of their own record'] = await deliveriesOf(1, async () => {
    own = await create(user, 'memos', { text: 'own' });
  });
  about['of a record that another user received later'] = await deliveriesOf(1, async () => {
    kept = await create(user, 'memos', { text: 'given away' });
  });
  about['of a record that they received later'] = await deliveriesOf(1, async () => {
    received = await create(other, 'memos', { text: 'received' });
  });
  about['of a record that they received, after they did'] = await deliveriesOf(1, () => setAuthor(received, user));
  about['with their record, expanded'] = await deliveriesOf(1, () => create(bob, 'pins', { memo: own }));
  about['with their record, expanded in a list'] = await deliveriesOf(1, () => create(bob, 'pins', { memos: [own] }));
  const lending = await deliveriesOf(1, async () => {
    lent = await create(other, 'memos', { text: 'lent' });
  });
  about['with a record, expanded, that they received later'] = await deliveriesOf(1, () =>
    create(bob, 'pins', { memo: lent }),
  );
  about['of a record that they received later, too'] = [
    ...lending,
    ...(await deliveriesOf(1, () => setAuthor(lent, user))),
  ];
  about['of an event that the app published for them'] = await deliveriesOf(1, () =>
    published.webhooks.publish('thing.told', { n: 1 }, { owner: user.id }),
  );
  about['of an event of the app with the id of their record'] = await deliveriesOf(1, () =>
    published.webhooks.publish('memo.noted', { id: own, text: 'noted' }, { owner: root.id }),
  );
  about['with an encrypted body'] = await deliveriesOf(1, () => create(user, 'diaries', { text: 'secret' }));
  expect(about['with an encrypted body'].every(({ encrypted }) => encrypted)).toBe(true);
  return {
    about,
    notAbout: await deliveriesOf(2, async () => {
      await setAuthor(kept, other);
      await create(bob, 'pins', {});
    }),
  };
}

async function erase(who: Person): Promise<void> {
  const { status, body } = await who.call('POST', '/api/auth/me/erase', { password: PASSWORD });
  expect(status).toBe(202);
  await vi.waitUntil(
    async () => (await root.call('GET', `/api/admin/erasures/${body.data.id}`)).body.data.status === 'finished',
    patience,
  );
}

test.each([
  'as this version stores them',
  'as an earlier version stored them, without mentions',
  'as an earlier version stored them, after a sweep has added the mentions of finished ones',
])(
  'an erasure deletes all deliveries about the user, waiting and finished, and no others: %s',
  { timeout: 120_000 },
  async (version) => {
    const [una, ida, eve] = [await person('Una'), await person('Ida'), await person('Eve')];
    const { about, notAbout } = await createDeliveriesAbout(una, eve);
    const others = await createDeliveriesAbout(ida, eve);
    const ids = [...Object.values(about), notAbout].flat().map(({ id }) => id);
    if (version.includes('earlier')) {
      for (const table of ['webhook_deliveries', 'webhook_delivery_log'])
        await client.query(`update ${table} set mentions = null`);
      const findUnknown = 'select from webhook_delivery_log where mentions is null';
      if (version.includes('sweep'))
        await vi.waitUntil(async () => (await client.query(findUnknown)).rowCount === 0, patience);
    } else {
      expect((await readDeliveries()).filter(({ id, unknown }) => ids.includes(id) && unknown)).toEqual([]);
    }

    await erase(una);
    const left = new Set((await readDeliveries()).map(({ id }) => id));
    const leftOf = (deliveries: readonly Stored[]) => deliveries.filter(({ id }) => left.has(id));
    expect(Object.fromEntries(Object.entries(about).map(([kind, deliveries]) => [kind, leftOf(deliveries)]))).toEqual(
      Object.fromEntries(Object.keys(about).map((kind) => [kind, []])),
    );
    for (const deliveries of [notAbout, others.notAbout, ...Object.values(others.about)]) {
      expect(leftOf(deliveries)).toEqual(deliveries);
    }

    // The records that the user gave away now belong to Eve, and so do the deliveries about them.
    await erase(eve);
    const leftAfterwards = new Set((await readDeliveries()).map(({ id }) => id));
    expect(notAbout.filter(({ id }) => leftAfterwards.has(id)).map(({ type }) => type)).toEqual([
      'pin.created',
      'pin.created',
    ]);
  },
);
