/**
 * Runs each side once a round, for some rounds: A B A B A B, so that what disturbs the machine disturbs all alike. Every
 * round begins with the next side, so that none is always first.
 *
 * @returns per side what each round gave, in order
 */
export async function interleave<Side extends string, Result>(
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
