import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { assertOutsideTransaction } from '../../platform/data/postgres/transaction-watch.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { createSemaphore, isSemaphoreFull } from '../../platform/helpers/concurrency/semaphore.ts';
import type { LegacyPassword } from '../../platform/settings/accounts.ts';

/** scrypt's cost (RFC 7914): N = 2^logN, block size r, parallelism p. One hash needs 128·N·r bytes of memory. */
interface ScryptCost {
  logN: number;
  r: number;
  p: number;
}

/** Hashes and verifies passwords. All computation happens off the event loop. */
export interface PasswordHasher {
  /**
   * Returns the hash to store, including its cost: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`.
   *
   * @throws RangeError if the password contains NUL
   */
  hash(password: string): Promise<string>;
  /**
   * Returns whether `password` matches the hash `stored`. A malformed hash, or one of an unusable cost, never matches unless
   * `legacy` accepts it. Takes at least the time of a hash at this hasher's cost, whatever `stored` is.
   */
  verify(password: string, stored: string): Promise<boolean>;
  /** Takes the time of a `verify` and returns false, so that the response time does not reveal that an account is missing. */
  verifyAgainstNothing(password: string): Promise<boolean>;
  /** Returns whether `stored` has a lower cost than this hasher, or another format. */
  needsRehash(stored: string): boolean;
}

/** How to verify hashes that were imported from another system. */
interface Legacy {
  /** The setting `auth.legacyPassword`. */
  verify: LegacyPassword;
  /** Called with the error that `verify` threw. The client gets the response to a wrong password. */
  failed(error: unknown): void;
}

const SALT_BYTES = 16;

/** The beginning of a text that is stored in place of a hash for a user without a password. No password matches such a text. */
export const NO_PASSWORD = '!';

/**
 * Returns a text to store for a user whose password is removed. It is different each time, so that a sign-in in progress notices the removal
 * as it would notice a new password.
 */
export function createNoPassword(): string {
  return NO_PASSWORD + randomBytes(SALT_BYTES).toString('hex');
}

/** Whether a stored hash is that of a password. */
export function isPasswordHash(stored: string): boolean {
  return stored !== '' && !stored.startsWith(NO_PASSWORD);
}

/** Returns the SQL expression for the hash of a user `u`. An empty column of an optional password also means no password. */
export function storedHashSql(column: string): string {
  return `coalesce(u."${column}", '${NO_PASSWORD}')`;
}

interface StoredHash extends ScryptCost {
  salt: Buffer;
  hash: Buffer;
}

/** Maximum number of waiting hashes. At about nine hashes a second, the last one waits half a minute; clients wait no longer. */
const MAX_WAITING = 256;
/** Time limit of a call of `auth.legacyPassword` in ms: two calls that hang would otherwise block all sign-ins. */
const LEGACY_MS = 10_000;

const HASH_BYTES = 32;
const MAX_MEMORY_BYTES = 256 * 2 ** 20;
const MAX_PARALLELISM = 16;
/** Number of halvings: padding work below 1/32 of a hash is left out, because it cannot be measured over a network. */
const FINEST_REST = 5;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/**
 * Creates a scrypt password hasher. Hashes have the PHC string format: base64 without padding, salt of 16 bytes, hash of 32 bytes.
 *
 * @param cost of new hashes; `{ logN: 15, r: 8, p: 3 }` needs 32 MiB
 * @param options `concurrency`: hashes computed at once; each uses one of the four threads of libuv's pool. `maxQueue`: hashes
 *   that may wait; further calls reject with `SEMAPHORE_FULL`. `legacy`: verifies hashes of any other format
 * @throws RangeError if the cost is above 256 MiB or p 16, or not made of positive integers
 */
