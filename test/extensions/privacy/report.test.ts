import { expect, onTestFinished, test } from 'vitest';
import {
  apiKeys,
  audit,
  createApp,
  defineExtension,
  defineResource,
  defineUser,
  f,
  passkeys,
  privacy,
  realtime,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../src/index.ts';
import { pgTable, text } from '../../../src/platform/data/postgres/drizzle.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

const KEY = Buffer.alloc(32, 1).toString('base64');

const patient = defineResource('patient', {
  fields: {
    diagnosis: f.string().encrypted().pii().visibleTo('owner | doctor'),
    nickname: f.string(),
    phone: f.string().hidden(),
    address: f.object({ city: f.string(), street: f.string() }),
    visits: f.integer(),
    person: f.ref('user').owner(),
  },
  personalFields: ['nickname'],
  policies: { read: ['owner', () => false] },
  onOwnerDelete: 'anonymize',
  softDelete: true,
});

const diary = pgTable('nurse_notes', { id: text('id').primaryKey(), userId: text('user_id'), phone: text('phone') });
const shelf = pgTable('shelves', { id: text('id').primaryKey(), height: text('height') });
const nurses = (claims: boolean) =>
  defineExtension({
    name: 'nurses',
    tables: { nurse_notes: diary, shelves: shelf },
    setup: () => ({
      userData: claims
        ? [
            {
              name: 'nurseNotes',
              description: 'What nurses wrote',
              tables: ['nurse_notes'],
              async *rows() {
                yield {};
              },
              erase: async () => 0,
            },
          ]
        : [],
    }),
  });

function reportOf(claims = true) {
  const extensions = [privacy(), softDelete(), nurses(claims)] as const;
  const app = createApp({ resources: [defineUser({ roles: ['doctor'] }), patient], extensions }, env);
  onTestFinished(() => app.close());
  return app.privacy.report(app.tables);
}

const KEPT =
  'as long as its record; deleted records as long as softDelete() keeps them; emptied when the account of its owner is erased';
const READERS = 'readers of the record: the owner, callers that a policy function allows';
const storedIn = (column: string) => [`patients.${column}`, `patients_deleted.${column}`];

test('the report lists for each personal field the reason, its columns, its readers and how long it is kept', () => {
  const fields = reportOf().fields.filter(({ resource }) => resource === 'patient');
  expect(fields).toEqual([
    {
      resource: 'patient',
      field: 'diagnosis',
      reason: 'pii()',
      storedIn: storedIn('diagnosis'),
      encrypted: true,
      seenBy: `the owner, role doctor; only among the ${READERS}`,
      kept: KEPT,
    },
    {
      resource: 'patient',
      field: 'nickname',
      reason: 'personalFields',
      storedIn: storedIn('nickname'),
      encrypted: false,
      seenBy: READERS,
      kept: KEPT,
    },
    {
      resource: 'patient',
      field: 'phone',
      reason: 'name',
      storedIn: storedIn('phone'),
      encrypted: false,
      seenBy: 'no one: the API never returns it',
      kept: KEPT,
    },
    {
      resource: 'patient',
      field: 'address',
      reason: 'name',
      storedIn: storedIn('address'),
      encrypted: false,
      seenBy: READERS,
      kept: KEPT,
    },
  ]);
});

test('all free-text fields of the user resource are personal', () => {
  const fields = reportOf().fields.filter(({ resource }) => resource === 'user');
  expect(fields.map(({ field, reason }) => [field, reason])).toEqual([
    ['name', 'account'],
    ['email', 'account'],
    ['avatarUrl', 'account'],
  ]);
  expect(fields[1]).toMatchObject({
    storedIn: ['users.email'],
    seenBy:
      'the owner, role admin; only among the readers of the record: the owner, role admin; expanded in other records: everyone',
    kept: 'as long as its record; deleted when the account is erased',
  });
});

test('fields that only look personal are listed separately', () => {
  expect(reportOf().unmarked).toEqual([
    { resource: 'patient', field: 'phone' },
    { resource: 'patient', field: 'address' },
  ]);
});

test('the report lists the data of features with their tables, and tables with user columns that no feature covers', () => {
  const { data, unclaimed } = reportOf();
  expect(data).toContainEqual({
    name: 'sessions',
    description: 'Where the user is signed in',
    storedIn: [{ table: 'sessions', columns: ['user_id', 'ip', 'user_agent'] }],
    kept: null,
  });
  expect(data).toContainEqual(expect.objectContaining({ name: 'nurseNotes' }));
  expect(unclaimed).toEqual([]);
  expect(reportOf(false).unclaimed).toEqual([{ table: 'nurse_notes', columns: ['user_id', 'phone'] }]);
});

test("the report covers every table of Belfry's own extensions that refers to users", () => {
  const extensions = [
    privacy(),
    apiKeys(),
    webhooks(),
    twoFactor(),
    passkeys(),
    softDelete(),
    audit(),
    realtime(),
  ] as const;
  const app = createApp({ resources: [defineUser()], extensions }, { ...env, SVC_ENCRYPTION_KEYS: KEY });
  onTestFinished(() => app.close());
  expect(app.privacy.report(app.tables).unclaimed).toEqual([]);
});
