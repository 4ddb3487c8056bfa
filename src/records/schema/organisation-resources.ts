import type { CompiledResource } from './compiled.ts';

/** Whether the records of a resource belong to organisations, or are organisations. */
export function isOfOrganisations({ name, fields }: Pick<CompiledResource, 'name' | 'fields'>): boolean {
  return name === 'organisation' || fields.some(({ spec }) => spec.tenant);
}
