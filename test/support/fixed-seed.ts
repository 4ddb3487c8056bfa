import fc from 'fast-check';
import { isFuzzing } from './runs.ts';

// A commit is green or not, whoever runs it and however often. What random values find is found by FUZZ_RUNS.
if (!isFuzzing) fc.configureGlobal({ seed: 20_261_121 });
