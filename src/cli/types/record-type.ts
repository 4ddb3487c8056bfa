import type { ResourceFacts } from '../../runtime/openapi/resource-facts.ts';
import type { Schema } from './document.ts';
import { type TypeContext, typeOfSchema, writeMembers, writeProperty } from './json-types.ts';

/** The properties of a JSON Schema. */
export type Properties = Readonly<Record<string, Schema>>;

/** The members of a record that are not fields: they are returned only if a query includes them. */
const includedNamesOf = ({ relations }: ResourceFacts) =>
  new Set(Object.keys(relations).flatMap((name) => [name, `${name}Count`]));

/**
 * Writes the fields of a record as responses contain them.
 *
 * @param typeOfReference returns the type of one value of a reference field
 */
export function writeRecord(
  facts: ResourceFacts,
  context: TypeContext,
  typeOfReference: (field: string) => string,
): string {
  const schema = context.schemas[facts.schemas.record] as { properties: Properties };
  const included = includedNamesOf(facts);
  const fields = Object.entries(schema.properties).filter(([name]) => !included.has(name));
  const typeOfField = (name: string, field: Schema) => {
    if (!Object.hasOwn(facts.references, name)) return typeOfSchema(field, context);
    const single = typeOfReference(name);
    if (field.type !== 'array') return single;
    return single.includes(' ') ? `(${single})[]` : `${single}[]`;
  };
  return writeMembers(
    fields.map(([name, field]) =>
      writeProperty(name, typeOfField(name, field), {
        optional: !facts.always.includes(name),
        description: field.description,
      }),
    ),
  );
}
