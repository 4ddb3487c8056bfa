// isolated-vm runs scripts of flows and of sandboxed extensions, which the comparison does not have. It is a native package that would have
// to be compiled, so Directus gets this module instead.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === 'isolated-vm' ? { url: import.meta.url, shortCircuit: true } : nextResolve(specifier, context),
});

export default {};
