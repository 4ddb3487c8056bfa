import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { PageFrameProps } from '../kit/page-frame.tsx';
import type { OpenApiDocument, RateLimit } from './document.ts';
import { groupOperations, listOperations, type Operation, type OperationGroup } from './operations.ts';
import type { Callers, ChoiceProps } from './runner/caller.ts';

/** What differs between the reference in the console and the public one. */
export interface Site {
  /** The path of the overview. The pages of operations are below it. */
  home: string;
  /** The address of the page. */
  place: ReadonlySignal<{ path: string; params: URLSearchParams }>;
  /** Changes the parameter `q` of the address, without a new entry in the history. */
  search: (text: string) => void;
  Page: ComponentType<PageFrameProps>;
  callers: Callers;
  /** A further choice of a caller, such as a session of a user. */
  CallerChoice?: ComponentType<ChoiceProps> | undefined;
  /** Says how long tokens are kept. */
  tokenText: string;
  /** The limit of all requests of a client; null: there is none; undefined: unknown. */
  totalLimit: RateLimit | null | undefined;
  /** Whether the page says that requests change the data of production, and asks before deletions. */
  warnsOfProduction: boolean;
}

/** The document with its operations, as all pages of the reference show it. */
export interface Reference {
  document: OpenApiDocument;
  operations: Operation[];
  groups: OperationGroup[];
  byId: ReadonlyMap<string, Operation>;
  site: Site;
}

/** Prepares a document for the pages. */
export function createReference(document: OpenApiDocument, site: Site): Reference {
  const operations = listOperations(document);
  const resources = (document['x-resources'] ?? []).map(({ name }) => name);
  return {
    document,
    operations,
    groups: groupOperations(operations, resources),
    byId: new Map(operations.map((operation) => [operation.id, operation])),
    site,
  };
}

/** The text of the search for operations. */
export const searchText = ({ place }: Site): string => place.value.params.get('q') ?? '';

/** The link to the overview, or to an operation. It keeps the search. */
export function hrefOf(site: Site, id?: string): string {
  const path = id === undefined ? site.home : `${site.home}/${encodeURIComponent(id)}`;
  const text = searchText(site);
  return text === '' ? path : `${path}?${new URLSearchParams({ q: text })}`;
}

/** The id of the operation in the address, if any. */
export function currentOperation({ home, place }: Pick<Site, 'home' | 'place'>): string | undefined {
  const { path } = place.value;
  if (!path.startsWith(`${home}/`)) return undefined;
  const id = path.slice(home.length + 1);
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
