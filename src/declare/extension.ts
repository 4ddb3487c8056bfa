import type { PgTable } from 'drizzle-orm/pg-core';
import type { z } from 'zod';
import { type ConfigErrors, reportSettings } from '../platform/config-errors.ts';
import type { EncryptedColumn } from '../platform/crypto/encrypted-column.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import type { OutboxConsumer, Sweep } from '../platform/outbox/relay.ts';
import type { RunningWorker } from '../platform/queues.ts';
import type { Accounts, ConfirmStep, RevocationStep, SignInStep } from './accounts.ts';
import type { Authenticator } from './authenticator.ts';
import type { SentEvent } from './events.ts';
import type { Host, UserData } from './host.ts';
import { camelCase } from './naming.ts';
import type { ExtensionResourceOptions } from './resource.ts';
import type { Route } from './route.ts';

/** The roles that a process can play. */
export const ROLES = ['web', 'relay', 'webhook-worker', 'push-worker'] as const;
export type Role = (typeof ROLES)[number];

/** Work that a queue hands out, whose rows are in tables of the extension. */
export interface Job {
  /** The processes that do it. Default: `push-worker`. */
  role?: Role;
  /** How many at once in each process. Default 5. */
  concurrency?: number;
  /** How often it is tried, with growing pauses from a second on. Default 5. */
  attempts?: number;
  /**
   * Does it. It may run twice (a process died, a sweep was early), so it claims its row, or does no harm the second time.
   *
   * @param id what was given to `jobs.add`: the id of a row
   */
  run(id: string): Promise<unknown>;
}

/** What a feature brings to a running app; `Api` is what it offers to code. */
export interface FeatureParts<Api extends object = object> {
  routes?: readonly Route[];
  /** Routes whose paths are whole and not below `/api`: pages, and what these load. They are in no document. */
  pages?: readonly Route[];
  /** Further ways to sign in. */
  authenticators?: readonly Authenticator[];
  /** Asks more of a user than their password. */
  signInStep?: SignInStep;
  /** Ends its credentials of a user in the transaction that resets a password, deletes the user, or the like. */
  revocationStep?: RevocationStep;
  /** Asks more than the password before what cannot be taken back. */
  confirmStep?: ConfirmStep;
  /** Turn outbox rows into work, in the relay. */
  consumers?: readonly OutboxConsumer[];
  /** Periodic work of the relay. */
  sweeps?: readonly Sweep[];
  /** Jobs by name. `host.jobs.add` hands them out. */
  jobs?: Readonly<Record<string, Job>>;
  /**
   * Starts workers of a role in this process, where `jobs` are not enough. Those of `web` are started after its server, and stopped
   * before it.
   */
  workers?: Partial<Record<Role, () => RunningWorker | Promise<RunningWorker>>>;
  /** Make e-mails when they are sent, by the kinds that `mail.sendComposed` names. */
  mails?: Readonly<Record<string, MailComposer>>;
  /** Every column that holds ciphertexts of the host's keyring: rotations put them under the newest key. */
  encrypted?: readonly EncryptedColumn[];
  /** What it holds of users outside of resources: what they are given of it, and how it is erased. */
  userData?: readonly UserData[];
  /** Listeners of in-process events, by name. */
  listeners?: Record<string, (payload: never) => unknown>;
  /** What it sends to the addresses of others, for the OpenAPI document. */
  sent?: readonly SentEvent[];
  /** What the feature offers to code, as `app.<name>`. */
  api?: Api;
  /** Reports configuration errors that need the whole app to be found. Called once all routes are known. */
  checkConfig?(errors: ConfigErrors): void;
}

/** What an extension works with. */
export interface ExtensionHost extends Host {
  /** Undefined when accounts are not enabled. */
  accounts: Accounts | undefined;
  jobs: {
    /**
     * Hands out jobs of this extension, by name, in one round trip. While Redis is away this does nothing: what must not be lost is
     * a row, and a sweep adds the rows that wait.
     */
    add(name: string, ids: readonly string[]): Promise<void>;
  };
  /** All routes of the app, in the order in which they are mounted. Not known before every feature is set up. */
  routes(): readonly Route[];
  /** What all features hold of users outside of resources. Not known before every feature is set up. */
  userData(): readonly UserData[];
  /** All ways to sign in. Not known before every feature is set up. */
  authenticators(): readonly Authenticator[];
}

/** A feature that an app can be made with: tables, and parts made once the app stands. Made with `defineExtension`. */
export interface Extension<Name extends string = string, Api extends object = object> {
  /** Also where its `api` stands: `app.<name>`. */
  name: Name;
  /** The versions of Belfry that it works with, as a semver range: `>=0.1.0 <2`. Default: every one. */
  requires?: string;
  /** Tables in drizzle, by their SQL names. Migrations make and change them like those of resources. */
  tables?: Record<string, PgTable>;
  /**
   * SQL that tables in drizzle have no words for: functions, triggers. Migrations run each once the tables are there, and again when
   * its text has changed, so it must do no harm the second time: `create or replace`. What it made stays when the extension goes.
   */
  statements?: readonly string[];
  /**
   * Options that it adds to resources, each with a zod schema that checks its value. Their types are declared by merging:
   * `declare module … { interface ExtensionResourceOptions { retention?: number } }`. Read them from `host.resources`, as `declaration`.
   */
  resourceOptions?: {
    readonly [Option in keyof ExtensionResourceOptions]?: z.ZodType<
      Exclude<ExtensionResourceOptions[Option], undefined>
    >;
  };
  /** Reports configuration errors before anything is set up. */
  checkConfig?(errors: ConfigErrors): void;
  setup(host: ExtensionHost): FeatureParts<Api>;
}

/** An extension with settings: its `statements` and `setup` get them checked and completed. */
export interface ExtensionDeclaration<Name extends string, Api extends object, Schema extends z.ZodType>
  extends Omit<Extension<Name, Api>, 'statements' | 'setup'> {
  /** The schema of its settings. Make it strict (`z.strictObject`), so that a misspelled setting is an error. */
  settings?: Schema;
  /** The settings as the app wrote them: what the function that makes the extension was called with. */
  options?: z.input<Schema>;
  statements?: readonly string[] | ((settings: z.output<Schema>) => readonly string[]);
  setup(host: ExtensionHost, settings: z.output<Schema>): FeatureParts<Api>;
}

/**
 * Declares an extension.
 *
 * @example defineExtension({ name: 'reports', settings: z.strictObject({ perDay: z.number() }), options, setup(host, { perDay }) {} })
 */
export function defineExtension<
  const Name extends string,
  Api extends object,
  Schema extends z.ZodType = z.ZodUndefined,
>(declaration: ExtensionDeclaration<Name, Api, Schema>): Extension<Name, Api> {
  const { settings: schema, options = {}, statements = [], ...extension } = declaration;
  // Untyped code may leave out parts of it; `createApp` reports those.
  if (schema === undefined) return declaration as Extension<Name, Api>;
  const { data, error } = schema.safeParse(options);
  const settings = data as z.output<Schema>;
  const all = error === undefined && typeof statements === 'function' ? statements(settings) : statements;
  return {
    ...extension,
    statements: typeof all === 'function' ? [] : all,
    checkConfig(errors) {
      if (error !== undefined) reportSettings(camelCase(extension.name), schema, error, errors);
      declaration.checkConfig?.(errors);
    },
    // Not called after `checkConfig` has reported an error.
    setup: (host) => declaration.setup(host, settings),
  };
}
