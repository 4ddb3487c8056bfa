import type { Command } from 'commander';
import type { AppOpener } from '../project/project.ts';
import { addOutputOptions, checkOutputOptions, type OutputOptions, writeOutput } from './output.ts';

interface TypesOptions extends OutputOptions {
  from?: string;
  webhooks?: boolean;
}

/** Adds `belfry types`, which writes the types of an API for the client, or those of its webhooks for receivers. */
export function addTypesCommand(program: Command, openApp: AppOpener): void {
  const types = program
    .command('types')
    .description('Write the TypeScript types of the API, for createClient<Api>() where the app cannot be imported')
    .option(
      '--from <url or file>',
      'An OpenAPI document of a Belfry app, or the address of an app. Default: the app of this folder',
    )
    .option('--webhooks', 'Write the types of the webhooks instead, for createWebhookHandler<WebhookEvents>()');
  addOutputOptions(types).action(async ({ from, webhooks, ...output }: TypesOptions, command: Command) => {
    checkOutputOptions(output, command);
    const { createAppDocument, readDocument } = await import('./document.ts');
    const document =
      from === undefined ? await createAppDocument(openApp, command.optsWithGlobals().app) : await readDocument(from);
    if (webhooks) {
      const { writeEvents } = await import('./events-file.ts');
      await writeOutput(writeEvents(document), output);
    } else {
      const { writeApi } = await import('./api-file.ts');
      await writeOutput(writeApi(document), output);
    }
  });
}

/** Adds `belfry api`, which writes the documents that describe an API. */
export function addApiCommand(program: Command, openApp: AppOpener): void {
  const api = program
    .command('api')
    .description('Write the OpenAPI document of the app, as GET /api/openapi.json returns it')
    .option('--asyncapi', 'Write the AsyncAPI document of its webhooks instead, as GET /api/asyncapi.json returns it');
  addOutputOptions(api).action(
    async ({ asyncapi, ...output }: OutputOptions & { asyncapi?: boolean }, command: Command) => {
      checkOutputOptions(output, command);
      const { createAppDocument, createAppEventDocument } = await import('./document.ts');
      const { app } = command.optsWithGlobals();
      const document = asyncapi
        ? await createAppEventDocument(openApp, app)
        : await createAppDocument(openApp, app, 'api');
      await writeOutput(`${JSON.stringify(document, undefined, 2)}\n`, output);
    },
  );
}
