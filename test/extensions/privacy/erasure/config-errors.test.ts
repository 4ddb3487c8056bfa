import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f, privacy } from '../../../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
const author = f.ref('user').owner();

function configErrorsOf(
  options: object,
  user: Parameters<typeof defineUser>[0] = {},
  extensions = [privacy()],
): string {
  const resources = [defineUser(user as object), defineResource('note', { fields: { author }, ...options } as never)];
  try {
    createApp({ resources, extensions }, env);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ['an unknown action', { onOwnerDelete: 'forget' }, 'onOwnerDelete: must be one of: delete, anonymize, keep'],
  ['an action that is a boolean', { onOwnerDelete: true }, 'onOwnerDelete: must be one of: delete, anonymize, keep'],
  ['personal fields that are a text', { personalFields: 'a' }, 'personalFields: must be a list'],
  [
    'records without an owner',
    { fields: { title: f.string() }, onOwnerDelete: 'delete' },
    'onOwnerDelete: the records have no owner; mark a field with owner(), or remove this option',
  ],
  [
    'a personal field that does not exist',
    { personalFields: ['nick'] },
    'personalFields: "nick" is not a field; fields: author',
  ],
  ['the owner among personal fields', { personalFields: ['author'] }, 'personalFields: "author" is the owner field'],
  [
    'a required personal field that would have to be emptied',
    { fields: { author, email: f.string().required() }, onOwnerDelete: 'anonymize' },
    'field "email": it is personal and required, so onOwnerDelete: \'anonymize\' cannot empty it; remove required()',
  ],
  [
    'a required field listed in personalFields',
    { fields: { author, nick: f.string().required() }, personalFields: ['nick'], onOwnerDelete: 'anonymize' },
    'field "nick": it is personal and required',
  ],
  [
    'a function as the default of such a field',
    {
      fields: {
        author,
        nick: f
          .string()
          .required()
          .default(() => 'x')
          .pii(),
      },
      onOwnerDelete: 'anonymize',
    },
    `field "nick": it is personal and required, so onOwnerDelete: 'anonymize' cannot empty it; remove required(), give it a default() that is not a function`,
  ],
  [
    'anonymized records that own themselves',
    { fields: { title: f.string() }, owner: '_id', onOwnerDelete: 'anonymize' },
    "onOwnerDelete: 'anonymize' needs an owner field",
  ],
  [
    'a default that would be repeated in a unique index',
    {
      fields: { author, nick: f.string().required().default('-').pii(), place: f.string() },
      indexes: [{ fields: ['place', '-nick'], unique: true }],
      onOwnerDelete: 'anonymize',
    },
    "indexes: place, nick: onOwnerDelete: 'anonymize' would leave the same values in many records",
  ],
])('%s is a configuration error that names the resource, the option and the fix', (_, options, errorText) => {
  expect(configErrorsOf(options)).toContain(`resource "note": ${errorText}`);
});

test('onOwnerDelete cannot be set on the user resource', () => {
  expect(configErrorsOf({}, { onOwnerDelete: 'keep' })).toContain(
    'resource "user": onOwnerDelete: the record of a user is always deleted',
  );
});

test('a user resource without a status is a configuration error', () => {
  const user = defineResource('user', {
    fields: { email: f.email().required().unique(), password: f.password().required() },
  });
  expect(() => createApp({ resources: [user], extensions: [privacy()] }, env)).toThrow('needs a field "status"');
});

test.each([
  ['a required field with a default', { author, email: f.string().required().default('-') }],
  [
    'a required field with a default, unique per owner',
    { author, nick: f.string().required().default('-').pii() },
    [{ fields: ['author', 'nick'], unique: true }],
  ],
  [
    'an optional unique field',
    { author, nick: f.string().pii(), place: f.string() },
    [{ fields: ['place', 'nick'], unique: true }],
  ],
  [
    'required fields whose defaults are not scalars',
    {
      author,
      since: f.date().required().default(new Date(0)).pii(),
      tags: f.array(f.string()).required().default([]).pii(),
      home: f.object({ city: f.string() }).required().default({ city: '-' }).pii(),
      iban: f.string().encrypted().required().default('-'),
    },
  ],
  ['optional fields', { author, email: f.string(), phone: f.string().encrypted() }],
])('%s can be emptied', (_, fields, indexes: object[] = []) => {
  expect(configErrorsOf({ fields, indexes, onOwnerDelete: 'anonymize' })).not.toContain('onOwnerDelete');
});

test('without the extension, its options are configuration errors that name it', () => {
  expect(configErrorsOf({ onOwnerDelete: 'keep' }, {}, [])).toContain('it requires the extension privacy()');
});

test('references that an erasure can neither keep nor clear are configuration errors', () => {
  const start = (...fields: [Parameters<typeof defineResource>[1]['fields'], 'keep' | 'delete'][]) =>
    createApp(
      {
        resources: [
          defineUser(),
          ...fields.map(([own, onOwnerDelete], i) => defineResource(`thing${i}`, { fields: own, onOwnerDelete })),
        ],
        extensions: [privacy()],
      },
      env,
    );
  expect(() => start([{ author, approver: f.ref('user', { onDelete: 'restrict' }).required() }, 'delete'])).toThrow(
    `field "approver": an erasure deletes records of "user" and clears references to them, but the field is required`,
  );
  expect(() => start([{ owner: f.ref('user', { onDelete: 'setNull' }).owner() }, 'keep'])).toThrow(
    `field "owner": onOwnerDelete: 'keep' keeps the id of an erased user`,
  );
  expect(() => start([{ owner: f.ref('user', { onDelete: 'restrict' }).required().owner() }, 'delete'])).not.toThrow(
    'an erasure deletes',
  );
});
