const factor = Number(process.env.FUZZ_RUNS ?? 1);

/** How many times a property is tried: `usual`, times FUZZ_RUNS where it is set (README, "Where to look next"). */
export const runs = (usual: number) => Math.ceil(usual * factor);
