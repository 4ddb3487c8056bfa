/** Failed attempts under one name, which is an e-mail address or a user. Redis has only a hash of it. */
export interface LockoutEntry {
  /** The SHA-256 of the name, in hex. */
  id: string;
  /** The failed attempts that still count. */
  failures: number;
  /** The end of the lock, ISO 8601; null: not locked. */
  lockedUntil: string | null;
}

/** The locks after failed attempts, for administrators. */
export interface Lockouts {
  /** The setting `auth.lockout`; undefined if nothing is ever locked. */
  rule: { maxAttempts: number; windowMinutes: number; lockMinutes: number } | undefined;
  /**
   * Reads failed attempts and locks. `isCut`: there are more.
   *
   * @param ids default: up to 1,000 of all
   *
   * @throws the error of Redis if it is not usable
   */
  find(ids?: readonly string[]): Promise<{ lockouts: LockoutEntry[]; isCut: boolean }>;
  /** Returns the ids that count the attempts of an address or a user: sign-ins, confirmations by password, codes. */
  idsOf(account: {
    email?: string | undefined;
    userId?: string | undefined;
  }): { kind: 'sign-in' | 'password' | 'code'; id: string }[];
  /** Clears failed attempts and their lock. @throws ApiError UNAVAILABLE if Redis is not usable; they then remain */
  clear(id: string): Promise<void>;
}
