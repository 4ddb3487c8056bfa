import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { AppOpener } from '../project/project.ts';

interface TypesOptions {
  from?: string;
  out?: string;
}

/** Adds `belfry types`, which writes the types of an API for the client. */
export function addTypesCommand(program: Command, openApp: AppOpener): void {
  program
    .command('types')
    .description('Write the TypeScript types of the API, for createClient<Api>() where the app cannot be imported')
    .option(
      '--from <url or file>',
      'An OpenAPI document of a Belfry app, or the address of an app. Default: the app of this folder',
    )
    .option('--out <file>', 'The file to write. Default: standard output')
    .action(async ({ from, out }: TypesOptions, command: Command) => {
      const { createAppDocument, readDocument } = await import('./document.ts');
      const { writeApi } = await import('./api-file.ts');
      const document =
        from === undefined ? await createAppDocument(openApp, command.optsWithGlobals().app) : await readDocument(from);
      const text = writeApi(document);
      if (out === undefined) console.log(text.trimEnd());
      else await writeFile(out, text);
    });
}
