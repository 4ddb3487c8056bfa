import type { PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import type { EncryptedColumn } from '../platform/data/crypto/encrypted-column.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import type { Finding } from '../platform/observability/finding.ts';
import type { Backlog } from '../platform/work/leased-work/backlog.ts';
import type { OutboxConsumer } from '../platform/work/outbox/consumer.ts';
import type { Sweep } from '../platform/work/outbox/relay.ts';
import type { RunningWorker } from '../platform/work/queues/queues.ts';
import type { AccountPanel, AccountSection } from './account-panel.ts';
import type { EmailChangeStep, SecondFactor } from './account-power.ts';
import type { Accounts, ConfirmStep, SignInMethod, SignInStep } from './accounts.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Authenticator } from './authenticator.ts';
import type { ConsoleTab } from './console-tab.ts';
import type { SentEvent } from './events.ts';
import type { Fields } from './field.ts';
import type { Host, UserData } from './host.ts';
import type { OrganisationAccess } from './organisation-access.ts';
import type { CompiledPolicy, Policy } from './policy.ts';
import type { ProcessRole } from './process-role.ts';
import type { AnyResource, ExtensionResourceOptions } from './resource.ts';
import type { RevocationStep } from './revocation.ts';
import type { Route } from './route.ts';
import type { PublishEvent } from './senders.ts';

/**
 * A worker of an extension for rows in the extension's own tables. It is not a background job: an app declares those with `defineJob`, and
 * Belfry stores them with their input, result and retries.
 */
export interface ExtensionJob {
  /** The role of the processes that run the job. Default: `push-worker`. */
  role?: ProcessRole;
  /** Concurrent runs in each process. Default 5. */
  concurrency?: number;
  /** Attempts, with a growing backoff that starts at one second. Default 5. */
  attempts?: number;
  /**
   * Runs the job. The same job may run twice (its process died, or a sweep enqueued it again), so it must claim its row or be idempotent.
   *
   * @param id the id that was passed to `jobs.add`: the id of a row
   */
  run(id: string): Promise<unknown>;
}

/** What a feature contributes to a running app. `Api` is the type of the feature's API for code. */
export interface FeatureParts<Api extends object = object> {
  routes?: readonly Route[];
  /** Routes with full paths that are not below `/api`: pages and their assets. They are not in the OpenAPI document. */
  pages?: readonly Route[];
  /** Returns pages that depend on the parts of other features. Called once, when all features are set up. `errors` receives what is wrong. */
  dependentPages?: (errors: ConfigErrors) => readonly Route[];
  /** Tabs of the console, which apps without a console ignore. */
  consoleTabs?: readonly ConsoleTab[];
  /** What the console shows of each account, and what administrators can do with it. */
  accountPanels?: readonly AccountPanel[];
  /** Pages of the console's accounts that are about many users. */
  accountSections?: readonly AccountSection[];
  /** Additional ways to sign in. */
  authenticators?: readonly Authenticator[];
  /** Requires an additional login step besides the password. */
  signInStep?: SignInStep;
  /** Ways to sign in that the feature offers. They decide whether a user may remove another way. */
  signInMethods?: readonly SignInMethod[];
  /** Revokes the feature's credentials of a user, in the transaction that resets a password, deletes the user, or the like. */
  revocationStep?: RevocationStep;
  /** Requires an additional proof besides the password before irreversible actions. */
  confirmStep?: ConfirmStep;
  /** The second factors that users can turn on. Administrators who have one confirm changes of the power of accounts with it. */
  secondFactors?: readonly SecondFactor[];
  /** The policies of the feature that only administrators meet: the accounts of users who meet one are privileged. */
  administratorPolicies?: readonly (Policy | CompiledPolicy)[];
  /** Informs the previous address of a user about a change of the address that the user has not confirmed. */
  emailChangeStep?: EmailChangeStep;
  /** The consumers that turn outbox rows into work. The relay runs them. */
  consumers?: readonly OutboxConsumer[];
  /** Periodic work of the relay. */
  sweeps?: readonly Sweep[];
  /** Workers for rows of the extension, by name. `host.jobs.add` enqueues ids of rows. */
  jobs?: Readonly<Record<string, ExtensionJob>>;
  /**
   * Starts workers of a role in this process, for work that `jobs` cannot do. Workers of the role `web` start after the HTTP server,
   * and stop when it refuses new connections: end long responses then.
   */
  workers?: Partial<Record<ProcessRole, () => RunningWorker | Promise<RunningWorker>>>;
  /** The rows that wait for the feature's workers, for `belfry status` and `belfry doctor`. */
  backlogs?: readonly Backlog<ProcessRole>[];
  /** Functions that compose an e-mail when it is sent, by the kind that `mail.sendComposed` names. */
  mails?: Readonly<Record<string, MailComposer>>;
  /** Every column that holds ciphertexts of the host's keyring. Key rotations re-encrypt these columns with the newest key. */
  encrypted?: readonly EncryptedColumn[];
  /** The feature's data about users outside of resources, for data exports and erasures. */
  userData?: readonly UserData[];
  /** Listeners of in-process events, by name. */
  listeners?: Record<string, (payload: never) => unknown>;
  /** The events that the feature sends to external endpoints, for the OpenAPI document. */
  sent?: readonly SentEvent[];
  /** Publishes the app's own events to webhook endpoints: `ctx.webhooks.publish`. At most one feature can have it. */
  publishEvent?: PublishEvent;
  /** The audit trail, for other features. At most one feature can have it. */
  auditTrail?: AuditTrail;
  /** The organisations of the app, for other features. At most one feature can have them. */
  organisationAccess?: OrganisationAccess;
  /** The feature's API for code, as `app.<name>`. */
  api?: Api;
  /** Checks of `belfry doctor`. They run if the database has all tables. A check that throws counts as one that finds nothing. */
  diagnoses?: readonly (() => Promise<Finding[]>)[];
  /** Reports configuration errors that can only be found with the whole app at hand. Called once all routes are known. */
  checkConfig?(errors: ConfigErrors): void;
}

/** The platform functions that an extension can use. */
export interface ExtensionHost extends Host {
  /** Undefined when accounts are not enabled. */
  accounts: Accounts | undefined;
  jobs: {
    /**
     * Enqueues jobs of this extension, by name, in one round trip. It does nothing while Redis is down: store work that must not be lost in
     * a row, and let a sweep enqueue the waiting rows.
     */
    add(name: string, ids: readonly string[]): Promise<void>;
  };
  /** All routes of the app, in mount order. Not available before every feature is set up. */
  routes(): readonly Route[];
  /** All pages of extensions. Not available before every feature is set up. */
  pages(): readonly Route[];
  /** The tabs of the console that features add. Not available before every feature is set up. */
  consoleTabs(): readonly ConsoleTab[];
  /** What the console shows of each account. Not available before every feature is set up. */
  accountPanels(): readonly AccountPanel[];
  /** Pages of the console's accounts. Not available before every feature is set up. */
  accountSections(): readonly AccountSection[];
  /** The audit trail; undefined in an app without one. Not available before every feature is set up. */
  auditTrail(): AuditTrail | undefined;
  /** The organisations; undefined in an app without them. Not available before every feature is set up. */
  organisationAccess(): OrganisationAccess | undefined;
  /** Checks the environment, the servers, the migrations, the tables and the clocks, as `belfry doctor` does. Takes up to seconds. */
  diagnose(): Promise<Finding[]>;
  /** All features' data about users outside of resources. Not available before every feature is set up. */
  userData(): readonly UserData[];
  /** All ways to sign in. Not available before every feature is set up. */
  authenticators(): readonly Authenticator[];
  /** The OpenAPI document of the app, which is created once. Not available before every feature is set up. */
  openApiDocument(): Readonly<Record<string, unknown>>;
}

/** What an extension adds to an app for its clients: resources, and fields of the user resource. */
export interface ExtensionAdditions {
  resource?: AnyResource;
  userFields?: Fields;
}

/**
 * A feature that an app can include: tables, and parts that are created with the app. Created with `defineExtension`. `Adds` is what
 * clients see of it; only their types use it.
 */
export interface Extension<
  Name extends string = string,
  Api extends object = object,
  Adds extends ExtensionAdditions = ExtensionAdditions,
> {
  /** Also the name of its `api`: `app.<name>`. */
  name: Name;
  /** The versions of Belfry that the extension supports, as a semver range: `>=0.1.0 <2`. Default: all versions. */
  requires?: string;
  /** Drizzle tables by SQL name. Migrations create and change them like the tables of resources. */
  tables?: Record<string, PgTable>;
  /**
   * SQL for objects that drizzle cannot describe: functions, triggers. Migrations run each statement after the tables exist, and again when
   * its text has changed, so it must be idempotent: `create or replace`. The objects stay when the extension is removed.
   */
  statements?: readonly string[];
  /**
   * Options that the extension adds to resources, each with a zod schema that checks its value. Declare the types of the options by
   * declaration merging: `declare module … { interface ExtensionResourceOptions { retention?: number } }`. Read the values from
   * `declaration` in `host.resources`.
   */
  resourceOptions?: {
    readonly [Option in keyof ExtensionResourceOptions]?: z.ZodType<
      Exclude<ExtensionResourceOptions[Option], undefined>
    >;
  };
  /**
   * Returns the resources of the app: the declared ones, changed where the extension requires it, and resources that the extension adds. The
   * result is checked and compiled like the project's own declarations, so added resources have routes, events and policies like all others.
   *
   * @param declared the resources of the project and of earlier extensions; not yet checked
   * @param errors receives configuration errors
   */
  resources?(declared: readonly AnyResource[], errors: ConfigErrors): readonly AnyResource[];
  /**
   * Returns fields that the extension adds to the user resource. Several extensions may add the same fields if they use the same function.
   * The project must not declare fields of these names.
   */
  userFields?: (user: AnyResource) => Fields;
  /**
   * Whether the outbox rows of all resources contain the origin of a change: how the caller was authenticated, and their address. Default:
   * only resources with `audit: true`.
   */
  recordsOrigins?: boolean;
  /** Reports configuration errors before anything is set up. */
  checkConfig?(errors: ConfigErrors): void;
  /** Returns the parts of the extension. It runs when the app is created, before anything is connected, so it must do no I/O. */
  setup(host: ExtensionHost): FeatureParts<Api>;
  /** Type-level only. */
  readonly $adds?: Adds;
}
