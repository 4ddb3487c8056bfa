import type { Fields } from '../../declare/field.ts';
import { snakeCase } from '../../declare/naming.ts';
import { type AnyResource, earlierNames } from '../../declare/resource.ts';

/** The mistakes in `renamedFrom` of a resource and its fields. */
export function renameMistakes(resource: AnyResource, fault: (text: string) => void): void {
  if (earlierNames(resource).some((name) => typeof name !== 'string' || name === ''))
    fault('renamedFrom: it should be a name, or a list of names');
  const claimed = new Map<string, string>();
  for (const [name, field] of Object.entries(resource.fields as Fields)) {
    const { renamedFrom } = field.spec;
    if (renamedFrom === undefined) continue;
    const at = `field "${name}"`;
    if (renamedFrom.length === 0) fault(`${at}: renamedFrom() needs the name that it had`);
    for (const earlier of renamedFrom) {
      if (earlier === name) fault(`${at}: renamedFrom("${earlier}") names the field itself; remove it`);
      const other = claimed.get(snakeCase(earlier));
      if (other !== undefined && other !== name) fault(`${at}: "${other}" is renamed from "${earlier}" too; keep one`);
      claimed.set(snakeCase(earlier), name);
    }
  }
}
