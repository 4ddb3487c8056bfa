import type { PgTable } from 'drizzle-orm/pg-core';
import { type PlatformEvent, type RecordAction, type RecordEvent, recordActions } from '../declare/events.ts';
import type { Extension } from '../declare/extension.ts';
import type { RecordOf } from '../declare/infer.ts';
import type { AnyResource, Resource, Service } from '../declare/resource.ts';
import type { AnyService, Serviced } from '../declare/service.ts';
import type { Transaction } from '../declare/transaction.ts';
import { ConfigErrors } from '../platform/config-errors.ts';
import type { Encryption } from '../platform/crypto/encryption.ts';
import { readEnvironment, StartupError } from '../platform/environment.ts';
import type { CapturedMails } from '../platform/mail/index.ts';
import type { MailSender } from '../platform/mail/sender.ts';
import { readSettings, type SettingsInput } from '../platform/settings.ts';
import type { Captured } from '../push/history/captured.ts';
import type { Push } from '../push/index.ts';
import type { Transport } from '../push/transport.ts';
import { transportsFrom } from '../push/transports/from-environment.ts';
import { type AppAdministration, type Assembly, assemble } from './assemble.ts';
import { checkAppOptions } from './config-errors.ts';
import { checkDeclarations } from './declarations.ts';
import type { Declared } from './migrations/declared.ts';
import type { MigrateOptions } from './migrations/migrate.ts';
import { type StartOptions, startRoles } from './start.ts';

/** What an app is made of. */
export interface AppOptions<R extends readonly AnyResource[], E extends readonly Extension[] = readonly Extension[]> {
  resources: R;
  extensions?: E;
  settings?: SettingsInput;
  /** Push transports, asked in order. Default: APNs, FCM and Web Push, as far as their credentials are in the environment. */
  transports?: readonly Transport[];
  /** Called once with the app, to register listeners. */
  listeners?: (app: App<R> & Apis<E>) => void;
}

/** Whether the app's resources are known to the compiler. */
type Known<R extends readonly AnyResource[]> = string extends R[number]['name'] ? false : true;

/** The declaration of a name, or of several. */
type Named<R extends readonly AnyResource[], N extends string> =
  Known<R> extends true ? Extract<R[number], { name: N }> : AnyResource;

type RecordIn<X extends AnyResource> = X extends Resource<string, infer F, infer T> ? RecordOf<F, T> : never;

/** The service of a declaration; of one of several an untyped one, which can be called. */
type ServiceIn<X extends AnyResource, All = X> =
  X extends Resource<string, infer F, infer T> ? ([All] extends [X] ? Service<F, T> : AnyService) : never;

type ServiceNamed<R extends readonly AnyResource[], N extends string> =
  Known<R> extends true ? ServiceIn<Named<R, N>> : AnyService;

/** An event that is of none of the app's resources, as far as these are known. */
type OtherEvent<R extends readonly AnyResource[], N extends string> = string extends R[number]['name']
  ? N
  : N extends `${R[number]['name']}.${string}`
    ? never
    : N;

type ApiOf<E extends Extension> = E extends Extension<string, infer Api> ? Api : never;

/** What extensions offer to code, by their names; nothing of those that offer nothing. */
type Apis<E extends readonly Extension[]> = {
  readonly [X in E[number] as object extends ApiOf<X> ? never : X['name']]: ApiOf<X>;
};

type TypedTransaction<R extends readonly AnyResource[]> = Omit<Transaction, 'service'> & Pick<App<R>, 'service'>;

