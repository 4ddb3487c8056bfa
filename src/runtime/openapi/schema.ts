import type { RecordShape } from '../../declare/route.ts';

/** A part of the OpenAPI document: plain JSON. */
export type Json = Record<string, unknown>;

/** The schema of a record id in a response. */
export const ID_SCHEMA = { type: 'string', pattern: '^[0-9a-f]{24}$', examples: ['65f0c1d2e3a4b5c6d7e8f901'] };

/** The schema of a point in time in a response, ISO 8601. */
export const TIME_SCHEMA = { type: 'string', format: 'date-time' };

/** The sections of the document's components. */
export type Section = 'schemas' | 'responses' | 'parameters' | 'headers';

/** The parts of the OpenAPI document that other parts refer to. Each part is added when it is first referenced. */
export interface Components {
  /** Returns a reference to the schema of a resource's records in one view. Throws for an unknown resource. */
  recordReference(shape: RecordShape): Json;
  /** Reserves a name for a part: the wanted name, with a number if a different part has that name. Equal parts share a name. */
  reserveName(section: Section, wanted: string, part: Json): string;
  /** Stores a part under the name that was reserved for it. */
  setPart(section: Section, name: string, part: Json): void;
  /** Stores a part under a free name, and returns a reference to it. */
  addPart(section: Section, wanted: string, part: Json): Json;
  /** Returns all parts by section, sorted by name. */
  partsBySection(): Json;
}
