import type { Member, RecordAt, ReferenceName, RelationName, Simplify, TargetKey } from './schema.ts';

/** The names with which a path can continue that has passed the resources `Passed`. */
type Continued<Api, Key extends keyof Api, Passed> = {
  [Name in ReferenceName<Api, Key> | RelationName<Api, Key>]: TargetKey<Api, Key, Name> extends Passed
    ? never
    : Name | (Name extends RelationName<Api, Key> ? `${Name}Count` : never);
}[ReferenceName<Api, Key> | RelationName<Api, Key>];

type Third<Api, Key extends keyof Api, Passed> = Continued<Api, Key, Passed>;

type Second<Api, Key extends keyof Api, Passed> =
  | Continued<Api, Key, Passed>
  | {
      [Name in Continued<Api, Key, Passed> & (ReferenceName<Api, Key> | RelationName<Api, Key>)]: `${Name}.${Third<
        Api,
        TargetKey<Api, Key, Name>,
        Passed | TargetKey<Api, Key, Name>
      >}`;
    }[Continued<Api, Key, Passed> & (ReferenceName<Api, Key> | RelationName<Api, Key>)];

/**
 * What `include` takes: references, reverse relations and their counts, and paths of up to three of them. After its first part, a path does
 * not return to a resource.
 */
export type IncludePath<Api, Key extends keyof Api> =
  // A conditional type, so that errors show the paths.
  ReferenceName<Api, Key> | RelationName<Api, Key> extends infer Names extends
    | ReferenceName<Api, Key>
    | RelationName<Api, Key>
    ?
        | Names
        | `${RelationName<Api, Key>}Count`
        | {
            [Name in Names]: `${Name}.${Second<Api, TargetKey<Api, Key, Name>, Key | TargetKey<Api, Key, Name>>}`;
          }[Names]
    : never;

/** What `fields` takes. */
export type FieldName<Api, Key extends keyof Api> = Exclude<keyof RecordAt<Api, Key> & string, 'id'>;

type Head<Path> = Path extends `${infer Name}.${string}` ? Name : Path;
type Tail<Path, Name extends string> = Path extends `${Name}.${infer Rest}` ? Rest : never;

/** The value of a reference: the record, or the id if the viewer may not see the record or it no longer exists. */
type Reference<Value, Expanded> = Value extends undefined
  ? Value
  : Value extends readonly (infer Id)[]
    ? (Expanded | Id)[]
    : Expanded | Value;

/** The included records of a reverse relation: the first ones in the order of their resource. */
export interface RelatedRecords<Data> {
  data: Data[];
  meta: {
    /** The maximum number of records. */
    limit: number;
    /** Whether there are further records. */
    more: boolean;
  };
}

/**
 * A record with the references and relations of `Paths`, and only the fields `Names` (all, if never). A relation is absent if the viewer may
 * not list its resource.
 */
type Included<Api, Key extends keyof Api, Paths extends string, Names extends string> = {
  [P in keyof RecordAt<Api, Key> as [Names] extends [never]
    ? P
    : P extends 'id' | Names | Head<Paths>
      ? P
      : never]: P extends Head<Paths> & ReferenceName<Api, Key>
    ? Reference<RecordAt<Api, Key>[P], Expanded<Api, TargetKey<Api, Key, P>, Tail<Paths, P>>>
    : RecordAt<Api, Key>[P];
} & {
  [P in Head<Paths> & RelationName<Api, Key>]?: RelatedRecords<Expanded<Api, TargetKey<Api, Key, P>, Tail<Paths, P>>>;
} & { [P in Head<Paths> & `${RelationName<Api, Key>}Count`]?: number };

/** A record inside another one; loosely typed if the API does not contain its resource. */
type Expanded<Api, Key extends keyof Api, Paths extends string> = [Key] extends [never]
  ? { id: string; [field: string]: unknown }
  : [Paths] extends [never]
    ? RecordAt<Api, Key>
    : Simplify<Included<Api, Key, Paths, never>>;

type Populated<Api, Key extends keyof Api, Names> = [Names] extends [never]
  ? Member<Api[Key], 'populated', never>
  : Member<Api[Key], 'populated', never> & Names;

/**
 * A record in a response.
 *
 * @typeParam Paths the paths of `include`; never: none
 * @typeParam Names the names of `fields`; never: all fields
 */
export type ClientRecord<
  Api,
  Key extends keyof Api,
  Paths extends string = never,
  Names extends string = never,
> = Simplify<Included<Api, Key, Paths | (Populated<Api, Key, Names> & string), Names>>;
