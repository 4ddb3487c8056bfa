import type { Access, AccessRule } from './access.ts';

/** What happens to a referring record when the target is deleted. */
export type OnDelete = 'cascade' | 'restrict' | 'setNull' | 'remove' | 'keep';

/** A reference from one resource to another. */
export interface MappedReference {
  field: string;
  target: string;
  /** Whether the field holds a list of references. */
  many: boolean;
  onDelete: OnDelete;
}

/** A resource on the map, with what the description of the app does not contain. */
export interface MappedResource {
  name: string;
  references: MappedReference[];
  indexes: { fields: string[]; unique: boolean }[];
  hooks: string[];
  /** The names of the events that are sent to webhook endpoints. */
  events: string[];
  access: Access;
  /** The rule for records that are expanded in other records. */
  reference: AccessRule;
  /** The other routes of the resource. `path` is below `/api`. */
  routes: { method: string; path: string; access: AccessRule }[];
}

/** What `GET /console/api/reference/map` returns. */
export interface ResourceMap {
  /** The roles that users can have. */
  roles: string[];
  resources: MappedResource[];
}
