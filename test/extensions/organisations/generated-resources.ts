import fc from 'fast-check';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { defineResource, f, tenant } from '../../../src/index.ts';
import type { ApiResponse } from '../../support/app.ts';

/** The names of the resources of organisations. */
export const NAMES = ['alpha', 'beta', 'gamma'] as const;

/** How one resource of organisations is declared. `target` and `targets` are indexes of resources. */
export const tenantArbitrary = fc.record({
  isUnique: fc.boolean(),
  isSoft: fc.boolean(),
  isOwned: fc.boolean(),
  isAudited: fc.boolean(),
  target: fc.nat(NAMES.length - 1),
  targets: fc.nat(NAMES.length - 1),
  isPopulated: fc.boolean(),
  read: fc.constantFrom('authenticated', 'public', 'org:member', 'org:admin', 'admin | org:admin'),
  change: fc.constantFrom(undefined, 'authenticated', 'org:admin', 'org:member | admin'),
});
/** The declaration of one resource. */
export type Declared = typeof tenantArbitrary extends fc.Arbitrary<infer T> ? T : never;

/** Declares resources whose records belong to organisations and refer to each other. */
export function declareTenants(all: readonly Declared[]): AnyResource[] {
  return all.map(
    (one, i) =>
      defineResource(NAMES[i]!, {
        fields: {
          organisation: tenant(),
          title: one.isUnique
            ? f.string().required().unique().filterable().sortable().searchable().aggregatable()
            : f.string().required().filterable().sortable().searchable().aggregatable(),
          one: one.isPopulated
            ? f.ref(NAMES[one.target]!).filterable().populate()
            : f.ref(NAMES[one.target]!).filterable(),
          many: f.array(f.ref(NAMES[one.targets]!)).filterable(),
          ...(one.isOwned ? { author: f.ref('user').owner() } : {}),
        },
        relations: Object.fromEntries(
          all.flatMap(({ target }, from) =>
            target === i ? [[`from${NAMES[from]}`, f.reverse(NAMES[from]!, 'one')]] : [],
          ),
        ),
        policies: {
          list: one.read,
          read: one.read,
          ...(one.change && { update: one.change, delete: one.change, create: one.change }),
        },
        softDelete: one.isSoft,
        audit: one.isAudited,
      } as never) as AnyResource,
  );
}

/** Records outside of organisations that refer to records inside. */
export const note = defineResource('note', {
  fields: { body: f.string(), about: f.ref('alpha').filterable().populate(), all: f.array(f.ref('beta')).filterable() },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'authenticated' },
});

/** A record in one of the organisations, with a text that no other record has. */
export interface Placed {
  organisation: number;
  resource: number;
  id: string;
  secret: string;
}

/** A response without what differs between any two requests. */
export function comparable({ status, body }: ApiResponse, replaced: readonly string[]): string {
  let text = JSON.stringify(body ?? null);
  for (const one of replaced) text = text.replaceAll(one, '?');
  return `${status} ${text}`
    .replaceAll(/"requestId":"[^"]*"/g, '')
    .replaceAll(/new\d+x[0-9a-f]+/g, '!')
    .replaceAll(/\b[0-9a-f]{24}\b/g, '#')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '@');
}

/** One operation: the numbers choose its kind, its actor and its records. */
export const step = fc.record({
  kind: fc.nat(1000),
  who: fc.nat(1000),
  resource: fc.nat(NAMES.length - 1),
  record: fc.nat(1000),
  other: fc.nat(1000),
  organisation: fc.nat(1000),
});
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

export const ROLES = ['owner', 'admin', 'member'];
/** The role of each of the four people in each of the three organisations; index 3: not a member. */
export const membershipArbitrary = fc.array(fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }), {
  minLength: 4,
  maxLength: 4,
});
