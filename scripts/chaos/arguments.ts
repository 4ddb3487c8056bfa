import { parseArgs } from 'node:util';

const USAGE = 'npm run chaos -- [--deliveries 10000] [--kills 4] [--seed 1] [--hurry] [--json]';

/** The parsed command line. */
export interface ChaosArguments {
  deliveries: number;
  /** Number of kills of the relay, and the same number for the webhook-worker. */
  kills: number;
  /** Seed of all random values. */
  seed: number;
  /** Sets the clock forward after the last disruption, instead of waiting for leases and retries. */
  hurry: boolean;
  json: boolean;
}

/**
 * Reads the command line.
 *
 * @throws Error with a message for the terminal
 */
export function readChaosArguments(given: readonly string[]): ChaosArguments {
  const readNumber = (name: string, text: string, max: number) => {
    if (!/^\d+$/.test(text) || Number(text) > max)
      throw new Error(`--${name} must be from 0 to ${max}, not ${text}.\n${USAGE}`);
    return Number(text);
  };
  let values: ReturnType<typeof parseOptions>['values'];
  try {
    ({ values } = parseOptions(given));
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`);
  }
  return {
    deliveries: readNumber('deliveries', values.deliveries, 1_000_000),
    kills: readNumber('kills', values.kills, 100),
    seed: readNumber('seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 2 ** 31),
    hurry: values.hurry,
    json: values.json,
  };
}

function parseOptions(given: readonly string[]) {
  return parseArgs({
    args: [...given],
    options: {
      deliveries: { type: 'string', default: '10000' },
      kills: { type: 'string', default: '4' },
      seed: { type: 'string' },
      hurry: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
}
