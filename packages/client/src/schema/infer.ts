import type { Action, CreateBody, DeclaredFields, MarksOf, Operator, RecordOf, UpdateBody } from './declarations.ts';
import type { KeyOfPath, PluralName } from './plural.ts';
import type { InferredRoutes } from './routes.ts';
import type { Simplify } from './schema.ts';

/** What is read of a resource. */
interface Declared {
  name: string;
  fields: DeclaredFields;
  readonly $facts?: unknown;
}

/** The path of a resource, with its first slash. A path that the compiler does not know counts as the default. */
type PathOf<X> = X extends { name: infer N extends string; readonly $facts?: infer Facts }
  ? NonNullable<Facts> extends { path: infer Path extends string }
    ? string extends Path
      ? `/${PluralName<N>}`
      : Path
    : `/${PluralName<N>}`
  : never;

/** The key of a resource in the client. */
type KeyOf<X> = PathOf<X> extends `/${infer Path}` ? KeyOfPath<Path> : never;

/** The key of the resource with a name. */
type KeyOfName<All extends Declared, Name> = All extends { name: Name } ? KeyOf<All> : never;

/** The keys of resources by their names. */
type KeysByName<All extends Declared> = { [X in All as X['name']]: KeyOf<X> };

/** The names of the fields with a mark that responses can contain. A conditional type, so that errors show the names. */
type Marked<F extends DeclaredFields, Mark> = keyof F extends infer Names extends keyof F
  ? {
      [K in Names]: Mark extends MarksOf<F[K]> ? ('concealed' extends MarksOf<F[K]> ? never : K & string) : never;
    }[Names]
  : never;

/** The names of fields that some viewers do not get. Further fields of users count as such: their names may suggest personal data. */
type Restricted<N, F extends DeclaredFields> = N extends 'user'
  ? Exclude<keyof F, 'name' | 'avatarUrl'>
  : { [K in keyof F]: 'restricted' extends MarksOf<F[K]> ? K : never }[keyof F];

type Concealed<F extends DeclaredFields> = { [K in keyof F]: 'concealed' extends MarksOf<F[K]> ? K : never }[keyof F];

/** A file in a response. */
interface ClientFile {
  id: string;
  /** The name with which it was uploaded, cleaned. */
  name: string;
  /** The media type, determined from the content. */
  type: string;
  bytes: number;
  /** Pixels, of an image field. */
  width?: number;
  /** Pixels, of an image field. */
  height?: number;
  /** A URL that serves the file for a few minutes; absent in deleted records. */
  url?: string;
  /** The URLs of smaller versions, by name. */
  variants?: Readonly<Record<string, string>>;
}

/** The value that sets a file field: the id of an upload, or a file as an upload or a response returned it. */
type FileValue =
  | string
  | {
      id: string;
      /** The token of an upload by a caller who is not signed in. */
      token?: string | undefined;
    };

/** The value of a field in responses. */
type Output<V, M> = 'file' extends M
  ? V extends undefined
    ? V
    : V extends readonly unknown[]
      ? ClientFile[]
      : ClientFile
  : V;

/** The values of a file field: null and undefined stay as they are. */
type Input<V> = V extends readonly unknown[] ? FileValue[] : V extends string | object ? FileValue : V;

type Inputs<B, F extends DeclaredFields> = {
  [K in keyof B]: K extends keyof F ? ('file' extends MarksOf<F[K]> ? Input<B[K]> : B[K]) : B[K];
};

type Outputs<R, F extends DeclaredFields> = { [K in keyof R]: K extends keyof F ? Output<R[K], MarksOf<F[K]>> : R[K] };

/** Whether deleted records can be restored. */
type KeepsDeleted<Facts> = Facts extends { softDelete: infer S } ? (boolean extends S ? false : S) : false;

type ClientRecord<N, F extends DeclaredFields, T extends boolean, Facts> = Simplify<
  Outputs<Omit<RecordOf<F, T>, Concealed<F> | Restricted<N, F>>, F> &
    Partial<Outputs<Pick<RecordOf<F, T>, Exclude<Restricted<N, F>, Concealed<F>> & keyof RecordOf<F, T>>, F>> &
    (KeepsDeleted<Facts> extends true ? { deletedAt?: string } : unknown)
