import type { RecordView } from '../../declare/route.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { pascalCase } from './documented-routes.ts';
import { recordSchema } from './record-schemas.ts';
import type { Components, Json, Section } from './schema.ts';
import { shapeSchema } from './shape.ts';

const SUFFIX: Record<RecordView, string> = {
  read: '',
  create: 'Create',
  update: 'Update',
  register: 'Register',
};

function componentReference(section: Section, name: string): Json {
  return { $ref: `#/components/${section}/${name}` };
}

/**
 * Returns the schema names of all resources' views, by `<resource>/<view>`. Names of records take precedence: `post-create` is
 * PostCreate, whatever views `post` has.
 */
function assignRecordSchemaNames(resources: readonly CompiledResource[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const view of Object.keys(SUFFIX) as RecordView[]) {
    for (const { name } of resources) {
      const free = findFreeName(pascalCase(name) + SUFFIX[view], (one) => taken.has(one));
      taken.add(free);
      names.set(`${name}/${view}`, free);
    }
  }
  return names;
}

function findFreeName(wanted: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(wanted)) return wanted;
  for (let n = 2; ; n++) if (!isTaken(wanted + n)) return wanted + n;
}

/** Creates the components of an OpenAPI document, empty at first. @param unknownFields whether bodies may contain other fields */
export function createComponents(
  resources: readonly CompiledResource[],
  unknownFields: 'reject' | 'strip',
): Components {
  const sections: Record<Section, Map<string, Json>> = {
    schemas: new Map(),
    responses: new Map(),
    parameters: new Map(),
    headers: new Map(),
  };
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  const names = assignRecordSchemaNames(resources);
  const recordSchemaNames = new Set(names.values());
  /** The JSON text that each part had when its name was reserved, by `<section>/<name>`. */
  const contents = new Map<string, string>();
  const { schemas } = sections;

  const components: Components = {
    recordReference({ resource: resourceName, view }) {
      const resource = byName.get(resourceName);
      if (resource === undefined)
        throw new Error(`a route declares a record of the unknown resource "${resourceName}"`);
      const name = names.get(`${resourceName}/${view}`)!;
      if (!schemas.has(name)) {
        // Reserve the name first, because records can refer to one another in cycles.
        schemas.set(name, {});
        schemas.set(
          name,
          recordSchema(resource, view, {
            unknownFields,
            record: components.recordReference,
            // Other libraries may not describe their schemas; then the values may be any JSON.
            content: (schema, direction, part) =>
              shapeSchema(schema, direction, pascalCase(resourceName) + part, components, {}),
          }),
        );
      }
      return componentReference('schemas', name);
    },
    reserveName(section, wanted, part) {
      const content = JSON.stringify(part);
      const isTakenByAnother = (name: string) => {
        const key = `${section}/${name}`;
        return (
          (section === 'schemas' && recordSchemaNames.has(name)) || (contents.has(key) && contents.get(key) !== content)
        );
      };
      const name = findFreeName(wanted, isTakenByAnother);
      contents.set(`${section}/${name}`, content);
      return name;
    },
    setPart(section, name, part) {
      sections[section].set(name, part);
    },
    addPart(section, wanted, part) {
      const name = components.reserveName(section, wanted, part);
      sections[section].set(name, part);
      return componentReference(section, name);
    },
    partsBySection() {
      const filled = Object.entries(sections).filter(([, parts]) => parts.size > 0);
      return Object.fromEntries(
        filled.map(([section, parts]) => [
          section,
          Object.fromEntries([...parts].sort(([a], [b]) => (a < b ? -1 : 1))),
        ]),
      );
    },
  };
  return components;
}
