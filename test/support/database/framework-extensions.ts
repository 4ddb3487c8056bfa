import type { Extension } from '../../../src/declare/extension.ts';

/**
 * An extension with its own tables only: without the fields that it adds to users, and without the resources that it adds. The tables of these
 * belong to the migrations of the app, not to those of Belfry.
 */
export function withoutResourcesOfApp(extension: Extension): Extension {
  const own = { ...extension, userFields: () => ({}) };
  if (extension.name !== 'organisations') return own;
  // Without its resources, it cannot be set up.
  return { ...own, resources: (declared) => declared, setup: () => ({}) };
}
