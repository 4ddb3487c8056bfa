import type { AggregateFunction, DateUnit } from './declarations.ts';
import type { FilterField, Member, RecordAt, ReferenceName, RelationName, ShownNames, TargetKey } from './schema.ts';

type FiltersOf<Api, Key extends keyof Api> = Member<Api[Key], 'filters', Record<never, never>>;

/** The relations that a filter can follow: reverse relations, and references by which lists can be filtered. */
type Followable<Api, Key extends keyof Api> = {
  [Name in RelationName<Api, Key> | (ReferenceName<Api, Key> & keyof FiltersOf<Api, Key>)]: [
    TargetKey<Api, Key, Name>,
  ] extends [never]
    ? never
    : Name;
}[RelationName<Api, Key> | (ReferenceName<Api, Key> & keyof FiltersOf<Api, Key>)];

type OwnFilter<Api, Key extends keyof Api> = (keyof FiltersOf<Api, Key> & string) | RelationName<Api, Key>;

type Deeper<Depth extends readonly unknown[]> = Depth extends readonly [unknown, ...infer Rest] ? Rest : readonly [];

/** The names of fields, and the paths to fields of related records, over as many relations as `Depth` has items. */
type FilterPath<Api, Key extends keyof Api, Depth extends readonly unknown[]> =
  | OwnFilter<Api, Key>
  | (Depth extends readonly []
      ? never
      : {
          [Name in Followable<Api, Key>]: `${Name}.${FilterPath<Api, TargetKey<Api, Key, Name>, Deeper<Depth>>}`;
        }[Followable<Api, Key>]);

type Operand<Value, Op> = Op extends 'exists' ? boolean : Op extends 'in' | 'nin' | 'all' ? readonly Value[] : Value;

/** The filter of a field: a value, a list of alternatives, null for no value, or operators. */
type FilterValue<Field> = Field extends FilterField
  ?
      | ('eq' extends Field['operators'] ? Field['value'] : never)
      | ('in' extends Field['operators'] ? readonly Field['value'][] : never)
      | ('exists' extends Field['operators'] ? null : never)
      | { [Op in Field['operators']]?: Operand<Field['value'], Op> }
  : never;

type FilterAt<Api, Key extends keyof Api, Path> = Path extends keyof FiltersOf<Api, Key>
  ? FilterValue<FiltersOf<Api, Key>[Path]>
  : Path extends RelationName<Api, Key>
    ? { exists: boolean }
    : Path extends `${infer Name}.${infer Rest}`
      ? FilterAt<Api, TargetKey<Api, Key, Name>, Rest>
      : never;

/**
 * The filters of a list. A path follows references and reverse relations: `{ 'author.name': 'Ada' }`. The types know paths over up to three
 * relations.
 */
export type Where<Api, Key extends keyof Api> =
  FilterPath<Api, Key, readonly [1, 2, 3]> extends infer Paths extends string
    ? { [Path in Paths]?: FilterAt<Api, Key, Path> }
    : never;

/** The references by which a list can be sorted through: single ones by which it can be filtered. */
type SortReference<Api, Key extends keyof Api> = {
  [Name in Followable<Api, Key> & keyof RecordAt<Api, Key>]: NonNullable<
    RecordAt<Api, Key>[Name]
  > extends readonly unknown[]
    ? never
    : Name;
}[Followable<Api, Key> & keyof RecordAt<Api, Key>];

type SortPath<Api, Key extends keyof Api, Depth extends readonly unknown[]> = Depth extends readonly []
  ? Member<Api[Key], 'sort', never>
  :
      | Member<Api[Key], 'sort', never>
      | {
          [Name in SortReference<
            Api,
            Key
          >]: `${Name}.${SortPath<Api, TargetKey<Api, Key, Name>, Deeper<Depth>> & string}`;
        }[SortReference<Api, Key>];

/** A term of `sort`: a field, or a path of references to one; `-` reverses the order. */
export type SortTerm<Api, Key extends keyof Api> =
  SortPath<Api, Key, readonly [1, 2]> extends infer Path extends string ? Path | `-${Path}` : never;

