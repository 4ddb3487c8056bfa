// `belfry types --webhooks`, and `belfry api`.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import type { ApiDocument } from '../../src/cli/types/document.ts';
import { writeEvents } from '../../src/cli/types/events-file.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { runCommandsInOneProcess } from '../support/processes/command.ts';
import { app } from './webhook-types-app.ts';

// The process loads the whole app.
vi.setConfig({ testTimeout: 240_000 });

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(import.meta.dirname, '.types-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ENVIRONMENT = { DATABASE_URL: 'postgres://none', REDIS_URL: 'redis://none', NODE_ENV: 'test' };
const assembly = findAssembly(app(ENVIRONMENT))!;
const document = assembly.createOpenApiDocument() as unknown as ApiDocument;
const written = writeEvents(document);
const appFile = join(import.meta.dirname, 'webhook-types-app.ts');
const run = (...commands: string[]) =>
  runCommandsInOneProcess(commands.map((command) => ({ folder: root, command, env: { NODE_ENV: 'test' } })));

test('every event that endpoints receive is a member of the union, with its data', () => {
  expect(written).toContain(`
/** A webhook event */
export interface WebhookEventsRecord {
  id: string;
  note?: string;
  createdAt: string;
  updatedAt: string;
}
`);
  expect(written).toContain(`
export interface Post {
  id: string;
  title: string;
  /** Visible only to \`admin\`. */
  staff?: string;
  status: 'draft' | 'published';
  editor?: string;
  author: string | User;
  friends?: (string | User)[];
  createdAt: string;
  updatedAt: string;
  /** Only in deleted records. */
  deletedAt?: string;
}
`);
  // A record that no event contains.
  expect(written).not.toContain('interface Secret');
  expect(written.slice(written.indexOf('export type WebhookEvents'))).toBe(`export type WebhookEvents =
  /** An invoice was paid */
  | {
    type: 'invoice.paid';
    timestamp: string;
    data: {
      amount: number;
      lines?: { text: string }[];
      post?: Post;
    };
  }
  /** A post was created */
  | { type: 'post.created'; timestamp: string; data: Post }
  /** A post was deleted */
  | { type: 'post.deleted'; timestamp: string; data: Post }
  /** A post was restored */
  | { type: 'post.restored'; timestamp: string; data: Post }
  /** A post was updated */
  | { type: 'post.updated'; timestamp: string; data: Post }
  /** A user was created */
  | { type: 'user.created'; timestamp: string; data: User }
  /** A user was deleted */
  | { type: 'user.deleted'; timestamp: string; data: User }
  /** A user was updated */
  | { type: 'user.updated'; timestamp: string; data: User }
  /** A webhook-events was created */
  | { type: 'webhook-events.created'; timestamp: string; data: WebhookEventsRecord }
  /** A webhook-events was deleted */
  | { type: 'webhook-events.deleted'; timestamp: string; data: WebhookEventsRecord }
  /** A webhook-events was updated */
  | { type: 'webhook-events.updated'; timestamp: string; data: WebhookEventsRecord }
  /** A test of the endpoint was requested */
  | { type: 'webhook.test'; timestamp: string; data: { webhook: string } };
`);
});

test('the order of the document does not change the file', () => {
  const reversed = (object: object) => Object.fromEntries(Object.entries(object).reverse());
  const other = {
    ...document,
    webhooks: reversed(document.webhooks as object),
    'x-resources': document['x-resources'].toReversed(),
  };
  expect(writeEvents(other)).toBe(written);
});

test('the types narrow by type in handlers and after verifyWebhook, and refuse unknown events and fields', async () => {
  writeFileSync(join(folder, 'events.ts'), written);
  const packageFile = (name: string) => `'../../../packages/verify-webhook/src/${name}.ts'`;
  writeFileSync(
    join(folder, 'receiver.ts'),
    `import { createWebhookHandler } from ${packageFile('fetch')};
import { createWebhookHandler as createExpressHandler } from ${packageFile('express')};
import { verifyWebhook, type WebhookPayload } from ${packageFile('index')};
import type { WebhookEvents } from './events.ts';

const secret = '';
createWebhookHandler<WebhookEvents>({
  secret: [secret],
  on: {
    'post.created': async ({ data, type }, { id }) => {
      const name: 'post.created' = type;
      const author: string = typeof data.author === 'string' ? data.author : data.author.name;
      // @ts-expect-error: unset fields are optional
      const editor: string = data.editor;
      // @ts-expect-error: the record has no such field
      data.titel;
      console.log(id, name, author, editor);
    },
    'invoice.paid': ({ data }) => data.amount.toFixed(2) + data.lines?.map(({ text }) => text).join() + data.post?.title,
    'webhook.test': ({ data }) => data.webhook,
    // @ts-expect-error: there is no such event
    'post.creatd': () => undefined,
  },
  onOther: ({ type, data }: WebhookPayload) => console.log(type, data),
});
createExpressHandler({ secret, on: { anything: ({ data }) => console.log(data) } });
// @ts-expect-error: the secret is missing
createExpressHandler<WebhookEvents>({});

const event = verifyWebhook<WebhookEvents>(secret, new Headers(), '');
if (event.type === 'invoice.paid') event.data.amount.toFixed();
// @ts-expect-error: other events have no amount
else event.data.amount;
const untyped: WebhookPayload = verifyWebhook(secret, {}, '');
console.log(untyped);
`,
  );
  const config = { extends: '../../../tsconfig.json', include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiling = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noEmit', '--singleThreaded']);
  expect(
    await compiling.then(
      ({ stdout }) => stdout,
      ({ stdout }) => stdout,
    ),
  ).toBe('');
});

test('the commands write files, print them, and fail with --check if a file is outdated', async () => {
  const [types, openApi, events] = ['webhooks.ts', 'openapi.json', 'asyncapi.json'].map((name) => join(folder, name));
  const commands = [
    `types --webhooks --app ${appFile}`,
    `types --webhooks --app ${appFile} --out ${types} --check`,
    `types --webhooks --app ${appFile} --out ${types}`,
    `types --webhooks --app ${appFile} --out ${types} --check`,
    `api --app ${appFile} --out ${openApi}`,
    `types --webhooks --from ${openApi} --out ${types} --check`,
    `api --asyncapi --app ${appFile} --out ${events}`,
    `api --app ${appFile} --out ${events} --check`,
    'types --check',
    `types --webhooks --app test/client/library-app.ts`,
    `api --asyncapi --app test/client/library-app.ts`,
  ];
  const results = await run(...commands);
  expect(results.map(({ code }) => code)).toEqual([0, 1, 0, 0, 0, 0, 0, 1, 2, 1, 1]);
  expect(results[0]!.output).toBe(written.trimEnd());
  expect(results[1]!.output).toBe(`${types} does not exist. Run the command without --check to write it.`);
  expect(results[7]!.output).toBe(`${events} is outdated. Run the command without --check to write it.`);
  expect(results[8]!.output).toContain('--check needs --out');
  for (const { output } of results.slice(9))
    expect(output).toBe('The app sends no webhooks: it does not have the extension webhooks().');
  expect(existsSync(types!) && readFileSync(types!, 'utf8')).toBe(written);
  expect(JSON.parse(readFileSync(openApi!, 'utf8'))).toEqual(JSON.parse(JSON.stringify(document)));
  expect(JSON.parse(readFileSync(events!, 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(assembly.createAsyncApiDocument())),
  );
});

test('no text of a document becomes code of the file', () => {
  const text = fc.string({ unit: fc.constantFrom('*', '/', "'", '"', '\\', '`', '{', '}', '\n', '|', ' ', 'a') });
  fc.assert(
    fc.property(text, text, text, (name, summary, field) => {
      const data = { type: 'object', properties: { [field]: { description: summary, enum: [name, field] } } };
      const schema = { properties: { type: { const: name }, data } };
      const post = { summary, requestBody: { content: { 'application/json': { schema } } } };
      const file = writeEvents({ ...document, webhooks: { [name]: { post }, b: { post } } });
      const code = stripTypeScriptTypes(file).replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
      expect(code.trim()).toBe('');
    }),
  );
});

test('a document with malformed webhooks is refused', () => {
  for (const webhooks of [{ 'a.b': {} }, { 'a.b': { post: { requestBody: { content: {} } } } }, 'x'])
    expect(() => writeEvents({ ...document, webhooks })).toThrow('The document has no valid webhooks.');
});
