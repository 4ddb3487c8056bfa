import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TestSpecification } from 'vitest/node';
import { SLOW_FILES, SlowFilesFirst } from '../support/vitest/slow-files-first.ts';

test('every file in the list of slow test files exists', () => {
  expect(SLOW_FILES.filter((file) => !existsSync(file))).toEqual([]);
});

test('files of a project run one after the other, its slow files first, beginning with the project of the slowest file', async () => {
  const of = (name: string) => {
    const project = { name, config: { root: '/repository', isolate: false, sequence: { groupOrder: 0 } } };
    return (file: string) => ({ project, moduleId: `/repository/${file}` }) as unknown as TestSpecification;
  };
  const [app, process, release] = [of('app'), of('process'), of('release')];
  const equallyLong = { cache: { getTestSpecificationResult: () => ({ failed: false, duration: 1 }) } };
  const sequencer = new SlowFilesFirst(equallyLong as unknown as ConstructorParameters<typeof SlowFilesFirst>[0]);
  const sorted = await sequencer.sort([
    app('test/any.test.ts'),
    process(SLOW_FILES[6]!),
    release(SLOW_FILES[7]!),
    app(SLOW_FILES[8]!),
    process('test/other.test.ts'),
    release(SLOW_FILES[1]!),
  ]);
  expect(sorted.map(({ project, moduleId }) => [project.name, moduleId.slice('/repository/'.length)])).toEqual([
    ['release', SLOW_FILES[1]],
    ['release', SLOW_FILES[7]],
    ['process', SLOW_FILES[6]],
    ['process', 'test/other.test.ts'],
    ['app', SLOW_FILES[8]],
    ['app', 'test/any.test.ts'],
  ]);
});
