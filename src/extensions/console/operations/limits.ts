import { isIP } from 'node:net';
import {
  ApiError,
  addressOf,
  clientKeyOf,
  type ExtensionHost,
  isId,
  ownLockoutError,
  type RouteContext,
} from '../../../extension/index.ts';
import type { CountedClient } from '../../../platform/work/limits/index.ts';
import type * as Responses from './responses.ts';

type LimitsHost = Pick<ExtensionHost, 'limits' | 'processes' | 'settings' | 'env' | 'routes' | 'accounts' | 'users'>;

const MAX_LISTED = 200;

/** Creates the function that describes a client for the page. `label`: the limit, for people. */
function createItemFactory({ routes }: Pick<LimitsHost, 'routes'>) {
  const apiRoutes = new Set(routes().map(({ method, path }) => `${method} ${path}`));
  const labelOf = (name: string) => (apiRoutes.has(name) ? name.replace(' ', ' /api') : name);
  return ({ name, rule, client, count, leftMs }: CountedClient): Responses.CountedClient => ({
    ...{ name, ...rule, client, count, leftMs },
    label: name === 'all' ? 'all routes' : labelOf(name),
    isLimited: count > rule.limit,
  });
}

/** The clients with the highest share of their limit, the limited ones first. */
function sortClients(clients: readonly CountedClient[]): CountedClient[] {
  const shareOf = ({ count, rule }: CountedClient) => count / rule.limit;
  return clients.toSorted((a, b) => shareOf(b) - shareOf(a));
}

/** Returns the configured limits. `routes` of `auth`: those with `rateLimit: 'auth'`. No round trip. */
export function readLimitRules({ limits, settings, env, routes, accounts }: LimitsHost): Responses.LimitRules {
  const { enabled = env.nodeEnv !== 'test', global: globalRule, auth } = settings.rateLimit;
  const limited = routes().filter(({ rateLimit }) => rateLimit !== undefined);
  const toLimiterName = ({ method, path }: { method: string; path: string }) => `${method} /api${path}`;
  const known = new Set(['all', ...limited.map(({ method, path }) => `${method} ${path}`)]);
  return {
    isEnabled: enabled,
    areLoopbackClientsLimited: env.loopbackRateLimits,
    global: globalRule === false ? null : globalRule,
    auth: auth === false ? null : auth,
    authRoutes: limited.filter(({ rateLimit }) => rateLimit === 'auth').map(toLimiterName),
    routes: limited.flatMap(({ rateLimit, ...route }) =>
      typeof rateLimit === 'object' ? [{ route: toLimiterName(route), ...rateLimit }] : [],
    ),
    // Limits of features, such as e-mails to one address.
    others: limits
      .rules()
      .filter(({ name }) => !known.has(name))
      .map(({ name, rule }) => ({ name, ...rule })),
    lockout: accounts?.lockouts.rule ?? null,
  };
}

/** Reads the clients that are counted now. At most 40 calls of SCAN, and as many round trips for the counts. */
export async function readLimitedClients(host: LimitsHost): Promise<Responses.CountedClients> {
  const { clients, isCut } = await host.limits.findClients();
  const limited = clients.filter(({ count, rule }) => count > rule.limit).length;
  return {
    clients: sortClients(clients).slice(0, MAX_LISTED).map(createItemFactory(host)),
    counted: clients.length,
    limited,
    isCut: isCut || clients.length > MAX_LISTED,
  };
}

/** Reads the locked and failed sign-ins. Their names are hashed, so only a search says whose they are. */
export async function readLockouts({ accounts }: LimitsHost): Promise<Responses.LockoutList> {
  if (accounts === undefined) return { lockouts: [], isCut: false };
  const { lockouts, isCut } = await accounts.lockouts.find();
  const sorted = lockouts.sort(
    (a, b) => (b.lockedUntil ?? '').localeCompare(a.lockedUntil ?? '') || b.failures - a.failures,
  );
  return { lockouts: sorted.slice(0, MAX_LISTED), isCut: isCut || sorted.length > MAX_LISTED };
}

