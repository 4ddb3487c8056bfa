import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startNode } from '../../support/processes/command.ts';
import { runCommand } from '../../support/processes/in-process.ts';
import { getUsageError } from '../../support/processes/usage-error.ts';

test.each([
  ['admni list', 'Unknown command admni. Did you mean admin?'],
  ['constructor', 'Unknown command constructor.'],
  ['--verison', 'Unknown option --verison. Did you mean --version?'],
  ['--fresh dev', 'Unknown option --fresh.'],
  ['--app', '--app needs a value: <file>.'],
  ['--app= doctor', '--app needs a value: <file>.'],
  ['doctor --app', '--app needs a value: <file>.'],
  ['dev fast', 'dev takes no arguments, but got: fast.'],
  ['dev --frehs', 'Unknown option --frehs. Did you mean --fresh?'],
  ['dev --fresh=yes', '--fresh takes no value.'],
  ['dev --frehs=yes', 'Unknown option --frehs=yes.'],
  ['admin create --email a@b.c --password-stdin=yes', '--password-stdin takes no value.'],
  ['--version=1', '--version takes no value.'],
  ['keys status --help=yes', '--help takes no value.'],
  ['dev --allow-los', 'Unknown option --allow-los. Did you mean --allow-loss?'],
  ['start db', 'Unknown role db. Choose from web, relay, webhook-worker, push-worker, job-worker.'],
  ['start web relay', 'start takes one argument, but got: web, relay.'],
  ['start --port 80', 'Unknown option --port.'],
  ['doctor all', 'doctor takes no arguments, but got: all.'],
  ['doctor --jsno', 'Unknown option --jsno. Did you mean --json?'],
  ['test', 'The argument <command> is missing.'],
  ['test --watch vitest', 'Unknown option --watch.'],
])('belfry %s is refused: %s', async (line, error) => {
  expect(await getUsageError(line)).toBe(error);
});

test.each([
  ['', 'No command given.', 'belfry'],
  ['migration', 'No command given.', 'belfry migration'],
  ['admin', 'No command given.', 'belfry admin'],
  ['keys', 'No command given.', 'belfry keys'],
  ['webhooks', 'No command given.', 'belfry webhooks'],
  ['audit', 'No command given.', 'belfry audit'],
  ['privacy', 'No command given.', 'belfry privacy'],
  ['help admni', 'Unknown command admni.', 'belfry'],
  ['keys help show', 'Unknown command show.', 'belfry keys'],
])('belfry %s fails, and prints the commands to choose from', async (line, error, shown) => {
  const { code, output, errorOutput } = await runCommand(line);
  expect([code, output]).toEqual([2, '']);
  expect(errorOutput).toContain(`${error}\nUsage: ${shown} [options] [command]\n`);
  expect(errorOutput).toMatch(/\nCommands:\n {2}\w+ /);
});

test.each([
  ['EACCES', '/app/.data: permission denied. Allow this user to write there, or run the command as the owner.'],
  ['EROFS', '/app/.data: the file system is read-only. Run the command where it can write.'],
  ['EISDIR', 'EISDIR: mkdir'],
])('a command that cannot write a file (%s) says so without a stack trace', async (code, message) => {
  const fail = () => {
    throw Object.assign(new Error(`${code}: mkdir`), { code, path: '/app/.data' });
  };
  expect(await runCommand('privacy report', fail)).toEqual({ code: 1, output: '', errorOutput: message });
});

test('--version prints the version of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  expect(await runCommand('--version')).toEqual({ code: 0, output: version, errorOutput: '' });
});

/** Prints the files and packages that a process loads, when it exits. */
const PRINT_LOADED = `import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  process.on('exit', () => console.log(JSON.stringify(loaded)));`;

test.each(['--version', '--help', 'admin create --help', 'doctor --jsno'])(
  'belfry %s loads the command line, and nothing of the app, the database or the servers',
  async (line) => {
    const hook = `data:text/javascript,${encodeURIComponent(PRINT_LOADED)}`;
    const { ended } = startNode('.', ['--import', hook, 'src/cli/belfry.ts', ...line.split(' ')]);
    const urls: string[] = JSON.parse((await ended).output.split('\n').at(-1)!);
    const files = urls
      .filter((url) => url.startsWith('file:'))
      .map((url) => url.replace(/^.*?\/(?=src\/|node_modules\/)/, ''));
    expect(files).toContain('src/cli/command-line.ts');
    const others = files.filter((file) => !/^(src\/cli|node_modules\/commander)\//.test(file));
    expect(others.toSorted()).toEqual([
      'node_modules/inflection/lib/inflection.js',
      'src/declare/job-record.ts',
      'src/declare/naming.ts',
      'src/declare/process-role.ts',
      'src/dev-servers/on-stop-request.ts',
      'src/platform/helpers/duration.ts',
      'src/platform/helpers/version.ts',
    ]);
  },
);

/** The help of each command, by its words: `admin create`. Groups of commands are those that list commands. */
async function collectHelp(words = ''): Promise<Map<string, string>> {
  const { code, output, errorOutput } = await runCommand(`${words} --help`);
  expect({ words, code, errorOutput }).toEqual({ words, code: 0, errorOutput: '' });
  const [, list = ''] = output.split('\nCommands:\n');
  const names = [...list.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name]) => name!).filter((name) => name !== 'help');
  const below = await Promise.all(names.map((name) => collectHelp(`${words} ${name}`.trim())));
  return new Map([[words, output], ...below.flatMap((found) => [...found])]);
}

test('every command has a help that names its arguments and options', async () => {
  const help = await collectHelp();
  expect([...help.keys()]).toEqual(
    expect.arrayContaining([
      '',
      'dev',
      'start',
      'migrate',
      'migration generate',
      'admin create',
      'keys rotate',
      'doctor',
      'test',
    ]),
  );
  for (const [words, text] of help) {
    expect(text).toMatch(new RegExp(`^Usage: ${`belfry ${words}`.trim()}( [[<]|\n|$)`));
    // The usage, an empty line, the description.
    expect(text.split('\n')[2]).toMatch(/^[A-Z]/);
    expect((await runCommand(`help ${words}`)).code).toBe(0);
  }
});

test('every command refuses arguments that it does not take', async () => {
  const help = await collectHelp();
  const commands = [...help].filter(([, text]) => !text.includes('\nCommands:\n') && !/^Usage: .*\.\.\./.test(text));
  expect(commands.length).toBeGreaterThan(15);
  for (const [words] of commands) {
    const { code, errorOutput } = await runCommand(
      `${words} surplus surplus --email a@example.com --since 1d --endpoint ${'a'.repeat(24)}`,
    );
    expect([words, code, errorOutput]).toEqual([words, 2, expect.stringMatching(/^(Unknown|\S+ takes)/)]);
  }
});
