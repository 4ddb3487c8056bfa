import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { withDeadline } from '../platform/deadline.ts';
import { createSemaphore, isSemaphoreFull } from '../platform/semaphore.ts';
import type { LegacyPassword } from '../platform/settings.ts';

/** scrypt's cost (RFC 7914): N = 2^logN, block size r, parallelism p. One hash needs 128·N·r bytes of memory. */
interface ScryptCost {
  logN: number;
  r: number;
  p: number;
}

/** Hashes passwords and checks them. Every method does its work off the event loop. */
export interface PasswordHasher {
  /** The hash to store: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`, with its cost inside. Rejects a password with NUL (RangeError). */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` is the one behind `stored`. A malformed or absurd hash is false, unless `legacy` knows it. The work is
   * that of a hash of this hasher's cost, whatever `stored` is; more only when `stored` costs more.
   */
  verify(password: string, stored: string): Promise<boolean>;
  /** The work of a `verify` for an account that does not exist, so that time does not tell. Always false. */
  verifyNothing(password: string): Promise<boolean>;
  /** Whether `stored` has a lower cost than this hasher's, or cannot be read. */
  needsRehash(stored: string): boolean;
}

/** Hashes that came from another system. */
interface Legacy {
  /** The setting `auth.legacyPassword`. */
  verify: LegacyPassword;
  /** Told what `verify` threw: to the one who signs in it is a wrong password. */
  failed(error: unknown): void;
}

/** What is stored in place of a hash for a user who has no password: none is right. */
export const NO_PASSWORD = '!';

/** The hash of a user `u` in a statement. Where passwords are optional a column may be empty: that is no password either. */
export function storedHash(column: string): string {
  return `coalesce(u."${column}", '${NO_PASSWORD}')`;
}

interface StoredHash extends ScryptCost {
  salt: Buffer;
  hash: Buffer;
}

/** At some nine hashes a second the last of them waits half a minute: for longer no client does. */
const MAX_WAITING = 256;
/** A verifier that hangs must not keep its place: with two of them nobody could sign in any more. */
const LEGACY_MS = 10_000;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MAX_MEMORY_BYTES = 256 * 2 ** 20;
const MAX_PARALLELISM = 16;
/** Rests below a thirty-second of a hash are left out: no clock on the other side of a network tells them. */
const FINEST_REST = 5;
const STORED = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/**
 * Makes a scrypt password hasher. Hashes have the PHC string format: base64 without padding, salt of 16 bytes, hash of 32.
 *
 * @param cost what new hashes cost; `{ logN: 15, r: 8, p: 3 }` takes 32 MiB
 * @param options `concurrency`: how many are computed at once; each holds one of the four threads of libuv's pool. `maxQueue`:
 *   how many may wait for that; beyond, methods reject with `SEMAPHORE_FULL`. `legacy`: checks hashes of any other format
 * @throws RangeError when the cost is not usable: above 256 MiB or p 16, or not made of positive integers
 */
export function createPasswordHasher(
  cost: ScryptCost,
  {
    concurrency = 2,
    maxQueue = MAX_WAITING,
    legacy,
  }: { concurrency?: number; maxQueue?: number; legacy?: Legacy | undefined } = {},
): PasswordHasher {
  if (!isBearable(cost))
    throw new RangeError(`Unusable scrypt cost ${format(cost)}: at most 256 MiB (128·N·r) and p 16`);
  const semaphore = createSemaphore(concurrency, { maxQueue });
  const nothing: StoredHash = { ...cost, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

  // NFC, so that one password typed on two systems is one password (RFC 8265, OpaqueString).
  const compute = (password: string, { logN, r, p, salt }: Omit<StoredHash, 'hash'>, length: number) =>
    // Node's default bound is exactly what logN 15, r 8 need without p, and so refuses it.
    derive(password.normalize('NFC'), salt, length, { N: 2 ** logN, r, p, maxmem: 2 * MAX_MEMORY_BYTES });
  const matches = (password: string, stored: StoredHash) =>
    semaphore.run(async () => {
      const computed = await compute(password, stored, stored.hash.length);
      // A hash from before the cost rose is checked sooner, which would tell that there is an account.
      for (const rest of missingWork(stored, cost)) await compute(password, { ...nothing, ...rest }, HASH_BYTES);
      // scrypt begins with HMAC, which pads its key with NUL (RFC 2104 §2): a password and the same with NUL behind it would be one.
      return timingSafeEqual(computed, stored.hash) && !password.includes('\0');
    });

  let sample: string | undefined;

  /**
   * Whether the project's verifier accepts a password for a foreign hash. Once one was seen it is asked at every check, about that
   * one where there is none of the user's: otherwise its time would tell whose password has not been set anew.
   *
   * @param stored undefined: there is no such hash
   */
  async function acceptedByLegacy(password: string, stored: string | undefined): Promise<boolean> {
    if (legacy === undefined) return false;
    const foreign = stored === NO_PASSWORD || stored === '' ? undefined : stored;
    sample = foreign ?? sample;
    const asked = sample;
    if (asked === undefined) return false;
    try {
      const accepted = await semaphore.run(() =>
        withDeadline(Promise.resolve(legacy.verify(asked, password)), LEGACY_MS),
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
      const salt = randomBytes(SALT_BYTES);
      const hash = await semaphore.run(() => compute(password, { ...cost, salt }, HASH_BYTES));
      return `$scrypt$${format(cost)}$${toBase64(salt)}$${toBase64(hash)}`;
    },

    async verify(password, stored) {
      const parsed = parse(stored);
      const equal = await matches(password, parsed ?? nothing);
      const accepted = await acceptedByLegacy(password, parsed === null ? stored : undefined);
      return parsed === null ? accepted : equal;
    },

    async verifyNothing(password) {
      await matches(password, nothing);
      await acceptedByLegacy(password, undefined);
      return false;
    },

    needsRehash(stored) {
      const parsed = parse(stored);
      return parsed === null || parsed.logN < cost.logN || parsed.r < cost.r || parsed.p < cost.p;
    },
  };
}

function parse(stored: string): StoredHash | null {
  const [, logN, r, p, salt, hash] = STORED.exec(stored) ?? [];
  if (!salt || !hash) return null;
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return isBearable(cost) ? { ...cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') } : null;
}

function isBearable({ logN, r, p }: ScryptCost): boolean {
  const positive = [logN, r, p].every((value) => Number.isInteger(value) && value > 0);
  return positive && 128 * 2 ** logN * r <= MAX_MEMORY_BYTES && p <= MAX_PARALLELISM;
}

/** What is to be computed besides a hash of the cost `done`, so that it takes as long as one of the cost `whole`. */
function missingWork(done: ScryptCost, whole: ScryptCost): ScryptCost[] {
  const { r } = whole;
  const rest: ScryptCost[] = [];
  let left = (2 ** whole.logN * r * whole.p - 2 ** done.logN * done.r * done.p) / r;
  for (let logN = whole.logN; logN > Math.max(0, whole.logN - FINEST_REST); logN--) {
    const p = Math.floor(left / 2 ** logN);
    if (p > 0) rest.push({ logN, r, p });
    left -= Math.max(0, p) * 2 ** logN;
  }
  return rest;
}

function format({ logN, r, p }: ScryptCost): string {
  return `ln=${logN},r=${r},p=${p}`;
}

function toBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
