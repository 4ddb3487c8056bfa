import type { PgTable } from 'drizzle-orm/pg-core';
import type { EncryptedColumn } from '../platform/crypto/encrypted-column.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import type { OutboxConsumer, Sweep } from '../platform/outbox/relay.ts';
import type { RunningWorker } from '../platform/queues.ts';
import type { Accounts, PasswordResetStep, SignInStep } from './accounts.ts';
import type { Authenticator, Host } from './host.ts';
import type { Route } from './route.ts';
import type { SentEvent } from './sent-event.ts';

/** The roles that a process can play. */
export type Role = 'web' | 'relay' | 'webhook-worker' | 'push-worker';

/** What a feature brings to a running app; `Api` is what it offers to code. */
export interface FeatureParts<Api extends object = object> {
  routes?: readonly Route[];
  /** Ways to sign in beside those that are there. */
  authenticators?: readonly Authenticator[];
  /** Asks more of a user than his password. */
  signInStep?: SignInStep;
  passwordResetStep?: PasswordResetStep;
  /** Turn outbox rows into work, in the relay. */
  consumers?: readonly OutboxConsumer[];
  /** Periodic work of the relay. */
  sweeps?: readonly Sweep[];
  /** Starts the workers of a role in this process. */
  workers?: Partial<Record<Role, () => RunningWorker | Promise<RunningWorker>>>;
  /** Make e-mails when they are sent, by the kinds that `mail.sendComposed` names. */
  mails?: Readonly<Record<string, MailComposer>>;
  /** Every column that holds ciphertexts of the host's keyring: rotations put them under the newest key. */
  encrypted?: readonly EncryptedColumn[];
  /** Listeners of in-process events, by name. */
  listeners?: Record<string, (payload: never) => unknown>;
  /** What it sends to the addresses of others, for the OpenAPI document. */
  sent?: readonly SentEvent[];
  /** What the feature offers to code, as `app.<name>`. */
  api?: Api;
  /** What is wrong with it in the light of the whole app, a line each; asked once all routes are known. */
  mistakes?(): readonly string[];
}

/** What an extension works with. */
export interface ExtensionHost extends Host {
  /** Undefined when accounts are not enabled. */
  accounts: Accounts | undefined;
  /** All routes of the app, in the order in which they are mounted. Not known before every feature is set up. */
  routes(): readonly Route[];
}

/** A feature that an app can be made with: tables, and parts made once the app stands. */
export interface Extension<Name extends string = string, Api extends object = object> {
  name: Name;
  tables?: Record<string, PgTable>;
  /** What is wrong with its settings, a line each; asked before anything is made, so that all mistakes are told at once. */
  mistakes?(): readonly string[];
  setup(host: ExtensionHost): FeatureParts<Api>;
}

/** Declares an extension. */
export function defineExtension<const Name extends string, Api extends object>(
  extension: Extension<Name, Api>,
): Extension<Name, Api> {
  return extension;
}
