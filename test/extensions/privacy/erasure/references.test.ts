import { expect, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f, privacy } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public' } as const;
const article = defineResource('article', {
  fields: { author: f.ref('user', { onDelete: 'restrict' }).owner(), title: f.string() },
  policies: { ...open, create: 'authenticated' },
});
const comment = defineResource('comment', {
  fields: { article: f.ref('article', { onDelete: 'cascade' }), parent: f.ref('comment', { onDelete: 'cascade' }) },
  policies: open,
});
const review = defineResource('review', {
  fields: {
    reviewer: f.ref('user', { onDelete: 'restrict' }),
    reader: f.ref('user', { onDelete: 'setNull' }),
    articles: f.refs('article', { onDelete: 'restrict' }),
  },
  policies: open,
});
const { app, env, person } = await startTestApp(
  {
    resources: [defineUser(), article, comment, review],
    extensions: [privacy()],
  },
  { roles: 'all' },
);

test('an erasure deletes or clears all references to what it deletes, also those that restrict deletions', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const { id } = (await ada.call('POST', '/api/articles', { title: 'x' })).body.data;
  const comments = app.service('comment');
  const first = await comments.create({ article: id });
  const second = await comments.create({ article: id, parent: first.id });
  await comments.update(first.id, { parent: second.id });
  const kept = await app.service('review').create({ reviewer: ada.id, reader: ada.id, articles: [id] });
  const other = await app.service('review').create({ reviewer: bob.id });
  const deleted: string[] = [];
  app.on('comment.deleted', ({ record }) => void deleted.push(record.id));
  await expect(app.service('user').delete(ada.id)).rejects.toMatchObject({ code: 'CONFLICT' });
  await ada.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' });
  await vi.waitFor(
    async () => expect((await app.service('user').list({ id: ada.id } as never)).data).toEqual([]),
    20_000,
  );
  expect(await app.service('review').read(kept.id)).toMatchObject({ articles: [] });
  expect(await app.service('review').read(kept.id)).not.toHaveProperty('reviewer');
  expect(await app.service('review').read(kept.id)).not.toHaveProperty('reader');
  expect(await app.service('review').read(other.id)).toMatchObject({ reviewer: bob.id });
  expect(deleted.sort()).toEqual([first.id, second.id].sort());
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
  const owner = f.ref('user').owner();
  expect(() => start([{ owner, approver: f.ref('user', { onDelete: 'restrict' }).required() }, 'delete'])).toThrow(
    `field "approver": an erasure deletes records of "user" and clears references to them, but the field is required`,
  );
  expect(() => start([{ owner: f.ref('user', { onDelete: 'setNull' }).owner() }, 'keep'])).toThrow(
    `field "owner": onOwnerDelete: 'keep' keeps the id of an erased user`,
  );
  expect(() => start([{ owner: f.ref('user', { onDelete: 'restrict' }).required().owner() }, 'delete'])).not.toThrow(
    'an erasure deletes',
  );
});
