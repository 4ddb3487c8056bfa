import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';
import { app } from './fixture.ts';

const { create, createMany, signInAs } = await createTestApp(app);

test('create fills the required fields and keeps the given values', async () => {
  const task = await create('task', { done: true });
  expect(task).toMatchObject({ done: true, title: expect.stringMatching(/^title \d+$/) });
  expectTypeOf(task.title).toEqualTypeOf<string>();
});

test('create creates the target of a required reference, or uses the given one', async () => {
  const ada = await signInAs();
  const task = await create('task', { owner: ada.id });
  expect((await create('comment', { task: task.id })).task).toBe(task.id);
  const comment = await create('comment');
  expect(comment.task).toMatch(/^[0-9a-f]{24}$/);
  expect(comment.task).not.toBe(task.id);
});

test('createMany creates as many records as asked for, with values by index', async () => {
  const tasks = await createMany('task', 3, (index) => ({ title: `Task ${index}` }));
  expect(tasks.map(({ title }) => title)).toEqual(['Task 0', 'Task 1', 'Task 2']);
  expect(await createMany('comment', 2, { text: 'Same' })).toMatchObject([{ text: 'Same' }, { text: 'Same' }]);
});

test('an unknown resource is refused with the closest name', async () => {
  await expect(create('tsak' as 'task')).rejects.toThrow('Unknown resource "tsak". Did you mean "task"?');
});

test('a mistake in the given values is reported as it is', async () => {
  await expect(create('task', { title: '' })).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { title: 'Is required' },
  });
});

const part = f.object({ size: f.integer().required().min(3), label: f.string().required().max(4) });

const sample = defineResource('sample', {
  fields: {
    short: f.string().required().max(3).unique(),
    long: f.string().required().min(60).max(80),
    code: f
      .string()
      .required()
      .pattern(/^[A-Z]{2}-\d{4}$/)
      .unique(),
    slug: f
      .string()
      .required()
      .pattern(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .min(8)
      .max(12),
    alike: f
      .string()
      .required()
      .pattern(/^(?:ab|(\w)\1)+$/i),
    text: f.text().required(),
    email: f.email().required().unique(),
    site: f.url().required(),
    count: f.integer().required().min(2.5).max(4),
    negative: f.number().required().max(-1),
    rank: f.integer().required().unique(),
    price: f.decimal({ precision: 4, scale: 2 }).required().min('10.5'),
    fraction: f.decimal({ precision: 2, scale: 2 }).required().max('0.5'),
    on: f.boolean().required(),
    past: f.date().required().max('2001-01-01'),
    future: f.date().required().min('2999-01-01'),
    state: f.enum(['open', 'closed']).required(),
    foreign: f.id().required(),
    tags: f.array(f.string().max(5)).required().min(2),
    part: part.required(),
    parts: f.array(part).required().min(1),
    extra: f.json().required(),
    named: f
      .string()
      .required()
      .check((value) => value === 'exactly this' || 'Must be exactly this')
      .example('exactly this'),
    optional: f.string(),
    defaulted: f.string().required().default('default'),
  },
});

test('create generates valid values for every type of field', { timeout: 240_000 }, async () => {
  await using samples = await createTestApp((environment) =>
    createApp({ resources: [defineUser(), sample] }, environment),
  );
  const records = await samples.createMany('sample', 20);
  const [first] = records;
  expect(first).toMatchObject({
    code: expect.stringMatching(/^[A-Z]{2}-\d{4}$/),
    slug: expect.stringMatching(/^[a-z0-9-]{8,12}$/),
    count: 3,
    negative: -1,
    price: '10.50',
    fraction: '0.50',
    past: '2001-01-01T00:00:00.000Z',
    future: '2999-01-01T00:00:00.000Z',
    state: 'open',
    named: 'exactly this',
    defaulted: 'default',
  });
  expect(first!.long.length).toBeGreaterThanOrEqual(60);
  expect(first!.tags).toHaveLength(2);
  expect(first!.parts).toMatchObject([{ size: 3 }]);
  expect(first).not.toHaveProperty('optional');
});

const createThing = async (fields: Parameters<typeof defineResource>[1]['fields'], values = {}) => {
  const thing = defineResource('thing', { fields });
  await using things = await createTestApp((environment) =>
    createApp({ resources: [defineUser(), thing] }, environment),
  );
  // Before the app is closed.
  return await things.create('thing', values);
};

test('a field for which no value can be generated is named', async () => {
  const fields = {
    code: f
      .string()
      .required()
      .pattern(/^(?=.*\d)(?=.*[a-z]).{20}$/),
  };
  await expect(createThing(fields)).rejects.toThrow(
    /^create\('thing'\) could not generate a value: field "code": no text was found that matches .* Pass a value for the field\.$/,
  );
  expect(await createThing(fields, { code: '1bcdefghijklmnopqrst' })).toMatchObject({ code: '1bcdefghijklmnopqrst' });
});

test('a generated value that a rule in code refuses is named, with the message of the rule', async () => {
  const fields = {
    iban: f
      .string()
      .required()
      .check(() => 'Must be an IBAN'),
    other: f.string(),
  };
  await expect(createThing(fields)).rejects.toThrow(
    /could not generate valid values:\n {2}- iban: the generated value "iban \d+" was refused: Must be an IBAN\nPass them: create\('thing', \{ iban: … \}\)/,
  );
});

test('a json field with a schema gets its example, or {} if the schema accepts it', async () => {
  const size = z.object({ size: z.number() });
  const fields = { settings: f.json(size).required().example({ size: 3 }), open: f.json(size.partial()).required() };
  expect(await createThing(fields)).toMatchObject({ settings: { size: 3 }, open: {} });
  await expect(createThing({ settings: f.json(size).required() })).rejects.toThrow(
    'field "settings": its schema does not accept {}; give the field an example(), or pass a value',
  );
});

test('a chain of references without an end is refused', async () => {
  await expect(createThing({ parent: f.ref('thing').required() })).rejects.toThrow(
    "create('thing') needs an endless chain of records: thing → thing. Pass the id of one of the references.",
  );
});
