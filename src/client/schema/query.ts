import type { AggregateFunction, DateUnit } from '../../declare/aggregate.ts';
import type { CountMode } from '../../declare/service.ts';
import type { FieldName, IncludePath } from './record.ts';
import type { FilterField, Member, RecordAt, ReferenceName, RelationName, TargetKey } from './schema.ts';

type FiltersOf<Api, Key extends keyof Api> = Member<Api[Key], 'filters', Record<never, never>>;

/** The relations that a filter can follow: reverse relations, and references by which lists can be filtered. */
type Followable<Api, Key extends keyof Api> =
  | RelationName<Api, Key>
  | (ReferenceName<Api, Key> & keyof FiltersOf<Api, Key>);

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
export type Where<Api, Key extends keyof Api> = {
  [Path in FilterPath<Api, Key, readonly [1, 2, 3]>]?: FilterAt<Api, Key, Path>;
};

/** The references by which a list can be sorted through: single ones by which it can be filtered. */
type SortReference<Api, Key extends keyof Api> = {
  [Name in ReferenceName<Api, Key> & keyof FiltersOf<Api, Key> & keyof RecordAt<Api, Key>]: NonNullable<
    RecordAt<Api, Key>[Name]
  > extends readonly unknown[]
    ? never
    : Name;
}[ReferenceName<Api, Key> & keyof FiltersOf<Api, Key> & keyof RecordAt<Api, Key>];

type SortPath<Api, Key extends keyof Api, Depth extends readonly unknown[]> =
  | Member<Api[Key], 'sort', never>
  | (Depth extends readonly []
      ? never
      : {
          [Name in SortReference<
            Api,
            Key
          >]: `${Name}.${SortPath<Api, TargetKey<Api, Key, Name>, Deeper<Depth>> & string}`;
        }[SortReference<Api, Key>]);

type Descending<Path> = Path | `-${Path & string}`;

/** A term of `sort`: a field, or a path of references to one; `-` reverses the order. */
export type SortTerm<Api, Key extends keyof Api> = Descending<SortPath<Api, Key, readonly [1, 2]>>;

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

/** What records a query selects, in which order. */
export type Filtered<Api, Key extends keyof Api> = {
  where?: Where<Api, Key> | undefined;
  sort?: readonly SortTerm<Api, Key>[] | SortTerm<Api, Key> | undefined;
} & Search<Api, Key> &
  Deleted<Api, Key>;

/** The query of a list. `After` and `Count` decide what the metadata of the page contains. */
export type ListQuery<
  Api,
  Key extends keyof Api,
  Paths extends IncludePath<Api, Key> = IncludePath<Api, Key>,
  Names extends FieldName<Api, Key> = FieldName<Api, Key>,
  After extends string | undefined = string | undefined,
  Count extends CountMode | undefined = CountMode | undefined,
> = Filtered<Api, Key> &
  Selection<Paths, Names> & {
    limit?: number | undefined;
    page?: number | undefined;
    /** A cursor: the `meta.next` of an earlier page. */
    after?: After;
    /** How the total is counted. */
    count?: Count;
  };

type AggregatesOf<Api, Key extends keyof Api> = Member<Api[Key], 'aggregates', Record<never, never>>;
type Group<Api, Key extends keyof Api> = Member<AggregatesOf<Api, Key>, 'group', never> & string;
type Bucketed<Api, Key extends keyof Api> = Member<AggregatesOf<Api, Key>, 'buckets', never> & string;
type Numbers<Api, Key extends keyof Api> = Member<AggregatesOf<Api, Key>, 'numbers', never> & string;
type Ordered<Api, Key extends keyof Api> = Member<AggregatesOf<Api, Key>, 'ordered', never> & string;

/** A query of aggregates. */
export type ClientAggregateQuery<Api, Key extends keyof Api> = {
  /** The fields whose values form the groups, at most 3. Dates are grouped in buckets: `{ month: 'createdAt' }`. */
  group?: readonly (Group<Api, Key> | { [U in DateUnit]: { readonly [K in U]: Bucketed<Api, Key> } }[DateUnit])[];
  /** Counts the records of each group. Left out: true if the query has no other aggregate. */
  count?: true;
  sum?: readonly Numbers<Api, Key>[];
  avg?: readonly Numbers<Api, Key>[];
  min?: readonly Ordered<Api, Key>[];
  max?: readonly Ordered<Api, Key>[];
  countDistinct?: readonly Group<Api, Key>[];
  where?: Where<Api, Key> | undefined;
  /** The order of the groups: `-count,status` or `sum(hours)`. */
  sort?: string | undefined;
  /** The maximum number of groups: 1 to 1,000. */
  limit?: number | undefined;
  /** The IANA time zone of the date buckets. */
  timeZone?: string | undefined;
} & Search<Api, Key> &
  Deleted<Api, Key>;

/** A query of aggregates without unknown parameters. */
export type ExactAggregateQuery<Query, Allowed> = {
  [K in keyof Query]: K extends keyof Allowed | AggregateFunction ? Query[K] : never;
};