>;

type Equality = 'eq' | 'ne' | 'in' | 'nin' | 'exists';

/** The operators of `filterable()` without operators, by the marks of the field. */
type DefaultOperators<M> = 'list' extends M
  ? 'eq' | 'in' | 'nin' | 'all' | 'exists'
  : 'unfiltered' extends M
    ? never
    : 'opaque' extends M
      ? 'exists'
      : 'ordered' extends M
        ? Equality | 'gt' | 'gte' | 'lt' | 'lte'
        : Equality;

type OperatorsOf<M> =
  | ('filterable' extends M ? DefaultOperators<M> : never)
  | (M extends `filterable:${infer O extends Operator}` ? O : never);

/** The type with which a field is compared. Dates and decimals take what inputs take; a list its items. */
type Compared<X extends { readonly $type: unknown; readonly $input: unknown }, M> = 'list' extends M
  ? X['$input'] extends readonly (infer Item)[]
    ? Item
    : never
  : 'ordered' extends M
    ? X['$input']
    : X['$type'];

type Filters<F extends DeclaredFields> = {
  [K in keyof F as OperatorsOf<MarksOf<F[K]>> extends never ? never : 'concealed' extends MarksOf<F[K]> ? never : K]: {
    value: Compared<F[K], MarksOf<F[K]>>;
    operators: OperatorsOf<MarksOf<F[K]>>;
  };
};

type References<F extends DeclaredFields, All extends Declared> = {
  [K in keyof F as MarksOf<F[K]> extends infer M
    ? 'concealed' extends M
      ? never
      : Extract<M, `to:${string}`> extends never
        ? never
        : K
    : never]: MarksOf<F[K]> extends infer M ? (M extends `to:${infer Target}` ? KeyOfName<All, Target> : never) : never;
};

type Relations<Facts, All extends Declared> = Facts extends { relations: infer Declared }
  ? string extends keyof Declared
    ? Record<never, never>
    : {
        [K in keyof Declared]: Declared[K] extends { readonly target: infer Target; readonly field: string }
          ? KeyOfName<All, Target>
          : never;
      }
  : Record<never, never>;

type Timestamps<T> = [T] extends [false] ? never : 'createdAt' | 'updatedAt';

type OpenedTimestamps<Facts> = Facts extends { aggregates: { timestamps: readonly (infer Name)[] } } ? Name : never;

/** Whether the option `aggregates` is declared: of a type that is inferred from a declaration, no member is optional. */
type HasAggregateOption<Facts> = Facts extends { aggregates: infer A }
  ? A extends { timestamps: unknown }
    ? true
    : 'timestamps' extends keyof A
      ? false
      : true
  : false;

type Aggregates<F extends DeclaredFields, Facts> =
  | Marked<F, 'aggregatable'>
  | OpenedTimestamps<Facts> extends infer Name
  ? {
      group: Exclude<Name, Marked<F, 'date'> | 'createdAt' | 'updatedAt'>;
      buckets: Name & (Marked<F, 'date'> | 'createdAt' | 'updatedAt');
      numbers: Name & Exclude<Marked<F, 'ordered'>, Marked<F, 'date'>>;
      // With a minimum group size, the server refuses `min` and `max`.
      ordered: Facts extends { aggregates: { minGroupSize: number } }
        ? never
        : Name & (Marked<F, 'ordered'> | 'createdAt' | 'updatedAt');
    }
  : never;

/** The CRUD actions of a resource by its option `crud`. */
type CrudOf<Facts> = Facts extends { crud: infer C }
  ? C extends readonly (infer One extends Action)[]
    ? One
    : false extends C
      ? true extends C
        ? Action
        : never
      : Action
  : Action;

