import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';

// Compiling takes long on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

const copy = mkdtempSync(join(tmpdir(), 'belfry-api-'));
afterAll(() => rmSync(copy, { recursive: true }));
for (const name of ['src', 'packages', 'scripts', 'api', 'migrations', 'package.json', 'tsconfig.json'])
  cpSync(name, join(copy, name), { recursive: true, filter: (path) => !path.includes('node_modules') });
const CHANGELOG = '# Changelog\n\n## Unreleased\n\n## 1.0.0 - 2030-01-01\n';
writeFileSync(join(copy, 'CHANGELOG.md'), CHANGELOG);
symlinkSync(join(process.cwd(), 'node_modules'), join(copy, 'node_modules'), 'junction');

/** Runs git in the copy. */
function git(...args: string[]): void {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  const { status, stderr } = spawnSync('git', [...identity, ...args], { cwd: copy, encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 0 });
}

function edit(file: string, before: string, after: string): void {
  const text = readFileSync(join(copy, file), 'utf8');
  expect(text).toContain(before);
  writeFileSync(join(copy, file), text.replaceAll(before, after));
}

/** Runs the command in the copy of the repository. Returns its exit code and its output. */
function api(...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/api/api.ts', ...args], {
    cwd: copy,
    encoding: 'utf8',
  });
  return { code: status, output: stdout + stderr };
}

test('a changed copy of the repository is written only after a review of what breaks', () => {
  git('init', '--quiet');
  git('add', 'api', 'CHANGELOG.md');
  git('commit', '--quiet', '--message', 'Release 1.0.0');
  edit('src/app/resources/comment.ts', 'fields: {', 'fields: {\n    mood: f.string().max(20),');
  edit('src/app/resources/comment.ts', 'fields: {', "crud: ['list', 'read', 'create', 'update'],\n  fields: {");
  for (const file of globSync('src/**/*.ts', { cwd: copy }))
    if (readFileSync(join(copy, file), 'utf8').includes('PolicyFunction')) edit(file, 'PolicyFunction', 'PolicyRule');
  const refused = api('--write');
  expect(refused).toEqual({ code: 1, output: expect.stringMatching(/run: npm run api -- --write --breaking\n$/) });
  expect(refused.output).toContain('schema Comment in responses: mood: new property');
  expect(refused.output).toContain('schema CommentCreate in requests: mood: new property');
  expect(refused.output).toContain('DELETE /api/comments/{id}: removed');
  expect(refused.output).toContain('belfry: PolicyFunction: removed');
  expect(refused.output).toContain('belfry: PolicyRule: new export');

  expect(refused.output).toContain('POST /api/comments/batch: body.operations[]: removed variant');

  const entries =
    '- `DELETE /api/comments/{id}`, also in `POST /api/comments/batch`.\n- The type `PolicyFunction` is now `PolicyRule`.';
  edit('CHANGELOG.md', '## Unreleased\n', `## Unreleased\n\n### Removed\n\n${entries}\n`);
  expect(api('--write', '--breaking')).toEqual({
    code: 0,
    output: expect.stringContaining('Wrote api/belfry.api.md, api/extension.api.md, api/openapi.json.'),
  });
  git('commit', '--quiet', '--all', '--message', 'Remove two things');
  expect(api()).toEqual({ code: 0, output: 'The public API is what the files in api/ say.\n' });
  expect(api('--since', 'HEAD~1')).toEqual({
    code: 0,
    output: expect.stringContaining('DELETE /api/comments/{id}: removed'),
  });

  // Committed files are no excuse: the changelog must list what breaks users of the last release.
  writeFileSync(join(copy, 'CHANGELOG.md'), CHANGELOG);
  git('commit', '--quiet', '--all', '--message', 'Forget the entries');
  const unmentioned = api();
  expect(unmentioned).toEqual({ code: 1, output: expect.stringContaining('does not mention these breaking changes') });
  expect(unmentioned.output).toContain('belfry: PolicyFunction: `PolicyFunction`');
});

test('options that do not belong together are refused', () => {
  const output = '--breaking belongs to --write: npm run api -- --write --breaking\n';
  expect(api('--breaking')).toEqual({ code: 1, output });
  expect(api('--since', 'no-such-release')).toEqual({ code: 1, output: 'git has no revision "no-such-release"\n' });
});
