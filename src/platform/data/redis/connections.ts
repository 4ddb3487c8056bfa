import type { Socket } from 'node:net';
import { AbstractConnector, Cluster, Redis, type RedisOptions } from 'ioredis';
import { createLimitedWarning } from '../../observability/limited-warning.ts';
import type { Logger } from '../../observability/log.ts';
import { assertOutsideTransaction } from '../postgres/transaction-watch.ts';
import type { RedisSettings } from './environment.ts';
import { createSubscriptions, type Subscribe } from './subscriptions.ts';

/** A connection to one Redis server, or the connections to the nodes of a Redis Cluster. */
export type RedisClient = Redis | Cluster;

/** Returns a client as that of a cluster; undefined if it is connected to one server. */
export function toCluster(client: RedisClient): Cluster | undefined {
  return client.isCluster ? (client as Cluster) : undefined;
}

/** The Redis connections of one app. The connections open at first use and reconnect on their own. */
export interface RedisConnections {
  /** For commands of requests and producers: fails at once while Redis is down, instead of queueing up. */
  commands: RedisClient;
  /** Creates another connection that waits for Redis to recover. For workers; the caller owns it. */
  createBlockingConnection(): RedisClient;
  /** Subscribes to a channel. All subscriptions of the process share one connection. */
  subscribe: Subscribe;
  /** The servers without user and password, for messages: `redis.example.com:6379`. */
  address: string;
  /** Registers a listener for failovers: a replica may have taken over, which may lack the newest writes. */
  onPossibleFailover(listener: () => void): void;
  /** Returns the connection error because of which Redis is down; undefined while Redis is up. */
  lastError(): Error | undefined;
  close(): Promise<void>;
}

// Close a connection whose commands get no reply for this long. If the other end vanished, the operating system would consider the
// connection healthy for many minutes.
const SOCKET_TIMEOUT_MS = 5000;
// The same for connections of workers, whose commands block for up to 10 s.
const BLOCKING_SOCKET_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 3000;
const KEEP_ALIVE_MS = 10_000;
/** ms until the connection for commands is opened again after it ended for good. */
const AFTER_END_MS = 100;
const NODE_WARNING_INTERVAL_MS = 30_000;

const retryStrategy = (attempt: number) => Math.min(50 * 2 ** attempt, 2000);

/** A failed-over server refuses writes until the client reconnects to its successor. At most one reconnect a second. */
function createReconnectOnReadOnly(): (error: Error) => boolean {
  let nextAt = 0;
  return ({ message }) => {
    // Redis 6 puts the reason behind the name of the script.
    if (!/\b(READONLY|UNBLOCKED)\b/.test(message) || performance.now() < nextAt) return false;
    nextAt = performance.now() + 1000;
    return true;
  };
}

const removeBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');

function formatAddress({ urls, cluster, sentinels }: RedisSettings): string {
  if (sentinels !== undefined) {
    const addresses = sentinels.addresses.map(({ host, port }) => `${host}:${port}`).join(', ');
    return `${sentinels.master} (Sentinels ${addresses})`;
  }
  const hosts = urls.map((url) => new URL(url).host).join(', ');
  return cluster ? `${hosts} (cluster)` : hosts;
}

/** Returns the user, password, database and TLS options of a connection. */
function readCredentials({ urls, ca }: RedisSettings) {
  const { protocol, username, password, pathname } = new URL(urls[0]!);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss:' ? { tls: ca === undefined ? {} : { ca } } : {}),
  };
}

/**
 * A client of a Redis Cluster whose `connect` always settles. That of ioredis stays pending if the cluster reports that it is down, and
 * BullMQ, which awaits it after a failover, would never take a job again.
 */
class ClusterClient extends Cluster {
  override async connect(): Promise<void> {
    const retried = Promise.withResolvers<never>();
    const rejectRetried = () => retried.reject(new Error('The Redis Cluster is not ready'));
    // One of these follows every attempt that fails.
    this.once('reconnecting', rejectRetried);
    this.once('end', rejectRetried);
    try {
      await Promise.race([super.connect(), retried.promise]);
    } finally {
      this.off('reconnecting', rejectRetried);
      this.off('end', rejectRetried);
    }
  }
}

type ConnectionOptions = Pick<
  RedisOptions,
  'enableOfflineQueue' | 'lazyConnect' | 'maxRetriesPerRequest' | 'socketTimeout'
>;

/** Refuses commands inside transactions, which would wait for Redis. */
function refuseInTransactions(client: RedisClient): void {
  const sendCommand = client.sendCommand.bind(client) as Redis['sendCommand'];
  client.sendCommand = (...parameters: Parameters<Redis['sendCommand']>) => {
    assertOutsideTransaction(`Redis is used (${parameters[0].name})`);
    return sendCommand(...parameters);
  };
}

