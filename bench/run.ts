// `npm run bench`: measures Belfry on a Postgres and a Redis of its own. `npm run bench -- --help` lists the commands.
import { USAGE } from './command-line.ts';
import { runFigures } from './figures.ts';
import { runGuard } from './guard/guard.ts';
import { runHeldSnapshot } from './held-snapshot/run.ts';
import { runPeers } from './peers/run.ts';
import { runProfile } from './profiling/profile.ts';

const COMMANDS: Record<string, (args: string[]) => Promise<void>> = {
  guard: runGuard,
  profile: runProfile,
  peers: runPeers,
  'held-snapshot': runHeldSnapshot,
};

const args = process.argv.slice(2);
const [first = '', ...rest] = args;
if (args.includes('--help') || args.includes('-h')) console.log(USAGE);
else if (Object.hasOwn(COMMANDS, first)) await COMMANDS[first]!(rest);
else await runFigures(args);
