const given = process.env.FUZZ_RUNS;

/** Whether properties are tried with other values each time, as many times as FUZZ_RUNS says (docs/development.md). */
export const isFuzzing = given !== undefined;

/** How many times a property is tried: `usual`, times FUZZ_RUNS where it is set. */
export const runs = (usual: number) => Math.ceil(usual * Number(given ?? 1));
