import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { buildDeclarations } from '../../package/build.ts';
import { COMPILED_PACKAGES, publishedManifest, readManifest } from '../../package/manifest.ts';
import { type ApiReport, parseExtractedReport } from './report-text.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Returns the path of the declarations of an entry point, where `buildDeclarations` writes them. */
function findDeclarations(entryPoint: string): string {
  const folder = COMPILED_PACKAGES.find((each) => `${entryPoint}/`.startsWith(`${readManifest(each).name}/`))!;
  const { name, exports } = publishedManifest(folder);
  const { types } = exports![`.${entryPoint.slice(name.length)}`] as { types: string };
  return join(folder, types);
}

/** Makes the declarations of packages that others import resolve to those in a folder, not to the sources. */
function linkPackages(declarations: string): void {
  for (const folder of COMPILED_PACKAGES.filter((each) => each !== '.')) {
    const manifest = publishedManifest(folder);
    writeFileSync(join(declarations, folder, 'package.json'), JSON.stringify(manifest));
    const link = join(declarations, 'node_modules', manifest.name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(declarations, folder), link);
  }
}

function prepareConfig(entryPoint: string, fileName: string, declarations: string, reports: string): ExtractorConfig {
  const compilerOptions = {
    target: 'esnext',
    lib: ['esnext'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      // A change of what clients infer changes what `belfry` exports.
      bundledPackages: ['@belfry/client', '@belfry/verify-webhook'],
      mainEntryPointFilePath: join(declarations, findDeclarations(entryPoint)),
      compiler: { overrideTsconfig: { compilerOptions, include: [join(declarations, '**/*.d.ts')] } },
      apiReport: {
        enabled: true,
        // Also the types that exported ones refer to: a change of `ResourceOptions` changes `defineResource`.
        includeForgottenExports: true,
        reportFileName: fileName,
        reportFolder: reports,
        reportTempFolder: join(reports, 'temp'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
}

/**
 * Reads what modules add to interfaces of other modules, such as the option `softDelete` of resources. API Extractor leaves it out.
 *
 * @param folder the folder of the declarations
 * @returns the additional declarations, as code
 */
function readAugmentations(folder: string): string {
  const files = globSync('**/*.d.ts', { cwd: folder }).sort();
  const additions = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\/\s*/g, '');
    return Array.from(text.matchAll(/^declare module '\.[^']*' \{\n([\s\S]*?)^\}/gm), ([, code]) =>
      code!.replaceAll(/^ {4}/gm, '').replace(/^interface/m, 'export interface'),
    );
  });
  return additions.join('\n');
}

/**
 * Creates the reports of the TypeScript API of entry points, from declarations that are compiled into a temporary folder.
 *
 * @param entryPoints what users import: `belfry`, `belfry/testing`, `@belfry/client`
 * @returns the reports by entry point
 * @throws Error with the messages of the compiler or of API Extractor
 */
export function createReports(entryPoints: readonly string[]): Record<string, ApiReport> {
  // Below the root, so that the imports of packages resolve.
  const data = join(root, '.data');
  mkdirSync(data, { recursive: true });
  const folder = mkdtempSync(join(data, 'api-'));
  try {
    const [declarations, reports] = [join(folder, 'declarations'), join(folder, 'reports')];
    buildDeclarations(declarations);
    linkPackages(declarations);
    mkdirSync(reports);
    const fileNames = entryPoints.map((_, i) => `${i}.api.md`);
    const configs = entryPoints.map((name, i) => prepareConfig(name, fileNames[i]!, declarations, reports));
    const additionalEntryPoints = configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
    const compilerState = CompilerState.create(configs[0]!, { additionalEntryPoints });
    const errors: string[] = [];
    for (const config of configs)
      Extractor.invoke(config, {
        localBuild: true,
        compilerState,
        messageCallback(message) {
          message.handled = true;
          if (message.category === 'Compiler') errors.push(message.text);
        },
      });
    if (errors.length > 0) throw new Error(`API Extractor cannot read the declarations:\n${errors.join('\n')}`);
    const augmentations = readAugmentations(declarations);
    const parse = (fileName: string) =>
      parseExtractedReport(readFileSync(join(reports, fileName), 'utf8'), augmentations);
    return Object.fromEntries(entryPoints.map((name, i) => [name, parse(fileNames[i]!)]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
