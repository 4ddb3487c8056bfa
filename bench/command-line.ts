import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The usage of all commands of the benchmark. */
export const USAGE = `Usage: npm run bench -- [command] [options]

npm run bench -- [names…]              measures figures against their baselines; without names, all of them
                                       (a name is a group, such as records, or a figure, such as records.read)
  --json                               prints the figures as JSON
  --write                              writes bench/RESULTS.md; only without names
  --reps <number>                      repetitions of each side (3)
  --seconds <number>                   length of each repetition (2)
  --profile <folder>                   writes a CPU profile of each process

npm run bench -- guard [operations…]   compares the working tree with another commit and with the handwritten API;
                                       exit code 1 if an operation became more than 5 % worse
  --against <commit>                   the other commit (that of bench/guard.json)

npm run bench -- profile <operation>   prints which functions take the time of an operation
  --seconds <number>                   how long the operation is profiled (5)
  --out <folder>                       where the profiles are written (bench/profiles)

npm run bench -- peers [peers…]        compares Belfry with other projects that do the same work in the same run, and
                                       installs them on first use (1.1 GB); without names, with all of them;
                                       exit code 1 if one of them could not be installed
  --write                              writes the section "Peers" of bench/RESULTS.md; only without names
  --reps <number>                      rounds of each side (3)
  --seconds <number>                   length of each turn (1.5)

npm run bench -- held-snapshot         prints what each statement of relay and workers reads while another session holds a
                                       snapshot, and before that
  --minutes <number>                   for how long it is held (10)

Operations of guard and profile: read, list, list.uncounted, create, update, sign-in, delivery, job.
Peers: parse, directus, payload, better-auth, graphile-worker, pg-boss, bullmq.`;

/** Ends this process with exit code 2, after a message that says which argument is wrong. */
export function failWithUsage(message: string): never {
  console.error(message);
  process.exit(2);
}

/** Parses options and positional arguments. An unknown option ends this process with a message. */
export function parseCommandLine<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
) {
  try {
    return parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    const [problem] = (error as Error).message.split(/\. |\n/);
    return failWithUsage(`${problem}. For the usage, run npm run bench -- --help`);
  }
}