/** Returns the e-mail address and the user that a text names; neither if it is an unknown id. */
async function findAccount({ accounts, users }: LimitsHost, text: string) {
  if (isId(text)) {
    const [user] = (await users?.load([text])) ?? [];
    return { email: user === undefined ? undefined : String(user.email), userId: user?.id };
  }
  const user = await accounts?.findUserByEmail(text);
  return { email: text, userId: user?.id };
}

/**
 * Looks up an IP address, an e-mail address or the id of a user: what is counted for it now. A few round trips.
 *
 * @throws ApiError BAD_REQUEST for anything else
 */
export async function lookUpCounts(host: LimitsHost, text: string): Promise<Responses.FoundCounts> {
  const { limits, accounts } = host;
  if (isIP(text) !== 0) {
    const client = clientKeyOf(addressOf({ ip: text, socket: {} }));
    const counts = await limits.readClient(client);
    return {
      kind: 'address',
      client,
      counts: sortClients(counts).map(createItemFactory(host)),
      user: null,
      lockouts: [],
    };
  }
  if (!isId(text) && !/^[^\s@]+@[^\s@]+$/.test(text))
    throw new ApiError('BAD_REQUEST', 'q must be an IP address, an e-mail address or the id of a user');
  const account = await findAccount(host, text);
  const names = accounts?.lockouts.idsOf(account) ?? [];
  const keys = [account.email, account.userId].filter((key) => key !== undefined);
  const [{ lockouts } = { lockouts: [] }, counts] = await Promise.all([
    accounts?.lockouts.find(names.map(({ id }) => id)),
    Promise.all(keys.map((key) => limits.readClient(key))),
  ]);
  return {
    kind: 'account',
    client: null,
    counts: sortClients(counts.flat()).map(createItemFactory(host)),
    user: account.userId ?? null,
    lockouts: lockouts.map((entry) => ({ ...entry, kind: names.find(({ id }) => id === entry.id)!.kind })),
  };
}

/**
 * Deletes the count of a client within a limit, for all processes.
 *
 * @throws ApiError NOT_FOUND if there is no such count
 */
export async function clearClient(
  { limits, processes }: LimitsHost,
  { name, windowMs, client }: { name: string; windowMs: number; client: string },
): Promise<void> {
  const isFound = await limits.clear(name, windowMs, client);
  await processes.notify('limit cleared', { name, windowMs, client });
  if (!isFound) throw new ApiError('NOT_FOUND', 'There is no such count: its window may have ended');
}

/** The administrator; undefined in development. */
type Administrator = RouteContext['user'];

/**
 * Clears the failed attempts and the lock under a hash.
 *
 * @throws ApiError NOT_FOUND for anything that is no hash; FORBIDDEN if it belongs to the administrator
 */
export async function clearLockout({ accounts }: LimitsHost, id: string, administrator: Administrator): Promise<void> {
  if (accounts === undefined || !/^[0-9a-f]{64}$/.test(id)) throw new ApiError('NOT_FOUND');
  const { lockouts } = accounts;
  const own = administrator && lockouts.idsOf({ email: String(administrator.email), userId: administrator.id });
  if (own?.some((name) => name.id === id)) throw ownLockoutError();
  await lockouts.clear(id);
}

/** Clears all failed attempts and locks of a user. @throws ApiError NOT_FOUND; FORBIDDEN if the user is the administrator */
export async function unlockAccount(host: LimitsHost, userId: string, administrator: Administrator): Promise<void> {
  if (administrator?.id === userId) throw ownLockoutError();
  const account = isId(userId) ? await findAccount(host, userId) : { userId: undefined };
  if (account.userId === undefined || host.accounts === undefined) throw new ApiError('NOT_FOUND');
  const { lockouts } = host.accounts;
  await Promise.all(lockouts.idsOf(account).map(({ id }) => lockouts.clear(id)));
}
