import type { z } from 'zod';
import { MIN_REPLICA_CONNECTIONS } from '../postgres/lanes.ts';
import type { PoolerSetting } from '../postgres/session.ts';

/** The read replica of an app. */
export interface ReplicaSettings {
  url: string;
  pooler: PoolerSetting;
  /** The maximum number of connections of this process to the replica. */
  poolMax: number;
  /** How old the data of the replica may be, in ms. */
  maxLagMs: number;
}

const DEFAULT_POOL_MAX = 6;
const DEFAULT_MAX_LAG_MS = 5000;

/** The schemas of a URL, of the mode of a pooler, and of a number, as other databases of the environment have them. */
interface SchemaParts {
  url: (name: string) => z.ZodType<string>;
  pooler: (name: string) => z.ZodType<PoolerSetting, string | undefined>;
  number: (name: string, max: number, min: number) => z.ZodType<number>;
}

/** Creates the schemas of the variables of the replica. */
export function createReplicaSchemas({ url, pooler, number }: SchemaParts) {
  return {
    DATABASE_REPLICA_URL: url('DATABASE_REPLICA_URL').optional(),
    DATABASE_REPLICA_POOLER: pooler('DATABASE_REPLICA_POOLER'),
    DATABASE_REPLICA_POOL_MAX: number('DATABASE_REPLICA_POOL_MAX', 1000, MIN_REPLICA_CONNECTIONS).optional(),
    DATABASE_REPLICA_MAX_LAG_MS: number('DATABASE_REPLICA_MAX_LAG_MS', 300_000, 1000).optional(),
  };
}

type ReplicaVariables = { [Name in keyof ReturnType<typeof createReplicaSchemas>]?: unknown } & {
  DATABASE_REPLICA_URL?: string | undefined;
  DATABASE_REPLICA_POOLER: PoolerSetting;
  DATABASE_REPLICA_POOL_MAX?: number | undefined;
  DATABASE_REPLICA_MAX_LAG_MS?: number | undefined;
};

/** Returns the settings of the replica; undefined if there is none. */
export function toReplicaSettings(env: ReplicaVariables): ReplicaSettings | undefined {
  if (env.DATABASE_REPLICA_URL === undefined) return undefined;
  return {
    url: env.DATABASE_REPLICA_URL,
    pooler: env.DATABASE_REPLICA_POOLER,
    poolMax: env.DATABASE_REPLICA_POOL_MAX ?? DEFAULT_POOL_MAX,
    maxLagMs: env.DATABASE_REPLICA_MAX_LAG_MS ?? DEFAULT_MAX_LAG_MS,
  };
}
