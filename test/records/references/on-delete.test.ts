import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

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
const references = {
  parent: f.ref('solid', { onDelete: 'cascade' }),
  keeper: f.ref('soft', { onDelete: 'cascade' }),
  guard: f.ref('solid', { onDelete: 'restrict' }),
  friend: f.ref('soft', { onDelete: 'setNull' }),
  members: f.refs('soft'),
  locked: f.refs('solid', { onDelete: 'restrict' }),
};
/** Records that are gone after their deletion. */
const solid = defineResource('solid', { fields: references, policies: open });
/** Records that are kept in the archive after their deletion. */
const soft = defineResource('soft', { fields: references, policies: open, softDelete: true });

const { app, call } = await startTestApp({
  resources: [defineUser(), team, project, task, member, badge, label, note, solid, soft],
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

// Deletions in generated graphs of records, compared with a model of the rules of `onDelete`.
const events: string[] = [];
for (const name of ['solid', 'soft'] as const)
  for (const action of ['deleted', 'updated'] as const)
    app.on(`${name}.${action}`, ({ record }) => void events.push(`${action} ${record.id}`));

type Kind = 'solid' | 'soft';
type Edge = keyof typeof references;
type Links = Partial<Record<Edge, string | string[]>>;
/** A record of the model: its resource, its references and whether it exists. */
interface Node {
  kind: Kind;
  links: Links;
  exists: boolean;
}
type Model = Map<string, Node>;

const COUNT = 4;
const KINDS: readonly Kind[] = ['solid', 'soft'];
const TARGETS: Record<Edge, Kind> = {
  parent: 'solid',
  keeper: 'soft',
  guard: 'solid',
  friend: 'soft',
  members: 'soft',
  locked: 'solid',
};
const LISTS: readonly Edge[] = ['members', 'locked'];
const CASCADING: readonly Edge[] = ['parent', 'keeper'];
const RESTRICTING: readonly Edge[] = ['guard', 'locked'];
const CLEARED: readonly Edge[] = ['friend', 'members'];

const idsOf = (links: Links, edge: Edge): string[] => [links[edge] ?? []].flat();

/** Applies a deletion to the model. Returns the expected events, or undefined if the deletion is refused; then nothing changes. */
function applyDeletion(model: Model, root: string): string[] | undefined {
  const gone = new Set([root]);
  const refersTo = (links: Links, edges: readonly Edge[], ids: ReadonlySet<string>) =>
    edges.some((edge) => idsOf(links, edge).some((id) => ids.has(id)));
  for (const one of gone)
    for (const [id, { links, exists }] of model) if (exists && refersTo(links, CASCADING, new Set([one]))) gone.add(id);
  const others = [...model].filter(([id, { exists }]) => exists && !gone.has(id));
  if (others.some(([, { links }]) => refersTo(links, RESTRICTING, gone))) return undefined;
  for (const id of gone) model.get(id)!.exists = false;
  const changed = others.filter(([, { links }]) => refersTo(links, CLEARED, gone));
  for (const [, { links }] of changed) {
    if (typeof links.friend === 'string' && gone.has(links.friend)) delete links.friend;
    if (links.members !== undefined) links.members = idsOf(links, 'members').filter((id) => !gone.has(id));
  }
  return [...[...gone].map((id) => `deleted ${id}`), ...changed.map(([id]) => `updated ${id}`)];
}

const nodeAt = (kind: Kind) => fc.record({ kind: fc.constant(kind), at: fc.nat(COUNT - 1) });
const anyNode = fc.oneof(...KINDS.map(nodeAt));
const edge = fc
  .constantFrom(...(Object.keys(references) as Edge[]))
  .chain((name) => fc.record({ from: anyNode, name: fc.constant(name), to: nodeAt(TARGETS[name]) }));

test('deletions in any graph of records delete, clear and refuse exactly what onDelete says, with the events of these changes', async () => {
  const outcomes = new Set<string>();
  const edges = fc.array(edge, { maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(edges, fc.array(anyNode, { minLength: 1, maxLength: 4 }), async (links, deletions) => {
      const model: Model = new Map();
      const ids = { solid: [] as string[], soft: [] as string[] };
      for (const kind of KINDS) {
        ids[kind] = (await app.service(kind).createMany(Array.from({ length: COUNT }, () => ({})))).map(({ id }) => id);
        for (const id of ids[kind]) model.set(id, { kind, links: {}, exists: true });
      }
      const idOf = ({ kind, at }: { kind: Kind; at: number }) => ids[kind][at]!;
      for (const { from, name, to } of links) {
        const own = model.get(idOf(from))!.links;
        own[name] = LISTS.includes(name) ? [...new Set([...idsOf(own, name), idOf(to)])] : idOf(to);
      }
      for (const [id, node] of model)
        if (Object.keys(node.links).length > 0) await app.service(node.kind).update(id, node.links as object);

      events.length = 0;
      const expected: string[] = [];
      for (const deletion of deletions) {
        const id = idOf(deletion);
        const wasThere = model.get(id)!.exists;
        const changes = wasThere ? applyDeletion(model, id) : undefined;
        const { status } = await call('DELETE', `/api/${deletion.kind}s/${id}`);
        expect(status).toBe(changes !== undefined ? 204 : wasThere ? 409 : 404);
        outcomes.add(changes === undefined ? `${status}` : changes.length > 1 ? 'affects others' : 'alone');
        expected.push(...(changes ?? []));
      }
      expect(events.filter((event) => model.has(event.split(' ')[1]!)).toSorted()).toEqual(expected.toSorted());
      for (const kind of KINDS) {
        const stored = await app.service(kind).list({ id: { in: ids[kind] }, limit: COUNT });
        expect(stored.data.map(({ id }) => id).toSorted()).toEqual(ids[kind].filter((id) => model.get(id)!.exists));
        for (const record of stored.data) {
          const { links } = model.get(record.id)!;
          for (const name of Object.keys(references) as Edge[])
            expect([name, [record[name] ?? []].flat()]).toEqual([name, idsOf(links, name)]);
        }
      }
      const archived = await call('GET', `/api/softs?deleted=only&limit=100`);
      const kept = archived.body.data.map(({ id }: { id: string }) => id).filter((id: string) => model.has(id));
      expect(kept.toSorted()).toEqual(ids.soft.filter((id) => !model.get(id)!.exists).toSorted());
    }),
    { numRuns: scaleRuns(25) },
  );
  expect([...outcomes].toSorted()).toEqual(['404', '409', 'affects others', 'alone']);
});
