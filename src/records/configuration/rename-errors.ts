import type { Fields } from '../../declare/field.ts';
import { snakeCase } from '../../declare/naming.ts';
import { type AnyResource, earlierNames } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/config-errors.ts';

/** Checks `renamedFrom` of a resource and its fields. */
export function checkRenames(resource: AnyResource, errors: ConfigErrors): void {
  if (earlierNames(resource).some((name) => typeof name !== 'string' || name === ''))
    errors.at('renamedFrom').report('it should be a name, or a list of names');
  const claimed = new Map<string, string>();
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    const { renamedFrom } = field.spec;
    if (renamedFrom === undefined) continue;
    const at = errors.at(`field "${name}"`);
    if (renamedFrom.length === 0) at.report(`renamedFrom() needs the name that it had`);
    for (const earlier of renamedFrom) {
      if (earlier === name) at.report(`renamedFrom("${earlier}") names the field itself; remove it`);
      const other = claimed.get(snakeCase(earlier));
      if (other !== undefined && other !== name) at.report(`"${other}" is renamed from "${earlier}" too; keep one`);
      claimed.set(snakeCase(earlier), name);
    }
  }
}