type Search<Api, Key extends keyof Api> =
  Member<Api[Key], 'search', false> extends true
    ? {
        /** The text that the records contain. */
        q?: string | undefined;
      }
    : unknown;

type Deleted<Api, Key extends keyof Api> =
  'restore' extends Member<Api[Key], 'actions', never>
    ? {
        /** Only the deleted records, or also them. */
        deleted?: 'only' | 'with' | undefined;
      }
    : unknown;

/** The parameters with which a record is returned. */
export interface Selection<Paths, Names> {
  /** References and relations to return as records. */
  include?: readonly Paths[] | undefined;
  /** The fields to return, besides `id` and what `include` names. */
  fields?: readonly Names[] | undefined;
}

/** Which records a query selects, and in which order. */
export interface OrderedFilters<Sort, Filters> {
  where?: Filters | undefined;
  sort?: readonly Sort[] | Sort | undefined;
}

/** The parameters of queries that depend on the declaration of the resource. */
export type OptionalParameters<Api, Key extends keyof Api> = Search<Api, Key> & Deleted<Api, Key>;

/** The query of a list. `After` and `Count` decide what the metadata of the page contains. */
export interface ListQueryOf<Paths, Names, After, Count, Sort, Filters>
  extends Selection<Paths, Names>,
    OrderedFilters<Sort, Filters> {
  limit?: number | undefined;
  page?: number | undefined;
  /** A cursor: the `meta.next` of an earlier page. */
  after?: After;
  /** How the total is counted. */
  count?: Count;
}

/** The query of an iteration over a list. */
export interface EachQuery<Paths, Names, Sort, Filters> extends Selection<Paths, Names>, OrderedFilters<Sort, Filters> {
  /** The number of records in a page. */
  limit?: number | undefined;
  /** A cursor after which the iteration begins. */
  after?: string | undefined;
}

type AggregatesOf<Api, Key extends keyof Api> = Member<Api[Key], 'aggregates', Record<never, never>>;

/** A query of aggregates: of the fields `Group` that form groups, dates, numbers, and fields whose values have an order. */
export interface AggregateQueryOf<Group, Dates, Numbers, Ordered, Filters> {
  /** The fields whose values form the groups, at most 3. Dates are grouped in buckets: `{ month: 'createdAt' }`. */
  group?: readonly (Group | { [U in DateUnit]: { readonly [K in U]: Dates } }[DateUnit])[];
  /** Counts the records of each group. Left out: true if the query has no other aggregate. */
  count?: true;
  sum?: readonly Numbers[];
  avg?: readonly Numbers[];
  min?: readonly Ordered[];
  max?: readonly Ordered[];
  countDistinct?: readonly (Group | Ordered)[];
  where?: Filters | undefined;
  /** The order of the groups: `-count,status` or `sum(hours)`. Default: by the terms of `group`. */
  sort?: readonly string[] | string | undefined;
  /** The maximum number of groups: 1 to 1,000. Default 100. */
  limit?: number | undefined;
  /** The IANA time zone of the date buckets. Default `UTC`. */
  timeZone?: string | undefined;
}

/** A query of aggregates of a resource. */
export type AggregateQueryAt<Api, Key extends keyof Api> = AggregateQueryOf<
  ShownNames<Member<AggregatesOf<Api, Key>, 'group', never>>,
  ShownNames<Member<AggregatesOf<Api, Key>, 'buckets', never>>,
  ShownNames<Member<AggregatesOf<Api, Key>, 'numbers', never>>,
  ShownNames<Member<AggregatesOf<Api, Key>, 'ordered', never>>,
  Where<Api, Key>
> &
  OptionalParameters<Api, Key>;

/** A query of aggregates without unknown parameters. */
export type ExactAggregateQuery<Query, Allowed> = {
  [K in keyof Query]: K extends keyof Allowed | AggregateFunction ? Query[K] : never;
};