export function createPasswordHasher(
  cost: ScryptCost,
  {
    concurrency = 2,
    maxQueue = MAX_WAITING,
    legacy,
  }: { concurrency?: number; maxQueue?: number; legacy?: Legacy | undefined } = {},
): PasswordHasher {
  if (!isWithinLimits(cost))
    throw new RangeError(`Invalid scrypt cost ${formatCost(cost)}: 128·N·r must be at most 256 MiB, and p at most 16`);
  const semaphore = createSemaphore(concurrency, { maxQueue });
  const dummyHash: StoredHash = { ...cost, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

  // NFC, because systems encode the same typed password differently (RFC 8265, OpaqueString).
  const computeScrypt = (password: string, { logN, r, p, salt }: Omit<StoredHash, 'hash'>, length: number) =>
    // Node's default memory limit is exactly what logN 15 and r 8 need without p, so Node would refuse that cost.
    deriveKey(password.normalize('NFC'), salt, length, { N: 2 ** logN, r, p, maxmem: 2 * MAX_MEMORY_BYTES });
  const matchesHash = (password: string, stored: StoredHash) => {
    assertOutsideTransaction('A password is verified');
    return semaphore.run(async () => {
      const computed = await computeScrypt(password, stored, stored.hash.length);
      // A hash of a lower cost is computed faster, which would reveal that the account exists. Compute the difference.
      for (const paddingCost of computePaddingCosts(stored, cost))
        await computeScrypt(password, { ...dummyHash, ...paddingCost }, HASH_BYTES);
      // scrypt starts with HMAC, which pads its key with NUL (RFC 2104 §2): a password with NUL appended would match too.
      return timingSafeEqual(computed, stored.hash) && !password.includes('\0');
    });
  };

  let sample: string | undefined;

  /**
   * Returns whether the project's verifier accepts a password for a foreign hash. After the first foreign hash, the verifier runs
   * in every check (with that sample, if the user has no foreign hash); otherwise the time would reveal which users have one.
   *
   * @param stored the user's hash in a format of another system; undefined if the user has none
   */
  async function verifyWithLegacy(password: string, stored: string | undefined): Promise<boolean> {
    if (legacy === undefined) return false;
    const foreign = stored !== undefined && isPasswordHash(stored) ? stored : undefined;
    sample = foreign ?? sample;
    const hashToVerify = sample;
    if (hashToVerify === undefined) return false;
    try {
      const accepted = await semaphore.run(() =>
        withDeadline(Promise.resolve(legacy.verify(hashToVerify, password)), LEGACY_MS),
      );
      return accepted === true && foreign !== undefined && !password.includes('\0');
    } catch (error) {
      if (isSemaphoreFull(error)) throw error;
      legacy.failed(error);
      return false;
    }
  }

  return {
    async hash(password) {
      if (password.includes('\0')) throw new RangeError('A password must not contain NUL');
      assertOutsideTransaction('A password is hashed');
      const salt = randomBytes(SALT_BYTES);
      const hash = await semaphore.run(() => computeScrypt(password, { ...cost, salt }, HASH_BYTES));
      return `$scrypt$${formatCost(cost)}$${toBase64(salt)}$${toBase64(hash)}`;
    },

    async verify(password, stored) {
      const parsed = parseHash(stored);
      const equal = await matchesHash(password, parsed ?? dummyHash);
      const accepted = await verifyWithLegacy(password, parsed === null ? stored : undefined);
      return parsed === null ? accepted : equal;
    },

    async verifyAgainstNothing(password) {
      await matchesHash(password, dummyHash);
      await verifyWithLegacy(password, undefined);
      return false;
    },

    needsRehash(stored) {
      const parsed = parseHash(stored);
      return parsed === null || parsed.logN < cost.logN || parsed.r < cost.r || parsed.p < cost.p;
    },
  };
}

function parseHash(stored: string): StoredHash | null {
  const [, logN, r, p, salt, hash] = STORED.exec(stored) ?? [];
  if (!salt || !hash) return null;
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return isWithinLimits(cost)
    ? { ...cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') }
    : null;
}

function isWithinLimits({ logN, r, p }: ScryptCost): boolean {
  const positive = [logN, r, p].every((value) => Number.isInteger(value) && value > 0);
  return positive && 128 * 2 ** logN * r <= MAX_MEMORY_BYTES && p <= MAX_PARALLELISM;
}

/**
 * Returns the costs of the hashes to compute after a hash of cost `done`, so that all together take as long as one hash of cost
 * `whole`.
 */
function computePaddingCosts(done: ScryptCost, whole: ScryptCost): ScryptCost[] {
  const { r } = whole;
  const padding: ScryptCost[] = [];
  let left = (2 ** whole.logN * r * whole.p - 2 ** done.logN * done.r * done.p) / r;
  for (let logN = whole.logN; logN > Math.max(0, whole.logN - FINEST_REST); logN--) {
    const p = Math.floor(left / 2 ** logN);
    if (p > 0) padding.push({ logN, r, p });
    left -= Math.max(0, p) * 2 ** logN;
  }
  return padding;
}

function formatCost({ logN, r, p }: ScryptCost): string {
  return `ln=${logN},r=${r},p=${p}`;
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
