import { createAccounts } from '../accounts/index.ts';
import { createPasswordHasher } from '../accounts/passwords/password-hash.ts';
import type { Host } from '../declare/host.ts';
import type { AnyMail } from '../declare/mail.ts';
import type { PublishEvent, Senders } from '../declare/senders.ts';
import type { Transact, Transaction } from '../declare/service.ts';
import { createFileSerializer, createFiles, type Files } from '../files/index.ts';
import { type BackgroundJobs, createJobs } from '../jobs/index.ts';
import { createKeyring } from '../platform/data/crypto/keyring.ts';
import type { OnResult } from '../platform/data/postgres/connection.ts';
import { type Database, openDatabase } from '../platform/data/postgres/database.ts';
import { type LazyTransaction, runInLazyTransaction } from '../platform/data/postgres/lazy-transaction.ts';
import { withDatabaseMetrics } from '../platform/data/postgres/metrics.ts';
import { withDatabaseTracing } from '../platform/data/postgres/tracing.ts';
import { openRedis } from '../platform/data/redis/connections.ts';
import { openReplica } from '../platform/data/replica/index.ts';
import { createEvents } from '../platform/events.ts';
import { findPreferredLocale } from '../platform/helpers/locale.ts';
import { VERSION } from '../platform/helpers/version.ts';
import { countStatement } from '../platform/http/request-context.ts';
import { createLanguages } from '../platform/languages/index.ts';
import type { LanguageOptions } from '../platform/languages/options.ts';
import { createMail, type Mail } from '../platform/mail/index.ts';
import type { MailMessage } from '../platform/mail/message.ts';
import { createMailTextRenderer } from '../platform/mail/texts/index.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { createLogger } from '../platform/observability/log.ts';
import { addBuildInfo, createMetrics } from '../platform/observability/metrics.ts';
import { createTracing } from '../platform/observability/tracing.ts';
import type { Platform } from '../platform/platform.ts';
import type { Environment } from '../platform/settings/environment.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { createLimits } from '../platform/work/limits/index.ts';
import { createRelayWakeUp } from '../platform/work/outbox/wake.ts';
import { createLogTail } from '../platform/work/processes/log-tail.ts';
import { createProcessRegistry, type ProcessRegistry } from '../platform/work/processes/registry.ts';
import { createSlowLog, type SlowLog } from '../platform/work/processes/slow-log.ts';
import { createQueues, type Queues } from '../platform/work/queues/queues.ts';
import { withJobTracing } from '../platform/work/queues/tracing.ts';
import { createPush, type Push } from '../push/index.ts';
import { createBulkRecords } from '../records/bulk/index.ts';
import { compileResources, createRecordsRuntime, type Records } from '../records/index.ts';
import type { CompiledResource } from '../records/schema/compiled.ts';
import { createRuleErrorReporter } from '../records/schema/rule-errors.ts';
import { createAfterCommitQueue, createTransactionContext } from '../records/service/transaction.ts';
import { currentActor } from '../rules/acting.ts';
import { findAccountFields } from './config-errors.ts';
import { collectNonResourceTables, type Declarations } from './declarations.ts';
import { isConsoleRequest } from './http/request-log.ts';
import { createSendWithin, type SendWithin } from './mail-outlet.ts';
import { collectRelationNames } from './migrations/relation-names.ts';

/**
 * Returns the function that measures statements. It counts a statement for its request and passes it to the slow log, unless the request is
 * one to the console.
 */
function createStatementObserver(slowLog: SlowLog): OnResult {
  const { statementMs } = slowLog;
  return (text, ms, rows) => {
    const req = currentActor()?.req;
    if (req !== undefined) countStatement(req, ms);
    if (ms < statementMs || (req !== undefined && isConsoleRequest(req))) return;
    slowLog.addStatement(text, ms, rows);
  };
}

