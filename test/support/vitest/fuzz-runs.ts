const fuzzRuns = process.env.FUZZ_RUNS;

/** Whether properties run with new random values each time, as often as FUZZ_RUNS says (docs/extend/development.md). */
export const isFuzzing = fuzzRuns !== undefined;

/** The number of runs of a property: `usual`, multiplied by FUZZ_RUNS if it is set. */
export const scaleRuns = (usual: number) => Math.ceil(usual * Number(fuzzRuns ?? 1));
