/** An estimate of the ratio of two costs, with its 95 % confidence interval. */
export interface Interval {
  ratio: number;
  low: number;
  high: number;
  /** How far the interval reaches from the ratio: 0.03 for ±3 %. */
  margin: number;
}

/** The 97.5 % quantiles of Student's t for 1 to 20 degrees of freedom. */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086,
];
const TRIMMED_SHARE = 0.2;

const getQuantile = (degrees: number) => T_QUANTILES[degrees - 1] ?? 1.96 + 2.5 / degrees;

/**
 * Estimates the ratio of two sides from the costs of rounds that were measured in pairs. It needs at least two rounds.
 *
 * It is the trimmed mean of the logarithms of the rounds' ratios, with Yuen's interval: a fifth of the rounds is left out at each end, because
 * a single round that the machine disturbed would otherwise widen the interval more than ten good rounds narrow it.
 */
export function estimateRatio(costs: readonly number[], otherCosts: readonly number[]): Interval {
  const logs = costs.map((cost, round) => Math.log(cost / otherCosts[round]!)).sort((a, b) => a - b);
  const trimmed = Math.floor(logs.length * TRIMMED_SHARE);
  const kept = logs.slice(trimmed, logs.length - trimmed);
  const mean = kept.reduce((sum, log) => sum + log, 0) / kept.length;
  // The variance counts a round that was left out as the nearest one that was kept.
  const clamped = logs.map((log) => Math.min(Math.max(log, kept[0]!), kept.at(-1)!));
  const clampedMean = clamped.reduce((sum, log) => sum + log, 0) / clamped.length;
  const squares = clamped.reduce((sum, log) => sum + (log - clampedMean) ** 2, 0);
  const error = Math.sqrt(squares / (kept.length * (kept.length - 1)));
  const reach = getQuantile(kept.length - 1) * error;
  const ratio = Math.exp(mean);
  return { ratio, low: Math.exp(mean - reach), high: Math.exp(mean + reach), margin: Math.exp(reach) - 1 };
}
