import type { CreateInput, RecordOf } from '../declare/infer.ts';
import type { AnyResource, Resource } from '../declare/resource.ts';

/** The names of the resources of an app. */
export type NameIn<R extends readonly AnyResource[]> = R[number]['name'];

/** The declaration with a name. */
type Named<R extends readonly AnyResource[], N extends string> = Extract<R[number], { name: N }>;

/** The values with which a test creates a record: any of them may be left out. */
export type ValuesOf<R extends readonly AnyResource[], N extends string> =
  Named<R, N> extends Resource<string, infer F, infer _> ? Partial<CreateInput<F>> : Record<string, unknown>;

/** A record of the resource with a name. */
export type RecordIn<R extends readonly AnyResource[], N extends string> =
  Named<R, N> extends Resource<string, infer F, infer T> ? RecordOf<F, T> : never;
