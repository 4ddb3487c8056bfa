import type { RecordShape } from '../../declare/record-shape.ts';

/** A part of the document: plain JSON. */
export type Json = Record<string, unknown>;

/** An id in an answer. */
export const ID_SCHEMA = { type: 'string', pattern: '^[0-9a-f]{24}$', examples: ['65f0c1d2e3a4b5c6d7e8f901'] };

/** A point in time in an answer. */
export const TIME_SCHEMA = { type: 'string', format: 'date-time' };

/** The sections of the document's components. */
export type Section = 'schemas' | 'responses' | 'parameters' | 'headers';

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
