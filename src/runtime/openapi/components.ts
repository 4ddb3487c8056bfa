import type { SentEvent } from '../../declare/events.ts';
import type { RecordShape, RecordView } from '../../declare/record-shape.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { pascalCase } from './operation-ids.ts';
import { recordSchema } from './record-schemas.ts';
import { type Json, shapeSchema } from './schema.ts';

const ANSWER = { '2XX': { description: 'It was received. Any other answer, or none in time, is a failure.' } };

function operationIdFor(name: string, taken: ReadonlySet<string>): string {
  const wanted = `on${pascalCase(name)}`;
  return taken.has(wanted) ? `${wanted}Event` : wanted;
}

/**
 * The `webhooks` of the document (https://spec.openapis.org/oas/v3.1.1.html#oas-webhooks): what the app sends, by the names of the
 * events.
 *
 * @param taken operationIds of the routes
 */
export function sentEvents(events: readonly SentEvent[], taken: ReadonlySet<string>, components: Components): Json {
  const items = events.map(({ name, summary, headers, data, body, tags }) => {
    const parameters = Object.entries(headers).map(([header, description]) =>
      components.named('parameters', pascalCase(header), {
        name: header,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      }),
    );
    const schema = body(shapeSchema(data, 'output', `${pascalCase(name)}Data`, components));
    const operation = {
      operationId: operationIdFor(name, taken),
      summary,
      tags,
      security: [],
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: ANSWER,
    };
    return [name, { post: operation }];
  });
  return Object.fromEntries(items);
}

type Section = 'schemas' | 'responses' | 'parameters' | 'headers';

const SUFFIX: Record<RecordView, string> = {
  read: '',
  create: 'Create',
  update: 'Update',
  register: 'Register',
};

/** The parts of the document that others refer to: each is there once something refers to it. */
export interface Components {
  /** Refers to the schema of a resource's records. Throws for an unknown resource. */
  record(shape: RecordShape): Json;
  /** A name for a part: the wanted one, with a number behind it when another part has that. The same part gets the same. */
  reserve(section: Section, wanted: string, part: Json): string;
  /** Puts a part under a name that was reserved for it. */
  set(section: Section, name: string, part: Json): void;
  /** Puts a part under a name that is free, and refers to it. */
  named(section: Section, wanted: string, part: Json): Json;
  /** All of them, by section, in the order of their names. */
  all(): Json;
}

function refer(section: Section, name: string): Json {
  return { $ref: `#/components/${section}/${name}` };
}

/** Names for the views of all resources. What records are called comes first: `post-create` is PostCreate, whatever `post` has. */
function recordNames(resources: readonly CompiledResource[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  for (const view of Object.keys(SUFFIX) as RecordView[]) {
    for (const { name } of resources) {
      const free = freeName(pascalCase(name) + SUFFIX[view], (one) => taken.has(one));
      taken.add(free);
      names.set(`${name}/${view}`, free);
    }
  }
  return names;
}

function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  if (!isTaken(wanted)) return wanted;
  for (let n = 2; ; n++) if (!isTaken(wanted + n)) return wanted + n;
}

/** @param unknownFields whether bodies may hold more than what is declared */
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
  const names = recordNames(resources);
  const ofRecords = new Set(names.values());
  /** What each part was when its name was reserved. */
  const contents = new Map<string, string>();
  const { schemas } = sections;

  const components: Components = {
    record({ resource: of, view }) {
      const resource = byName.get(of);
      if (resource === undefined) throw new Error(`there is no resource "${of}"`);
      const name = names.get(`${of}/${view}`)!;
      if (!schemas.has(name)) {
        // Taken before it is made: records refer to one another in circles.
        schemas.set(name, {});
        schemas.set(name, recordSchema(resource, view, { unknownFields, record: components.record }));
      }
      return refer('schemas', name);
    },
    reserve(section, wanted, part) {
      const content = JSON.stringify(part);
      const isOther = (name: string) => {
        const key = `${section}/${name}`;
        return (section === 'schemas' && ofRecords.has(name)) || (contents.has(key) && contents.get(key) !== content);
      };
      const name = freeName(wanted, isOther);
      contents.set(`${section}/${name}`, content);
      return name;
    },
    set(section, name, part) {
      sections[section].set(name, part);
    },
    named(section, wanted, part) {
      const name = components.reserve(section, wanted, part);
      sections[section].set(name, part);
      return refer(section, name);
    },
    all() {
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
