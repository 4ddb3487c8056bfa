import { Field } from '../../declare/field.ts';
import type { AnyResource } from '../../declare/resource.ts';

/** What `defineResource` takes, with what each option is. */
const OPTIONS: Record<string, { is: string; fits(value: unknown): boolean }> = {
  name: { is: 'a text', fits: isText },
  fields: { is: 'an object of fields, as { title: f.string() }', fits: isObject },
  description: { is: 'a text', fits: isText },
  policies: { is: 'an object of policies by action', fits: isObject },
  scope: { is: 'a function', fits: isFunction },
  hooks: { is: 'an object of functions', fits: isObject },
  routes: { is: 'a function', fits: isFunction },
  path: { is: 'a text', fits: isText },
  collection: { is: 'a text', fits: isText },
  renamedFrom: { is: 'a name, or a list of names', fits: (value) => isText(value) || Array.isArray(value) },
  timestamps: { is: 'true or false', fits: isBoolean },
  defaultSort: { is: 'a text, as "-createdAt,title"', fits: isText },
  crud: { is: 'true, false or a list of actions', fits: (value) => isBoolean(value) || Array.isArray(value) },
  indexes: { is: 'a list, as [{ fields: ["status", "-createdAt"], unique: false }]', fits: isIndexes },
  owner: { is: 'the name of a field', fits: isText },
  webhooks: { is: 'true or false', fits: isBoolean },
  softDelete: { is: 'true or false', fits: isBoolean },
  audit: { is: 'true or false', fits: isBoolean },
  onOwnerDelete: { is: 'delete, anonymize or keep', fits: isText },
  personalFields: { is: 'a list of fields', fits: Array.isArray },
};

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}
function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}
function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function isIndexes(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((index) => {
    if (!isObject(index) || !Object.keys(index).every((key) => key === 'fields' || key === 'unique')) return false;
    const { fields, unique = false } = index;
    return Array.isArray(fields) && fields.every(isText) && isBoolean(unique);
  });
}

/**
 * What in a declaration is not of the kind that it should be.
 *
 * @returns whether it is whole enough to look for mistakes in what it says
 */
export function shapeMistakes(resource: AnyResource, fault: (text: string) => void): boolean {
  let whole = true;
  const wrong = (text: string) => {
    whole = false;
    fault(text);
  };
  for (const [name, value] of Object.entries(resource as object)) {
    const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined;
    if (option === undefined) fault(`"${name}" is not an option; options: ${Object.keys(OPTIONS).slice(1).join(', ')}`);
    else if (value !== undefined && !option.fits(value)) wrong(`${name}: must be ${option.is}`);
  }
  if (resource.fields === undefined) wrong('fields: a resource needs them, as { title: f.string() }');
  else if (isObject(resource.fields)) {
    for (const [name, field] of Object.entries(resource.fields)) {
      if (!(field instanceof Field)) wrong(`field "${name}": it is not a field; make it with f, as f.string()`);
    }
  }
  return whole;
}
