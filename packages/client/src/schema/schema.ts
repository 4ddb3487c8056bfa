import type { Operator } from './declarations.ts';

/** A field by which lists can be filtered: the type of its values, and its operators. */
export interface FilterField {
  value: unknown;
  operators: Operator;
}

/** What a custom route takes and returns. */
export interface RouteSchema {
  /** The names of the parameters in its path. */
  params: string;
  input: unknown;
  query: unknown;
  output: unknown;
}

/** The routes of a resource, besides its custom ones. */
export type ResourceAction = 'list' | 'read' | 'create' | 'update' | 'delete' | 'restore' | 'batch' | 'aggregate';

/**
 * What a client knows about a resource. Derived from the declarations of an app, or written by `npx belfry types`. Members that are left out
 * are empty.
 */
export interface ResourceSchema {
  /** Below `/api`. */
  path: string;
  actions: ResourceAction;
  /** A record in responses; references are ids. */
  record: object;
  /** The body of a create. */
  create: object;
  /** The body of an update. */
  update: object;
  /** The filterable fields by name. */
  filters?: Record<string, FilterField>;
  /** The names of the fields by which lists can be sorted. */
  sort?: string;
  /** Whether lists can be searched. */
  search?: boolean;
  /** The key of the referenced resource, by the field that holds the reference or references. */
  references?: Record<string, string>;
  /** The key of the referring resource, by the name of the reverse relation. */
  relations?: Record<string, string>;
  /** The names of the references that every response contains as records. */
  populated?: string;
  /** The names of the fields that identify a record in an upsert. */
  unique?: string;
  /** The names of the fields that hold files. */
  files?: string;
  /** The fields of aggregates: those that form groups, dates in buckets, numbers, and values that have an order. */
  aggregates?: { group?: string; buckets?: string; numbers?: string; ordered?: string };
  /** The custom routes by name: `POST /:id/publish`. */
  routes?: Record<string, RouteSchema>;
}

/** A member of a schema; `Empty` if the schema leaves it out. */
export type Member<S, Name extends PropertyKey, Empty> = S extends { [N in Name]: infer Value } ? Value : Empty;

/** A record of a resource; loosely typed if the API does not contain the resource. */
export type RecordAt<Api, Key> = Key extends keyof Api
  ? Member<Api[Key], 'record', { id: string }>
  : { id: string; [field: string]: unknown };

/** The names of a resource's references. */
export type ReferenceName<Api, Key extends keyof Api> = keyof Member<Api[Key], 'references', Record<never, never>> &
  string;

/** The names of a resource's reverse relations. */
export type RelationName<Api, Key extends keyof Api> = keyof Member<Api[Key], 'relations', Record<never, never>> &
  string;

/** The key of the resource to which a reference or reverse relation leads; never if the API does not contain it. */
export type TargetKey<Api, Key extends keyof Api, Name> = (Name extends ReferenceName<Api, Key>
  ? Member<Api[Key], 'references', never>[Name]
  : Name extends RelationName<Api, Key>
    ? Member<Api[Key], 'relations', never>[Name]
    : never) &
  keyof Api;

/** Shows a computed type as one object, without the names of the types that computed it, so that errors are readable. */
export type Simplify<T> = T extends infer Computed ? { [K in keyof Computed]: Computed[K] } : never;

/** Shows computed names as a union of texts. */
export type ShownNames<T> = T extends infer Name extends string ? Name : never;
