import type { Adapter, AdapterPayload } from 'oidc-provider';

/** The most entries of each kind. A developer needs few; the oldest ones go first. */
const MAX_ENTRIES = 1000;

/** Creates the storage of a simulated provider for one kind of data, such as codes. It is empty after a restart. */
export function createMemoryAdapter(): Adapter {
  const entries = new Map<string, { payload: AdapterPayload; expiresAt: number }>();

  function findBy(matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined {
    return entries.values().find(({ payload, expiresAt }) => expiresAt > Date.now() && matches(payload))?.payload;
  }

  return {
    async upsert(id, payload, expiresIn) {
      entries.delete(id);
      entries.set(id, { payload, expiresAt: Date.now() + (expiresIn ?? 3600) * 1000 });
      if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
    },
    async find(id) {
      const entry = entries.get(id);
      return entry !== undefined && entry.expiresAt > Date.now() ? entry.payload : undefined;
    },
    async findByUid(uid) {
      return findBy((payload) => payload.uid === uid);
    },
    async findByUserCode(userCode) {
      return findBy((payload) => payload.userCode === userCode);
    },
    async consume(id) {
      const entry = entries.get(id);
      if (entry !== undefined) entry.payload.consumed = Math.floor(Date.now() / 1000);
    },
    async destroy(id) {
      entries.delete(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, { payload }] of entries) if (payload.grantId === grantId) entries.delete(id);
    },
  };
}
