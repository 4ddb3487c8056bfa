import { vi } from 'vitest';
import { apiKeys, audit, defineResource, defineUser, f, privacy, softDelete, webhooks } from '../../../../src/index.ts';
import { type Client, type Person, startTestApp } from '../../../support/app.ts';
import { readZip } from '../../../support/zip.ts';

const user = defineUser({
  fields: {
    phone: f.string().hidden(),
    resetPhoneToken: f.string().hidden(),
    totpSeed: f.string().hidden(),
    score: f.integer().visibleTo('admin'),
    introducedBy: f.ref('user'),
  },
});

const diary = defineResource('diary', {
  description: 'What somebody wrote',
  fields: {
    text: f.text().required(),
    iban: f.string().encrypted(),
    remark: f.string().visibleTo('admin'),
    diagnosis: f.string().visibleTo('admin').pii(),
    mood: f.string().visibleTo('owner'),
    nickname: f.string().writeOnly(),
    inner: f.string().hidden(),
    author: f.ref('user').owner(),
  },
  personalFields: ['nickname'],
  softDelete: true,
  audit: true,
});

const task = defineResource('task', {
  fields: {
    title: f.string(),
    assignee: f.ref('user').pii(),
    watchers: f.array(f.ref('user')),
    review: f.object({ by: f.ref('user'), votes: f.array(f.object({ of: f.ref('user'), note: f.string() })) }),
    reporter: f.ref('user').visibleTo('admin'),
    estimate: f.integer().visibleTo('admin'),
    owner: f.ref('user').owner(),
    secretive: f.boolean(),
  },
  policies: { read: ['owner', ({ doc }) => doc?.secretive !== true] },
});

// Two resources with the same plural.
const own = { fields: { a: f.string(), author: f.ref('user').owner() }, crud: false } as const;
const datum = defineResource('datum', { ...own, path: '/a-datum', collection: 'a_datum' });
const data = defineResource('data', { ...own, path: '/some-data', collection: 'some_data' });

/** Starts an app with an example of everything that an export contains. */
export async function startPrivacyApp() {
  const extensions = [privacy(), softDelete(), audit(), apiKeys(), webhooks({ allowPrivate: true })];
  return startTestApp({ resources: [user, diary, task, datum, data], extensions }, { roles: 'all' });
}

/** Polls until an export is ready or has failed, and returns its state. */
export async function finished(call: Client, path = '/api/auth/me/export') {
  return vi.waitFor(
    async () => {
      const { status, body } = await call('GET', path);
      if (status !== 200) throw new Error(`still ${status} ${JSON.stringify(body)}`);
      return body.data;
    },
    { timeout: 60_000, interval: 100 },
  );
}

/** Rewrites a link to the port of the test server. */
export function hereOf(link: string, url: string): string {
  return url + new URL(link).pathname;
}

/** Returns the files of an export by path. NDJSON files are returned as arrays. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into exports freely
export async function fetched(link: string, { url }: { url: string }): Promise<Record<string, any>> {
  const response = await fetch(hereOf(link, url));
  if (response.status !== 200) throw new Error(`the link answers ${response.status}`);
  const files = readZip(Buffer.from(await response.arrayBuffer()));
  const parsed = [...files].map(([path, text]) => {
    const lines = text.split('\n').filter((line) => line !== '');
    return [path, path.endsWith('.ndjson') ? lines.map((line) => JSON.parse(line)) : JSON.parse(text)];
  });
  return Object.fromEntries(parsed);
}

/** Returns the whole export of a person. */
export async function exportOf(person: Person, app: { url: string }) {
  return fetched((await finished(person.call)).url, app);
}
