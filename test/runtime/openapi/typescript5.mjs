// `node --import`: openapi-typescript gets the TypeScript that it needs. Version 7, which checks this project, has no API for it.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript5' : specifier, context),
});