/** Reports the connections and queues of this process. */
function reportPlatform(processes: ProcessRegistry, database: Database, queues: Queues): void {
  processes.report('connections', () => {
    const { max, open, idle, lanes } = database.stats();
    const sum = (name: 'waiting' | 'waitTimeouts') =>
      Object.values(lanes).reduce((total, lane) => total + lane[name], 0);
    return { max, open, idle, waiting: sum('waiting'), waitTimeouts: sum('waitTimeouts') };
  });
  processes.report('queues', queues.activity);
}

/** Returns the locale that the client of the current request prefers; undefined outside of requests. */
function findRequestLocale(): string | undefined {
  const req = currentActor()?.req;
  return req && findPreferredLocale(req);
}

/** Creates the platform of an app. Opens no connection yet. */
export function createPlatform(env: Environment, settings: Settings, languages: LanguageOptions): Platform {
  const tracing = createTracing(env.tracing);
  const logTail = env.nodeEnv !== 'production' ? createLogTail() : undefined;
  const spanFields = tracing.isEnabled ? tracing.logFields : undefined;
  const log = createLogger(env.logLevel, env.logProcess, undefined, spanFields, logTail?.add);
  const metrics = createMetrics();
  addBuildInfo(metrics, VERSION);
  const redis = openRedis(env.redis, log);
  logTail?.connect(redis.commands, env.redisPrefix);
  const { databasePooler: pooler, poolMax, redisPrefix: prefix } = env;
  const slowLog = createSlowLog(settings.slowLog);
  const onResult = createStatementObserver(slowLog);
  const watchesTransactions = env.nodeEnv !== 'production';
  const pooled = openDatabase(env.databaseUrl, prefix, log, { poolMax, pooler, watchesTransactions, onResult });
  const database = withDatabaseTracing(withDatabaseMetrics(pooled, metrics), tracing);
  const replicaParts = { primary: database, redis, prefix, log, metrics, tracing, onResult };
  const queues = withJobTracing(createQueues(redis, prefix, log), tracing);
  const identity = { version: VERSION, appVersion: env.appVersion };
  const processes = createProcessRegistry(redis.commands, prefix, log, slowLog, identity);
  reportPlatform(processes, database, queues);
  const limits = createLimits(redis.commands, prefix, log, metrics);
  processes.onNotice('limit cleared', ({ name, windowMs, client }) => limits.forget(name, windowMs, client));
  return {
    env,
    settings,
    log,
    metrics,
    tracing,
    redis,
    database,
    replica: env.replica && openReplica(env.replica, replicaParts),
    queues,
    limits,
    wake: createRelayWakeUp(redis.commands, env.redisPrefix),
    keyring: createKeyring(env.encryptionKeys),
    languages: createLanguages(languages),
    events: createEvents(log),
    processes,
    slowLog,
    logTail,
  };
}

/**
 * Creates `app.transaction`, which changes records and stores pushes, e-mails, events and jobs in one transaction. The transaction begins
 * with the first statement that writes. Checks and hashes before that statement hold neither locks nor a connection.
 */
function createTransactionRunner(
  { database, log }: Platform,
  records: Records,
  { push, sendMail, senders }: { push: Push; sendMail: SendWithin; senders: Senders },
): Transact {
  return async (work) => {
    const afterCommit = createAfterCommitQueue(log);
    const runWork = async ({ opening, abort }: LazyTransaction) => {
      const within = { database: opening, afterCommit: afterCommit.add, abort };
      const tx: Transaction = {
        database: opening,
        afterCommit: afterCommit.add,
        service: createTransactionContext(records.context, within).service,
        push: { enqueue: (message) => push.enqueueWithin(within, message) },
        mail: { send: (message: MailMessage | AnyMail, about?: object) => sendMail(within, message, about as never) },
        webhooks: senders.webhooks,
        jobs: senders.jobs,
      };
      return { result: await records.transactions.run(tx, () => work(tx)) };
    };
    const { result } = await runInLazyTransaction(database, runWork, { refusesLateStatements: true });
    await afterCommit.run();
    return result;
  };
}

