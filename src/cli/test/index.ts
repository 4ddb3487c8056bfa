import type { Command } from 'commander';

/** Adds `belfry test`, which runs the tests of an app. All of their processes share one Postgres and one Redis. */
export function addTestCommand(program: Command): void {
  program
    .command('test')
    .usage('<command...>')
    .description(
      'Run a command, such as vitest or node --test, with a throw-away Postgres and Redis. Its exit code is that of the command.',
    )
    .argument('<command...>', 'The command and its options')
    .addHelpText('after', '\nExamples:\n  belfry test vitest run\n  belfry test node --test')
    // Options after the command are the command's own, also those that every command of Belfry has: `belfry test vitest --help`.
    .passThroughOptions()
    .action(async (words: string[]) => {
      const { runWithServers } = await import('./run.ts');
      // The command line would report 0 for a command of its own that succeeded.
      process.exit(await runWithServers(words));
    });
}
