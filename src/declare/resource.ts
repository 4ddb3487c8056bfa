import type { Request } from 'express';
import type { AggregateOptions } from './aggregate.ts';
import type { Constraint, ConstraintBuilder } from './constraint.ts';
import type { Deprecation } from './deprecation.ts';
import type { Fields } from './field.ts';
import type {
  CreateBody,
  CreateInput,
  CreateValues,
  RecordOf,
  UpdateBody,
  UpdateInput,
  UpdateValues,
} from './infer.ts';
import { normalizeResourceName, type ResourceName } from './naming.ts';
import type { Policy, RecordFilter, Viewer } from './policy.ts';
import type { PushSender } from './push.ts';
import type { ReverseRelation } from './relation.ts';
import type { ResourceIcon } from './resource-icon.ts';
import type { Anything, Route, RouteBuilder } from './route.ts';
import type { Senders } from './senders.ts';
import type { CountMode, RecordService, Services } from './service.ts';

/** The actions of a resource that have a route and a policy. */
export const ACTIONS = ['list', 'read', 'create', 'update', 'delete'] as const;

/** An action of a resource. */
export type Action = (typeof ACTIONS)[number];

/** A service scope filter: for the caller, only records that meet it exist. */
export type ScopeFilter = RecordFilter;

/** The arguments of a scope function. */
export interface ScopeArguments {
  /** The caller; undefined if nobody is signed in. */
  user: Viewer | undefined;
  /** Undefined without a request: webhooks, realtime, code that acts for a user. */
  req: Request | undefined;
  /** The service of a resource, with system privilege unless a call says otherwise. */
  service: Services;
}

/** The context of a hook. */
export interface HookContext extends Senders {
  /** The user who makes the change, whatever its privilege: inside a request, the caller. */
  user: Viewer | undefined;
  req: Request | undefined;
  /** The privilege of the change. With `user`, policies and field rules have allowed the change. */
  as: 'system' | 'user';
  /** Whether a deleted record is being restored: then `beforeCreate` and `afterCreate` run unless the resource has hooks for restores. */
  restored: boolean;
  service: Services;
  /** `app.push`. Pushes that a `before` hook enqueues are part of the change and are sent after the commit. */
  push: PushSender;
}

/**
 * Code that runs around writes. A `before` hook refuses the write by throwing `ApiError` (returning false is an error), and may return
 * changed values.
 *
 * @example const hooks: Hooks<typeof fields> = { beforeCreate: (values) => ({ ...values, slug: slugOf(values.title) }) }
 */