/** Creates the verifier of imported password hashes; undefined if the setting `auth.legacyPassword` is not set. */
function createLegacyPasswordVerifier({ settings, log }: Platform) {
  const verify = settings.auth.legacyPassword;
  return verify && { verify, failed: (error: unknown) => log.error({ err: error }, 'auth.legacyPassword failed') };
}

const NO_JOBS = { jobs: new Map(), schedules: [] };

/** The core of every app: records, accounts, push and mail. */
export interface Core {
  platform: Platform;
  compiled: readonly CompiledResource[];
  records: Records;
  files: Files;
  push: Push;
  mail: Mail;
  jobs: BackgroundJobs;
  /** Sets the publisher of `ctx.webhooks`, known once all features are set up. */
  setEventPublisher(publish: PublishEvent | undefined): void;
  /** Undefined if accounts are not enabled. */
  accounts: ReturnType<typeof createAccounts> | undefined;
  host: Host;
}

/**
 * Creates the core of an app.
 *
 * @param composers returns the e-mails of all features, known once all features are set up
 */
export function createCore(
  {
    resources,
    extensions,
    transports,
    languages,
    mailTexts: overrides = {},
    projectMails = [],
    jobs = NO_JOBS,
  }: Declarations,
  platform: Platform,
  composers: () => Readonly<Record<string, MailComposer>>,
): Core {
  const { settings, log } = platform;
  const taken = collectRelationNames(collectNonResourceTables(extensions));
  const compiled = compileResources(
    resources,
    settings.unknownFields,
    taken,
    createRuleErrorReporter(log),
    createFileSerializer(platform),
    extensions.some(({ recordsOrigins }) => recordsOrigins === true),
  );
  const files = createFiles(platform, compiled);
  const hasAccounts = settings.auth.enabled && findAccountFields(resources) !== undefined;
  const isUserResource = ({ name }: { name: string }) => hasAccounts && name === 'user';
  const push = createPush(platform, transports, compiled.find(isUserResource));
  const hasher = createPasswordHasher(settings.auth.password, { legacy: createLegacyPasswordVerifier(platform) });
  const { enqueueWithin } = push;
  const currentTransaction = () => records.transactions.current();
  const mail = createMail(platform, composers, findRequestLocale);
  const mailTexts = createMailTextRenderer(overrides, settings.mail, projectMails, languages);
  const sendMail = createSendWithin({
    ...{ sender: mail.sender, mailTexts, projectMails, database: platform.database },
    users: () => users,
  });
  const backgroundJobs = createJobs(platform, jobs, currentTransaction);
  let publish: PublishEvent = async () => {
    throw new Error('webhooks.publish needs the extension webhooks(); add it to the extensions of createApp');
  };
  const senders: Senders = {
    mail: {
      // The transaction is read before the first await: a call that is not awaited may outlive it.
      send: (message: MailMessage | AnyMail, about?: object) => sendMail(currentTransaction(), message, about as never),
    },
    webhooks: { publish: (...args) => publish(...args) },
    jobs: backgroundJobs.api,
  };
  const pushSender = { ...push.sender, enqueueWithin };
  const records: Records = createRecordsRuntime(platform, compiled, hasher.hash, pushSender, senders, files.records);
  const users = records.gateways.find(isUserResource);
  const host: Host = {
    ...platform,
    service: records.service,
    resources: records.gateways,
    bulk: createBulkRecords(records.context),
    users,
    push: push.sender,
    simulated: push.simulated,
    mail: mail.sender,
    files: files.api,
    senders,
    declaredJobs: jobs.jobs,
    readJobOverview: backgroundJobs.api.overview,
    mailTexts,
    transaction: createTransactionRunner(platform, records, { push, sendMail, senders }),
    currentTransaction,
  };
  const accounts =
    users && createAccounts(host, hasher, records.context, records.entities.get('user')!, users, push.tokenRule);
  const setEventPublisher = (publisher: PublishEvent | undefined) => {
    publish = publisher ?? publish;
  };
  return { platform, compiled, records, files, push, mail, jobs: backgroundJobs, setEventPublisher, accounts, host };
}
