// Deletions in generated graphs of records, compared with a model of the rules of `onDelete`.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
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
const { app, call } = await startTestApp({ resources: [defineUser(), solid, soft], extensions: [softDelete()] });

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
    { numRuns: 60 },
  );
  expect([...outcomes].toSorted()).toEqual(['404', '409', 'affects others', 'alone']);
});