/** An app: its records, its events, its processes. */
export interface App<R extends readonly AnyResource[] = readonly AnyResource[]> {
  /** Brings the database up to the declarations. */
  migrate(options: MigrateOptions): Promise<void>;
  /**
   * Connects and starts roles in this process; without `roles` those that the environment does not switch off.
   *
   * @returns `url` of `web`, `metricsUrl` of metrics on a port of their own; empty when this process does not have it
   * @throws StartupError when something that it needs is missing
   */
  start(options?: StartOptions): Promise<{ url: string; metricsUrl: string }>;
  /** Finishes what is in flight and stops. */
  close(): Promise<void>;
  /**
   * Registers a listener of in-process events: of a record's change, of the platform, or of an extension.
   *
   * @throws Error for an event that a resource does not have
   */
  on<N extends R[number]['name'], A extends RecordAction>(
    name: `${N}.${A}`,
    handler: (event: RecordEvent<N, A, RecordIn<Named<R, N>>>) => unknown,
  ): void;
  // biome-ignore lint/suspicious/noExplicitAny: what an event of the platform carries is documented with its feature
  on(name: PlatformEvent, handler: (payload: any) => unknown): void;
  on<Payload, N extends string = string>(name: OtherEvent<R, N>, handler: (payload: Payload) => unknown): void;
  /** The records of a resource, for code: by its declaration or its name. */
  service<S>(resource: Serviced<S, R[number]['name']>): S;
  service<N extends R[number]['name']>(name: N): ServiceNamed<R, N>;
  /** Changes of several records, all or nothing; their events are sent on commit only. */
  transaction<T>(work: (tx: TypedTransaction<R>) => Promise<T>): Promise<T>;
  push: Push['sender'];
  /** Devices for development that are sent to and are not there; undefined in production. */
  simulated: Push['simulated'];
  mail: MailSender;
  /** What the command line does with accounts; undefined without them. */
  accounts: AppAdministration | undefined;
  /** What is encrypted with which key, and the way to the newest one. The database must have its tables. */
  encryption: Pick<Encryption, 'status' | 'rotate'>;
  /** What was captured instead of sent, in development and tests. */
  captured: Captured & CapturedMails;
  /** Every table of the app, by name: for migrations. */
  tables: Record<string, PgTable>;
  /** What the declarations say of the tables beyond their SQL: for migrations. */
  declared: Declared;
}

/** What the app has itself; the compiler sees to it that nothing is missing. */
const MEMBERS: Record<keyof App, true> = {
  migrate: true,
  start: true,
  close: true,
  on: true,
  service: true,
  transaction: true,
  push: true,
  simulated: true,
  mail: true,
  accounts: true,
  encryption: true,
  captured: true,
  tables: true,
  declared: true,
};

/**
 * Makes an app from declarations. Nothing is connected yet.
 *
 * @param variables the environment, read once: usually `process.env`
 * @throws StartupError listing every configuration error in environment, settings and declarations at once
 */
export function createApp<const R extends readonly AnyResource[], const E extends readonly Extension[] = readonly []>(
  options: AppOptions<R, E>,
  variables: Record<string, string | undefined>,
): App<R> & Apis<E> {
  const parts = assembleFrom(options, variables);

  const stops: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  const app: App<R> = {
    migrate: (how) => parts.migrate(how),
    start: (how = {}) => startRoles(parts, how, stops),
    close() {
      closing ??= (async () => {
        for (const stop of stops.reverse()) await stop();
        await parts.close();
      })();
      return closing;
    },
    on(name: string, handler: (payload: never) => unknown) {
      const [resource, action] = name.split('.');
      const declared = options.resources.find((one) => one.name === resource);
      const actions = declared && recordActions(declared);
      if (actions?.some((one) => one === action) === false)
        throw new Error(`There is no event "${name}": ${resource} has ${actions.join(', ')}`);
      parts.platform.events.on(name, handler);
    },
    service: (resource: Serviced<unknown> | string) => parts.records.service(resource as string) as never,
    transaction: (work) => parts.host.transaction((tx) => work(tx as never)),
    push: parts.push.sender,
    simulated: parts.push.simulated,
    mail: parts.mail.sender,
    accounts: parts.administration,
    encryption: parts.encryption,
    captured: { ...parts.push.captured, ...parts.mail.captured },
    tables: parts.tables,
    declared: parts.declared,
  };
  for (const { name, api } of parts.apis) Object.defineProperty(app, name, { value: api, enumerable: true });
  const whole = app as typeof app & Apis<E>;
  options.listeners?.(whole);
  return whole;
}

/**
 * Checks everything that an app is made of, and puts it together. Extensions are set up only when nothing else is wrong.
 *
 * @throws StartupError listing all configuration errors
 */
function assembleFrom(
  options: Omit<AppOptions<readonly AnyResource[]>, 'listeners'>,
  variables: Record<string, string | undefined>,
): Assembly {
  const errors = new ConfigErrors();
  const env = collect(errors, () => readEnvironment(variables));
  const settings = collect(errors, () => readSettings(options.settings));
  const isReadable = checkAppOptions(options, errors);
  const provided = () => (env && settings ? transportsFrom(env, settings) : []);
  const transports = options.transports ?? collect(errors, provided) ?? [];
  const declared = { ...options, extensions: options.extensions ?? [], transports, members: MEMBERS };
  if (isReadable) checkDeclarations(declared, settings, errors);
  const isSound = errors.lines.length === 0;
  const assembly = isSound && env && settings ? assemble(declared, env, settings, errors) : undefined;
  if (assembly === undefined) throw new StartupError('The app has configuration errors:', errors.lines);
  return assembly;
}

/** What a function returns; undefined after its StartupError is reported. */
function collect<T>(errors: ConfigErrors, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    for (const line of error.faults) errors.report(line);
    return undefined;
  }
}
