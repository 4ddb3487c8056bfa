// `node --import`: provides openapi-typescript with TypeScript 5. Version 7, which checks this project, has no API for it.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript5' : specifier, context),
});