export interface Hooks<F extends Fields, T extends boolean = true> {
  /** Runs after validation, before the record is written. May return changed values. */
  beforeCreate?(values: CreateValues<F>, ctx: HookContext): Anything;
  /** Runs after the commit. An error is logged, and the change stands. */
  afterCreate?(record: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs after validation, before the record is written. May return other changes. */
  beforeUpdate?(changes: UpdateValues<F>, record: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs after the commit. An error is logged, and the change stands. */
  afterUpdate?(record: RecordOf<F, T>, previous: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs before the record is deleted. */
  beforeDelete?(record: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs after the commit. An error is logged, and the change stands. */
  afterDelete?(record: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs before a deleted record is restored, instead of `beforeCreate`. May return changes of the record, which are validated. */
  beforeRestore?(record: RecordOf<F, T>, ctx: HookContext): Anything;
  /** Runs after the commit of a restore, instead of `afterCreate`. An error is logged, and the change stands. */
  afterRestore?(record: RecordOf<F, T>, ctx: HookContext): Anything;
}

/** Resource options that extensions add: see `resourceOptions` of an extension. */
// biome-ignore lint/suspicious/noEmptyInterface: extensions add members to it by declaration merging
export interface ExtensionResourceOptions {}

/** The names that constraints can use: the fields, and the times of a record. */
type ConstrainedName<F extends Fields> = Extract<keyof F, string> | 'createdAt' | 'updatedAt';

/** The declaration of a resource besides its name. */
export interface ResourceOptions<F extends Fields, T extends boolean = boolean> extends ExtensionResourceOptions {
  /** The fields by name, created with `f`. */
  fields: F;
  /**
   * Reverse relations by name, created with `f.reverse`. They are not stored: lists can filter by them, and `include` returns their records.
   *
   * @example relations: { comments: f.reverse('comment', 'post') }
   */
  relations?: Record<string, ReverseRelation>;
  /**
   * What names the records for people, in the console: a field, or a template of fields in braces. Default: a field with a usual name, such as
   * `name` or `title`, else the first required text.
   *
   * @example title: '{firstName} {lastName}'
   */
  title?: Extract<keyof F, string> | `${string}{${Extract<keyof F, string>}}${string}`;
  /**
   * The names of one record and of several for people, in the console. Default: the name of the resource as words, and its plural.
   *
   * @example labels: { one: 'Match day', many: 'Match days' }
   */
  labels?: { one?: string; many?: string };
  /** The icon of the records in the console. Default: a neutral one. */
  icon?: ResourceIcon;
  /** What the records are, for the OpenAPI document. */
  description?: string;
  /** The policies by action. `reference`: which viewers see a record that is expanded in another record. */
  policies?: Partial<Record<Action | 'reference', Policy>>;
  /** Which records exist for a caller, on every channel. */
  scope?: (args: ScopeArguments) => ScopeFilter | undefined | Promise<ScopeFilter | undefined>;
  hooks?: Hooks<F, T>;
  /**
   * Routes in addition to the CRUD routes; their paths are relative to `path`.
   *
   * @example routes: (route) => [route.post('/:id/publish', { policy: 'owner' }, ({ doc }) => publish(doc))]
   */
  routes?: (route: RouteBuilder<RecordOf<F, T>>) => readonly Route[];
  /** URL path below /api. Default `/` + plural kebab-case name. */
  path?: string;
  /** Table name. Default plural snake_case name. */
  collection?: string;
  /** Former names (or table names) of the resource, latest first: migrations rename its table, and stored events and deliveries stay readable. */
  renamedFrom?: string | readonly string[];
  /** Whether records carry createdAt and updatedAt. Default true. */
  timestamps?: T;
  /** Default `-createdAt`, or `_id` without timestamps. */
  defaultSort?: string;
  /** `count`: how lists count their total if a request does not say. Default `settings.pagination.count`. */
  pagination?: { count?: CountMode };
  /**
   * Opens `GET <path>/aggregate`, as `aggregatable()` of a field does: `{}` lets clients count records, `timestamps` also group them by time.
   *
   * @example aggregates: { timestamps: ['createdAt'] }
   */
  aggregates?: AggregateOptions;
  /**
   * Responses announce that clients should stop using the routes of the resource, all or by action: `{ delete: { since: '2026-11-01' } }`.
   * A custom route with a deprecation of its own announces that one.
   */
  deprecated?: Deprecation | Partial<Record<Action, Deprecation>>;
  /** Which CRUD routes exist. Default all. */
  crud?: boolean | readonly Action[];
  /**
   * The route `POST <path>/batch`, which performs many creates, updates, upserts and deletions in one request. false: no such route.
   * `max`: the maximum number of operations, by default 1,000. Default: true if `crud` has a route that changes records.
   */
  batch?: boolean | { max?: number };
  /** Indexes in addition to the fields' own; `-` before a field sorts in descending order. */
  indexes?: readonly { fields: readonly string[]; unique?: boolean }[];
  /**
   * Rules that Postgres enforces for all records, whichever requests write at the same time.
   *
   * @example constraints: (c) => [c.check('endsAt > startsAt', 'The end must be after the start')]
   */
  constraints?: (constraint: ConstraintBuilder<ConstrainedName<F>>) => readonly Constraint[];
  /** The owner field if no field is marked `owner()`; `_id` means that a record owns itself. */
  owner?: string;
  /** false excludes the resource from webhooks. */
  webhooks?: boolean;
}

/** The options of a resource that the types of clients need, each as it is written in the declaration; a wide type if it is left out. */
export interface ClientFacts {
  path: string;
  crud: boolean | readonly Action[];
  batch: boolean | { max?: number };
  softDelete: boolean;
  aggregates: AggregateOptions;
  relations: Record<string, ReverseRelation>;
  routes: readonly Route[];
}

/** The options that `ClientFacts` are inferred from. `Builder` creates custom routes. */
export interface FactOptions<Builder, Path, Crud, Batch, Soft, Aggregates, Relations, Routes> {
  path?: Path;
  crud?: Crud;
  batch?: Batch;
  softDelete?: Soft;
  aggregates?: Aggregates;
  relations?: Relations;
  routes?: (route: Builder) => Routes;
}

/** The facts that `FactOptions` declare. */
export interface FactsOf<Path, Crud, Batch, Soft, Aggregates, Relations, Routes> {
  path: Path;
  crud: Crud;
  batch: Batch;
  softDelete: Soft;
  aggregates: Aggregates;
  relations: Relations;
  routes: Routes;
}

/** A declared resource: plain data that `createApp` compiles. `T` is its option `timestamps`, `X` what clients need of other options. */
export interface Resource<
  N extends string = string,
  F extends Fields = Fields,
  T extends boolean = boolean,
  X extends Partial<ClientFacts> = Partial<ClientFacts>,
> extends ResourceOptions<F, T> {
  /** Normalised: kebab-case. */
  name: N;
  /** Type-level only. */
  readonly $service?: Service<F, T>;
  /** Type-level only. */
  readonly $facts?: X;
}

/** A resource of any fields. */
// biome-ignore lint/suspicious/noExplicitAny: stands for a resource of any fields
export type AnyResource = Resource<string, any, any, any>;

/** Former names (or table names) of a resource, latest first. */
export function formerNames({ renamedFrom }: AnyResource): readonly string[] {
  return typeof renamedFrom === 'string' ? [renamedFrom] : (renamedFrom ?? []);
}

/** The deprecation of all routes of a resource; undefined if it has none, or only deprecated actions. */
export function deprecationOfAllRoutes({ deprecated }: Pick<AnyResource, 'deprecated'>): Deprecation | undefined {
  return deprecated !== undefined && 'since' in deprecated ? deprecated : undefined;
}

/** The deprecation of the routes of an action. */
export function deprecationOfAction(
  resource: Pick<AnyResource, 'deprecated'>,
  action: Action,
): Deprecation | undefined {
  const { deprecated } = resource;
  return deprecationOfAllRoutes(resource) ?? (deprecated as Partial<Record<Action, Deprecation>> | undefined)?.[action];
}

/**
 * Declares a resource. `createApp` reports all configuration errors in it at once.
 *
 * @param name the name in the singular: `post` is served at `/api/posts`
 * @example defineResource('post', { fields: { title: f.string().required() }, policies: { list: 'public', read: 'public' } })
 */
export function defineResource<
  const N extends string,
  F extends Fields,
  T extends boolean = true,
  const Path extends string = string,
  const Crud extends ClientFacts['crud'] = boolean,
  const Batch extends ClientFacts['batch'] = boolean,
  const Soft extends boolean = boolean,
  const Aggregates extends AggregateOptions = AggregateOptions,
  const Relations extends ClientFacts['relations'] = ClientFacts['relations'],
  const Routes extends readonly Route[] = readonly Route[],
>(
  name: N,
  options: ResourceOptions<F, T> &
    FactOptions<RouteBuilder<RecordOf<F, T>>, Path, Crud, Batch, Soft, Aggregates, Relations, Routes>,
): Resource<
  ResourceName<N>,
  NoInfer<F>,
  NoInfer<T>,
  FactsOf<
    NoInfer<Path>,
    NoInfer<Crud>,
    NoInfer<Batch>,
    NoInfer<Soft>,
    NoInfer<Aggregates>,
    NoInfer<Relations>,
    NoInfer<Routes>
  >
> {
  return { ...options, name: normalizeResourceName(name) as ResourceName<N> };
}

/**
 * The records of one resource, for code. Every method throws the `ApiError` that the HTTP route would respond with. `T` is the resource's
 * option `timestamps`.
 */
export type Service<F extends Fields, T extends boolean = true> = RecordService<
  CreateInput<F>,
  UpdateInput<F>,
  RecordOf<F, T>,
  CreateBody<F>,
  UpdateBody<F>
>;