/** Creates a client without connecting it. */
function createClient(settings: RedisSettings, options: ConnectionOptions, detectsFailover = false): RedisClient {
  const { urls, cluster, sentinels } = settings;
  const { db, ...credentials } = readCredentials(settings);
  const common = { ...options, connectTimeout: CONNECT_TIMEOUT_MS, keepAlive: KEEP_ALIVE_MS };
  if (cluster) {
    const nodes = urls.map((url) => {
      const { hostname, port } = new URL(url);
      return { host: removeBrackets(hostname), port: Number(port || 6379) };
    });
    const { enableOfflineQueue, lazyConnect, ...redisOptions } = common;
    return new ClusterClient(nodes, {
      enableOfflineQueue,
      lazyConnect,
      redisOptions: { ...credentials, ...redisOptions },
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: 2000,
      // Certificates are issued for host names, so connect by name.
      dnsLookup: (address, callback) => callback(null, address),
    });
  }
  const single = { ...common, retryStrategy, reconnectOnError: createReconnectOnReadOnly() };
  if (sentinels === undefined)
    return new Redis(urls[0]!, { ...single, ...(credentials.tls && { tls: credentials.tls }) });
  const { tls } = credentials;
  return new Redis({
    ...single,
    ...credentials,
    ...(db === undefined ? {} : { db }),
    sentinels: [...sentinels.addresses],
    name: sentinels.master,
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    failoverDetector: detectsFailover,
    ...(sentinels.password === undefined ? {} : { sentinelPassword: sentinels.password }),
    ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  });
}

const sockets = new WeakMap<AbstractConnector, Socket>();
const ignore = () => undefined;

/**
 * Keeps errors of sockets from ending the process. ioredis listens only to the first error of a socket. A TLS socket that is closed during its
 * handshake can have two: the certificate is not trusted, and the server answers with an alert. All connectors of the process change, because
 * ioredis itself creates those to Sentinels. ioredis reports the first error as before.
 */
function ignoreFurtherSocketErrors(): void {
  if (Object.hasOwn(AbstractConnector.prototype, 'stream')) return;
  Object.defineProperty(AbstractConnector.prototype, 'stream', {
    get(this: AbstractConnector) {
      return sockets.get(this);
    },
    set(this: AbstractConnector, socket: Socket) {
      socket.on('error', ignore);
      sockets.set(this, socket);
    },
  });
}

/** Creates the Redis connections of an app. */
export function openRedis(settings: RedisSettings, log: Logger): RedisConnections {
  ignoreFurtherSocketErrors();
  const connections = new Set<RedisClient>();
  const warnOfNode = createLimitedWarning(log, NODE_WARNING_INTERVAL_MS);
  let isClosed = false;
  let lastError: Error | undefined;
  /** Why the last Sentinel could not name the master. */
  let sentinelError: Error | undefined;

  function openConnection(options: ConnectionOptions, detectsFailover = false): RedisClient {
    const client = createClient(settings, options, detectsFailover);
    client.on('sentinelError', (error: Error) => {
      sentinelError = error;
    });
    client.on('error', (error: Error & { lastNodeError?: Error | null }) => {
      // The error of a cluster or of the Sentinels as a whole does not say what happened.
      const reason = error.lastNodeError ?? (error.message.startsWith('All sentinels') ? sentinelError : undefined);
      if (lastError === undefined) log.warn({ err: reason ?? error }, 'Redis is down');
      lastError = reason ?? error;
    });
    client.on('node error', (error: Error, node: string) => {
      if (client.status === 'ready') warnOfNode({ err: error, node }, 'a node of the Redis Cluster cannot be reached');
    });
    client.on('ready', () => {
      if (lastError !== undefined) log.info('Redis is available again');
      lastError = undefined;
    });
    connections.add(client);
    client.on('connect', () => {
      if (isClosed) client.disconnect();
      else connections.add(client);
    });
    client.on('end', () => connections.delete(client));
    return client;
  }

  /**
   * After a failover, moves all connections to the new master. The Sentinels announce it to the first connection only, to save
   * connections. The old master may accept commands for 10 s more, but forgets them.
   */
  function moveToNewMaster(): void {
    const addressOf = ({ stream }: Redis) => `${stream.remoteAddress}:${stream.remotePort}`;
    for (const client of connections as Set<Redis>) {
      if (client.status === 'ready' && addressOf(client) !== addressOf(commands as Redis)) client.disconnect(true);
    }
  }

  function connectAgain(): void {
    // A failure is reported by the events of the client, which then tries again.
    if (isClosed || commands.status !== 'end') return;
    connections.add(commands);
    commands.connect().catch(() => undefined);
  }

  const commands = openConnection(
    {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      socketTimeout: SOCKET_TIMEOUT_MS,
    },
    true,
  );
  refuseInTransactions(commands);
  if (settings.sentinels !== undefined) commands.on('ready', moveToNewMaster);
  // ioredis gives up if the Sentinels announce a new master while it asks them for the master.
  commands.on('end', () => {
    if (!isClosed) setTimeout(connectAgain, AFTER_END_MS).unref();
  });
  // Not lazy: a lazy connection gives up if its first attempt fails.
  const createBlockingConnection = () =>
    openConnection({
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
      socketTimeout: BLOCKING_SOCKET_TIMEOUT_MS,
    });
  return {
    commands,
    createBlockingConnection,
    subscribe: createSubscriptions(createBlockingConnection),
    address: formatAddress(settings),
    onPossibleFailover(listener) {
      if (settings.sentinels === undefined && !settings.cluster) return;
      let wasReady = false;
      commands.on('ready', () => {
        if (wasReady) listener();
        wasReady = true;
      });
      // A node has left the cluster. While the client connects, it replaces the nodes of REDIS_URL by those that the cluster names.
      commands.on('-node', () => {
        if (commands.status === 'ready') listener();
      });
    },
    lastError: () => lastError,
    async close() {
      isClosed = true;
      for (const client of connections) client.disconnect();
    },
  };
}
