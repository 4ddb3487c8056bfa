import type { AnyField } from '../../declare/field.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { fieldSchema } from '../../records/fields/field-type.ts';

/**
 * Returns the field `name` of a user who is created by a sign-in. The text is shortened to the maximum of the field. Empty if the user
 * resource has no such field or the text does not fit its rules, so that the project's own values and defaults decide.
 *
 * @param text a name that the user has not chosen for this app, such as that at a provider; undefined if there is none
 */
export function suggestName({ declaration }: Pick<ResourceGateway, 'declaration'>, text = ''): { name?: string } {
  const fields: Readonly<Record<string, AnyField | undefined>> = declaration.fields;
  const spec = fields.name?.spec;
  if (spec === undefined) return {};
  const max = spec.max === undefined ? undefined : Number(spec.max.value);
  const name = [...text].slice(0, max).join('').trim();
  return name !== '' && fieldSchema(spec, 'reject').safeParse(name).success ? { name } : {};
}
