import type { CreateInput, RecordOf } from '../declare/infer.ts';
import type { AnyResource, Resource } from '../declare/resource.ts';
import type { App } from '../runtime/create-app.ts';
import type { TestApi } from './api.ts';
import type { CapturedMessages } from './captured.ts';
import type { TestClock } from './clock/test-clock.ts';
import type { TestUser } from './users.ts';
import type { WaitOptions } from './waiting/wait.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

/** The names of the resources of an app. */
type NameIn<R extends readonly AnyResource[]> = R[number]['name'];

/** The declaration with a name. */
type Named<R extends readonly AnyResource[], N extends string> = Extract<R[number], { name: N }>;

/** The values with which a test creates a record: any of them may be left out. */
type ValuesOf<R extends readonly AnyResource[], N extends string> =
  Named<R, N> extends Resource<string, infer F, infer _> ? Partial<CreateInput<F>> : Record<string, unknown>;

/** A record of the resource with a name. */
type RecordIn<R extends readonly AnyResource[], N extends string> =
  Named<R, N> extends Resource<string, infer F, infer T> ? RecordOf<F, T> : never;

/** An app that runs for tests, with a database of its own. */
export interface TestApp<R extends readonly AnyResource[], X = unknown> extends CapturedMessages, AsyncDisposable {
  app: App<R> & X;
  /** The address of the API, such as `http://127.0.0.1:40123`. */
  url: string;
  /** Sends requests without a session. */
  api: TestApi;
  /** The clock of the app, which also is the clock of this process. */
  clock: TestClock;
  /**
   * Creates a user and starts a session, without a login. Every field may be set, such as `roles`.
   *
   * @param who the values of a new user, or the id of an existing one
   */
  signInAs(who?: ValuesOf<R, 'user'> | string): Promise<TestUser<RecordIn<R, 'user'>>>;
  /**
   * Creates a record as the system, with valid values for the required fields that are left out. Required references get a new record.
   *
   * @throws Error naming the field if no valid value can be generated; ApiError if the app refuses the given values
   */
  create<N extends NameIn<R>>(resource: N, values?: ValuesOf<R, N>): Promise<RecordIn<R, N>>;
  /** Creates several records, one after the other. @param values the values of all of them, or a function of the index */
  createMany<N extends NameIn<R>>(
    resource: N,
    count: number,
    values?: ValuesOf<R, N> | ((index: number) => ValuesOf<R, N>),
  ): Promise<RecordIn<R, N>[]>;
  /**
   * Starts a receiver of webhooks on this machine and registers it as an endpoint of a user. It verifies every signature.
   *
   * @param events names of events, such as `task.created` or `task.*`
   */
  receiveWebhooks(user: TestUser<unknown>, events: readonly string[]): Promise<WebhookReceiver>;
  /**
   * Waits until the app has no work that is due: events, webhook deliveries, e-mails, pushes and jobs. Work that waits for a later time, such
   * as a retry, is not waited for.
   *
   * @throws Error naming the work that is left after `timeoutMs` (10,000)
   */
  settle(options?: WaitOptions): Promise<void>;
  /** Stops the app and deletes its data. */
  close(): Promise<void>;
}