type ActionsOf<F extends DeclaredFields, Facts> =
  | CrudOf<Facts>
  | (KeepsDeleted<Facts> extends true ? ('delete' extends CrudOf<Facts> ? 'restore' : never) : never)
  | (Facts extends { batch: false }
      ? never
      : CrudOf<Facts> & ('create' | 'update' | 'delete') extends never
        ? never
        : 'batch')
  | (HasAggregateOption<Facts> extends true
      ? 'aggregate'
      : Marked<F, 'aggregatable'> extends never
        ? never
        : 'aggregate');

/** The schema of a resource. `Extra`: fields that extensions add to users. */
type SchemaOf<X, All extends Declared, Extra> = X extends {
  name: infer N;
  fields: infer Own extends DeclaredFields;
  timestamps?: infer T extends boolean;
  readonly $facts?: infer Facts;
}
  ? (N extends 'user' ? Own & Extra : Own) extends infer F extends DeclaredFields
    ? {
        path: PathOf<X>;
        actions: ActionsOf<F, Facts>;
        record: ClientRecord<N, F, T, Facts>;
        create: Simplify<Inputs<CreateBody<F>, F>>;
        update: Simplify<Inputs<UpdateBody<F>, F>>;
        filters: Filters<F>;
        sort: Marked<F, 'sortable'> | Timestamps<T>;
        search: Marked<F, 'searchable'> extends never ? false : true;
        references: References<F, All>;
        relations: Relations<Facts, All>;
        populated: Marked<F, 'populated'>;
        unique: Marked<F, 'unique'>;
        files: Marked<F, 'file'>;
        aggregates: Aggregates<F, Facts>;
        routes: InferredRoutes<Facts, KeysByName<All>>;
      }
    : never
  : never;

/** What the extensions of an app add, as a union. */
type AdditionsOf<A> = A extends { readonly $additions?: infer Added } ? NonNullable<Added> : never;

type AddedResource<Added> = Added extends { resource: infer R } ? R : never;

type ResourcesOf<A> =
  | (A extends { readonly $resources?: infer R } ? NonNullable<R> : never)
  | AddedResource<AdditionsOf<A>>;

/** The fields that an extension adds to users; never if it adds none that the compiler knows. */
type AddedFields<Added> = Added extends { userFields: infer F } ? (string extends keyof F ? never : F) : never;

/** The intersection of the members of a union; unknown for never. */
type Intersection<U> = (U extends unknown ? (given: U) => void : never) extends (given: infer All) => void
  ? All
  : never;

type UserFieldsOf<A> = Intersection<AddedFields<AdditionsOf<A>>>;

/** Stands for an API whose types cannot be read. The compiler prints the reason as the only resource that there is. */
type Unreadable<Reason extends string> = { [Why in Reason]: { path: string; actions: never; record: object } };

type IsAny<T> = 0 extends 1 & T ? true : false;

/** The schema of the resources of an app; unknown if the compiler does not know their names. */
type SchemaOfResources<R extends Declared, Extra> = string extends R['name']
  ? unknown
  : { [X in R as KeyOf<X>]: SchemaOf<X, R, Extra> };

/** @typeParam R what an app says about its resources */
type SchemaOfApp<R, Extra> = [R] extends [Declared]
  ? SchemaOfResources<R, Extra>
  : Unreadable<'This client cannot read the types of the app: install the same version of belfry and of @belfry/client'>;

/**
 * The schema of an API: of an app, of a function that creates an app, or of an interface that `npx belfry types` wrote. A type that is neither, and
 * `any`, which the compiler takes for a type that it does not find, lead to an API whose only resource is named like the reason.
 *
 * @example type Api = ApiOf<typeof app>
 */
export type ApiOf<A> =
  IsAny<A> extends true
    ? Unreadable<'The type of the app is any: the compiler does not find it, or not the package belfry of the server'>
    : A extends (...given: never) => infer Made
      ? ApiOf<Awaited<Made>>
      : '$resources' extends keyof A
        ? SchemaOfApp<ResourcesOf<A>, UserFieldsOf<A>>
        : unknown extends A
          ? A
          : A extends { [Key in keyof A]: { path: string } }
            ? A
            : Unreadable<'This type is neither an app nor what `npx belfry types` writes'>;
