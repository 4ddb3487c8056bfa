import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const team = defineResource('team', { fields: { name: f.string() }, policies: open });
const project = defineResource('project', {
  fields: { team: f.ref('team', { onDelete: 'cascade' }), lead: f.ref('member', { onDelete: 'setNull' }) },
  policies: open,
});
const task = defineResource('task', {
  fields: { project: f.ref('project', { onDelete: 'cascade' }), parent: f.ref('task', { onDelete: 'cascade' }) },
  policies: open,
  softDelete: true,
});
const member = defineResource('member', {
  fields: { team: f.ref('team', { onDelete: 'cascade' }), badge: f.ref('badge', { onDelete: 'restrict' }) },
  policies: open,
});
const badge = defineResource('badge', { fields: { name: f.string() }, policies: open });
const label = defineResource('label', { fields: { name: f.string() }, policies: open });
const note = defineResource('note', {
  fields: {
    labels: f.refs('label', { max: 3 }).filterable(),
    kept: f.refs('badge', { onDelete: 'restrict' }),
    about: f.ref('team', { exists: true }),
  },
  policies: open,
});
const { app, call } = await startTestApp({
  resources: [defineUser(), team, project, task, member, badge, label, note],
  extensions: [softDelete()],
});

async function create(path: string, body: object): Promise<string> {
  const response = await call('POST', `/api/${path}`, body);
  expect(response.body).toMatchObject({ data: {} });
  return response.body.data.id;
}

const GONE = 'ffffffffffffffffffffffff';

test('a write must refer to an existing record, and the error names the field', async () => {
  const { status, body } = await call('POST', '/api/projects', { team: GONE });
  expect([status, body.error.code, body.error.details]).toEqual([422, 'VALIDATION_ERROR', { team: 'No such team' }]);
  const note = await call('POST', '/api/notes', { labels: [GONE], about: GONE });
  expect(note.body.error.details).toEqual({ about: 'No such team', 'labels.0': 'No such label' });
  await expect(app.service('project').create({ team: GONE })).rejects.toMatchObject({
    details: { team: 'No such team' },
  });
});

test('a deletion deletes what refers to it, through several levels and cycles, with one event for each record', async () => {
  const teamId = await create('teams', { name: 'A' });
  const lead = await create('members', { team: teamId });
  const projectId = await create('projects', { team: teamId, lead });
  const first = await create('tasks', { project: projectId });
  const second = await create('tasks', { parent: first });
  await call('PATCH', `/api/tasks/${first}`, { parent: second });
  const deleted: string[] = [];
  for (const name of ['team', 'project', 'task', 'member'])
    app.on(`${name}.deleted` as 'task.deleted', ({ record }) => void deleted.push(record.id));
  expect((await call('DELETE', `/api/teams/${teamId}`)).status).toBe(204);
  expect(deleted.sort()).toEqual([teamId, lead, projectId, first, second].sort());
  expect((await call('GET', `/api/tasks/${first}`)).status).toBe(404);
  const restored = await call('POST', `/api/tasks/${first}/restore`);
  expect([restored.status, restored.body.error.details]).toEqual([422, { project: 'No such project' }]);
});

test('a deletion clears references that allow it, with an event', async () => {
  const lead = await create('members', {});
  const projectId = await create('projects', { lead });
  const before = (await call('GET', `/api/projects/${projectId}`)).body.data;
  expect((await call('DELETE', `/api/members/${lead}`)).status).toBe(204);
  const after = (await call('GET', `/api/projects/${projectId}`)).body.data;
  expect(after.lead).toBeUndefined();
  expect(after.updatedAt > before.updatedAt).toBe(true);
});

test('a deletion is refused while a restricting reference exists', async () => {
  const badgeId = await create('badges', {});
  const memberId = await create('members', { badge: badgeId });
  const refused = await call('DELETE', `/api/badges/${badgeId}`);
  expect([refused.status, refused.body.error]).toMatchObject([
    409,
    { code: 'CONFLICT', message: 'Records of "member" refer to this record, so it cannot be deleted' },
  ]);
  await call('DELETE', `/api/members/${memberId}`);
  expect((await call('DELETE', `/api/badges/${badgeId}`)).status).toBe(204);
});

test('a deleted record leaves every list of references, and the order of the others is kept', async () => {
  const typed: string[] | undefined = (await app.service('note').create({ labels: [] })).labels;
  expect(typed).toEqual([]);
  const [a, b, c] = [await create('labels', {}), await create('labels', {}), await create('labels', {})];
  const noteId = await create('notes', { labels: [c, a, b] });
  expect((await call('DELETE', `/api/labels/${a}`)).status).toBe(204);
  expect((await call('GET', `/api/notes/${noteId}`)).body.data.labels).toEqual([c, b]);
  const twice = await call('PATCH', `/api/notes/${noteId}`, { labels: [c, c] });
  expect(twice.body.error.details).toEqual({ 'labels.1': 'Is already in the list' });
  const many = await call('PATCH', `/api/notes/${noteId}`, { labels: [a, b, c, GONE] });
  expect(many.body.error.details).toEqual({ labels: 'Must be at most 3 items' });
  expect((await call('GET', `/api/notes?labels=${c}`)).body.meta.total).toBe(1);
});
