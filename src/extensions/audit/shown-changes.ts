import type { Viewer } from '../../declare/actor.ts';
import type { Fields } from '../../declare/field.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import { allowsEveryRecord, type CompiledPolicy, compilePolicy } from '../../declare/policy.ts';
import type { Changes, Entry } from './entry.ts';

/** What a reader sees of an entry's changes. */
export type ShownChanges = (entry: Pick<Entry, 'resource' | 'changes'>, reader: Viewer | undefined) => Changes | null;

/** Fields that not everybody sees, by name. */
function restrictedFields({ declaration }: ResourceGateway): Map<string, CompiledPolicy> {
  const fields = Object.entries(declaration.fields as Fields);
  return new Map(
    fields.flatMap(([name, { spec }]) =>
      spec.visibleTo === undefined ? [] : [[name, compilePolicy(spec.visibleTo, () => undefined)]],
    ),
  );
}

/** Makes what leaves out the values of fields with `visibleTo`, but where a role of the reader is enough for them. */
export function createShownChanges(resources: Host['resources']): ShownChanges {
  const restricted = new Map(resources.map((gateway) => [gateway.name, restrictedFields(gateway)]));
  return ({ resource, changes }, reader) => {
    const fields = restricted.get(resource ?? '');
    if (changes === null || fields === undefined || fields.size === 0) return changes;
    const list = Object.entries(changes).map(([name, change]) => {
      const policy = fields.get(name);
      return [name, policy === undefined || allowsEveryRecord(policy, reader) ? change : { changed: true }];
    });
    return Object.fromEntries(list) as Changes;
  };
}
