import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createFolder, run } from './command.ts';

test('--help prints every option, and --version prints the version', async () => {
  const cwd = createFolder();
  for (const flag of ['--help', '-h']) {
    const { code, output } = await run([flag], { cwd });
    expect(code).toBe(0);
    for (const option of ['--example', '--belfry', '--no-install', '--no-git', '--yes', '--help', '--version'])
      expect(output).toContain(option);
  }
  const { version } = JSON.parse(readFileSync('create-belfry/package.json', 'utf8'));
  for (const flag of ['--version', '-v'])
    expect(await run([flag], { cwd })).toMatchObject({ code: 0, output: version });
  expect(readdirSync(cwd)).toEqual([]);
});

test.each([
  [['app', '--exmaple', 'blog'], 'Unknown option --exmaple. Did you mean --example?'],
  [['app', '--no-gti'], 'Unknown option --no-gti. Did you mean --no-git?'],
  [['app', '--install'], 'Unknown option --install.'],
  [['app', '--colour=red'], 'Unknown option --colour.'],
  [['app', '-x'], 'Unknown option -x.'],
  [['app', '--toString'], 'Unknown option --toString.'],
  [['app', '--example'], '--example needs a value.'],
  [['app', '--example='], '--example needs a value.'],
  [['app', '--example', '--yes'], '--example needs a value.'],
  [['app', '--belfry'], '--belfry needs a value.'],
  [['app', '--yes=no'], '--yes takes no value.'],
  [['app', '--no-install=1'], '--no-install takes no value.'],
  [['app', '--example', 'blogg'], 'Unknown example "blogg". Choose blog or empty.'],
  [['app', '--example', 'constructor'], 'Unknown example "constructor". Choose blog or empty.'],
  [['one', 'two'], 'Only one folder can be given, not 2: one, two'],
  [[''], 'The name of the folder is empty.'],
])('%j is refused with one line and the way to get help', async (args, message) => {
  const cwd = createFolder();
  expect(await run(args, { cwd })).toEqual({
    code: 2,
    output: '',
    errorOutput: `${message}\nFor all options: create-belfry --help`,
  });
  expect(readdirSync(cwd)).toEqual([]);
});

test.each([[[]], [['--yes']], [['--example', 'blog', '--no-install']]])(
  'without a terminal and a folder, %j asks nothing and says what to run',
  async (args) => {
    const cwd = createFolder();
    expect(await run(args, { cwd })).toEqual({
      code: 2,
      output: '',
      errorOutput: 'Name the folder of the app: npm create belfry@latest my-app',
    });
    expect(readdirSync(cwd)).toEqual([]);
  },
);
