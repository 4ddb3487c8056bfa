import fc from 'fast-check';
import { isFuzzing } from './fuzz-runs.ts';

// A fixed seed, so that a commit passes or fails the same way on every run. FUZZ_RUNS searches with random values.
if (!isFuzzing) fc.configureGlobal({ seed: 20_261_121 });
