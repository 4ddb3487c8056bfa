/**
 * Runs each side once per round, for several rounds: A B A B A B, so that noise of the machine affects all sides equally. Every
 * round starts with the next side, so that no side is always first.
 *
 * @returns the results of each side, by round
 */
export async function runInterleaved<Side extends string, Result>(
  sides: Record<Side, () => Promise<Result>>,
  rounds: number,
): Promise<Record<Side, Result[]>> {
  const names = Object.keys(sides) as Side[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, Result[]>;
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(round + i) % names.length]!;
      results[name].push(await sides[name]());
    }
  }
  return results;
}
