import { z } from 'zod';
import { Field } from '../../declare/field.ts';
import { ReverseRelation } from '../../declare/relation.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { RESOURCE_ICONS } from '../../declare/resource-icon.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { parseSettings, reportSettingErrors } from '../../platform/helpers/parse-settings.ts';
import { MAX_BATCH_OPERATIONS } from '../schema/compile.ts';

/** The resource options that extensions add: by name, the schemas of the extensions that add the option. */
export type ExtensionOptions = ReadonlyMap<string, readonly z.ZodType[]>;

const anyFunction = z.custom((value) => typeof value === 'function');
const anyObject = z.custom((value) => typeof value === 'object' && value !== null && !Array.isArray(value));
const labelText = z.string().trim().min(1).max(100);
const anyList = z.array(z.unknown());

/** The options of `defineResource` and their types. */
const OPTION_SCHEMAS = {
  name: z.string().describe('a string'),
  fields: anyObject.describe('an object of fields, such as { title: f.string() }'),
  relations: z
    .record(z.string(), z.instanceof(ReverseRelation))
    .describe("an object of reverse relations, such as { comments: f.reverse('comment', 'post') }"),
  title: z.string().describe('the name of a field, or a template such as "{firstName} {lastName}"'),
  labels: z
    .strictObject({ one: labelText.optional(), many: labelText.optional() })
    .describe("an object of texts of 1 to 100 characters, such as { one: 'Match day', many: 'Match days' }"),
  icon: z.enum(RESOURCE_ICONS).describe(`one of the icons: ${RESOURCE_ICONS.join(', ')}`),
  description: z.string().describe('a string'),
  policies: anyObject.describe('an object of policies by action'),
  scope: anyFunction.describe('a function'),
  hooks: anyObject.describe('an object of functions'),
  routes: anyFunction.describe('a function'),
  path: z.string().describe('a string'),
  collection: z.string().describe('a string'),
  renamedFrom: z.union([z.string(), anyList]).describe('a name, or a list of names'),
  timestamps: z.boolean().describe('true or false'),
  defaultSort: z.string().describe('a string, such as "-createdAt,title"'),
  pagination: z
    .strictObject({ count: z.enum(['exact', 'capped', 'none']).optional() })
    .describe('an object such as { count: "capped" }; count is "exact", "capped" or "none"'),
  aggregates: z
    .strictObject({
      timestamps: z.array(z.enum(['createdAt', 'updatedAt'])).optional(),
      minGroupSize: z.int().min(1).max(1_000_000).optional(),
    })
    .describe('an object such as { timestamps: ["createdAt"], minGroupSize: 5 }'),
  deprecated: anyObject.describe("an object such as { since: '2026-11-01' }, or such objects by action"),
  crud: z.union([z.boolean(), anyList]).describe('true, false or a list of actions'),
  batch: z
    .union([z.boolean(), z.strictObject({ max: z.number().int().min(1).max(MAX_BATCH_OPERATIONS).optional() })])
    .describe(`true, false or an object such as { max: 100 }; max is at most ${MAX_BATCH_OPERATIONS}`),
  indexes: z
    .array(z.strictObject({ fields: z.array(z.string()), unique: z.boolean().optional() }))
    .describe('a list, such as [{ fields: ["status", "-createdAt"], unique: false }]'),
  constraints: anyFunction.describe('a function, such as (c) => [c.check("endsAt > startsAt", "…")]'),
  owner: z.string().describe('the name of a field'),
  webhooks: z.boolean().describe('true or false'),
} satisfies Record<string, z.ZodType>;

/** The built-in extensions that add options, for the error if an app sets an option without its extension. */
const OPTION_EXTENSIONS: Record<string, string> = {
  softDelete: 'softDelete()',
  audit: 'audit()',
  onOwnerDelete: 'privacy()',
  personalFields: 'privacy()',
};

/** Whether every resource has this option, regardless of extensions. */
export function isBuiltInOption(name: string): boolean {
  return Object.hasOwn(OPTION_SCHEMAS, name);
}

/** Checks an option that an extension adds or would add. Returns whether its value has the right type. */
function checkExtensionOption(
  name: string,
  value: unknown,
  extensions: ExtensionOptions,
  errors: ConfigErrors,
): boolean {
  const schemas = extensions.get(name);
  if (schemas !== undefined) {
    const results = schemas.map((schema) => ({ schema, error: parseSettings(schema, value).error }));
    for (const { schema, error } of results) if (error) reportSettingErrors(name, schema, error, errors);
    return results.every(({ error }) => error === undefined);
  }
  const extension = Object.hasOwn(OPTION_EXTENSIONS, name) ? OPTION_EXTENSIONS[name] : undefined;
  if (extension === undefined) {
    const options = [...Object.keys(OPTION_SCHEMAS).slice(1), ...Object.keys(OPTION_EXTENSIONS), ...extensions.keys()];
    errors.report(`"${name}" is not an option${suggestKnownNames(name, 'options', [...new Set(options)])}`);
  } else if (value)
    errors.at(name).report(`it requires the extension ${extension}; add it to extensions, or remove the option`);
  return true;
}

/**
 * Checks the types of a declaration's parts.
 *
 * @returns whether all types are right and the declaration can be checked further
 */
export function checkOptionTypes(resource: AnyResource, extensions: ExtensionOptions, errors: ConfigErrors): boolean {
  let areTypesRight = true;
  for (const [name, value] of Object.entries(resource as object)) {
    if (value === undefined) continue;
    const schema = isBuiltInOption(name) ? OPTION_SCHEMAS[name as keyof typeof OPTION_SCHEMAS] : undefined;
    if (schema === undefined) areTypesRight = checkExtensionOption(name, value, extensions, errors) && areTypesRight;
    else if (!schema.safeParse(value).success) {
      errors.at(name).report(`must be ${schema.description}`);
      areTypesRight = false;
    }
  }
  if (resource.fields === undefined) {
    errors.at('fields').report('a resource needs fields, such as { title: f.string() }');
    return false;
  }
  const reverseFields = Object.entries(resource.fields ?? {}).filter(([, field]) => field instanceof ReverseRelation);
  for (const [name] of reverseFields)
    errors.at(`field "${name}"`).report('f.reverse() is not stored; move it to the option "relations"');
  const notFields = Object.entries(resource.fields ?? {}).filter(([, field]) => !(field instanceof Field));
  if (anyObject.safeParse(resource.fields).success)
    for (const [name, field] of notFields)
      if (!(field instanceof ReverseRelation))
        errors.at(`field "${name}"`).report('it is not a field; create it with f, such as f.string()');
  return areTypesRight && notFields.length === 0;
}
