// Declares the types of `belfry/console`, for tabs of extensions outside of this repository.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('tsconfig.types.json', import.meta.url));

/**
 * Writes `console.d.ts`, the declarations that it refers to into the folder `types`, and `console.js`: the module itself exists only in pages of
 * the console, whose server maps its name.
 *
 * @throws Error with the messages of the compiler
 */
export function buildConsoleTypes(folder: string): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  const types = join(folder, 'types');
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', PROJECT, '--outDir', types], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stdout);
  for (const name of globSync('**/*.d.ts', { cwd: types })) {
    const file = join(types, name);
    // The compiler keeps the names of sources in declarations.
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.{1,2}\/[^'"]+)\.tsx?(['"])/g, '$1.js$2'));
  }
  const reason = 'belfry/console exists only in pages of the console.';
  writeFileSync(join(folder, 'console.js'), `throw new Error('${reason}');\nexport {};\n`);
  writeFileSync(join(folder, 'console.d.ts'), "export * from './types/packages/pages/src/console/kit.js';\n");
}
