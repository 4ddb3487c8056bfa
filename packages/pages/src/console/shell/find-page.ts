import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { TabFiles, TabLink } from '../data/app-info.ts';
import { loadedApp } from '../data/schema.ts';
import { dataTab } from '../data/tab.tsx';
import { overviewTab } from '../overview/tab.tsx';
import type { Tab } from '../tab.ts';
import { texts } from '../texts.ts';

/** The tabs that are loaded, by id. The others are loaded when they are opened. */
const loadedTabs = signal<Readonly<Record<string, Tab>>>({ overview: overviewTab, data: dataTab });

/** A file that the server does not have, although it has named it: another version has been deployed since. */
export class UpdatedError extends Error {}

function addLink(attributes: { rel: string; href: string }): Promise<void> {
  const link = Object.assign(document.createElement('link'), attributes);
  const loaded = new Promise<void>((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = () => reject(new Error(texts.shell.missingFile));
  });
  document.head.append(link);
  return loaded;
}

/** Loads the stylesheets of a tab before its scripts, so that nothing is shown without style. */
async function loadFiles({ entry, scripts, styles }: TabFiles): Promise<Tab> {
  for (const href of scripts) addLink({ rel: 'modulepreload', href }).catch(() => {});
  await Promise.all(styles.map((href) => addLink({ rel: 'stylesheet', href })));
  const { tab }: { tab: Tab } = await import(entry);
  return tab;
}

/** Whether the server does not have a file. The browser does not say why a script or stylesheet has not been loaded. */
async function isMissing(href: string): Promise<boolean> {
  const response = await fetch(href, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined);
  return response?.status === 404;
}

/** Loads a tab. @throws UpdatedError if its files belong to a former version; Error */
export async function loadTab(id: string, files: TabFiles): Promise<void> {
  try {
    loadedTabs.value = { ...loadedTabs.value, [id]: await loadFiles(files) };
  } catch (error) {
    const missing = await Promise.all([files.entry, ...files.scripts, ...files.styles].map(isMissing));
    throw missing.includes(true) ? new UpdatedError() : error;
  }
}

function decodeSegment(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the parameters if a path matches a pattern such as `:resource/:id`. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const parts = pattern.split('/').filter((part) => part !== '');
  const given = path.split('/').filter((part) => part !== '');
  if (parts.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decodeSegment(value);
    else if (part !== value) return undefined;
  }
  return params;
}

/** What is at a path: a page, a tab that is not loaded yet, or nothing. */
export type FoundPage =
  | { kind: 'page'; Layout: Tab['component']; Page: ComponentType; params: Record<string, string> }
  | { kind: 'notLoaded'; link: TabLink; files: TabFiles }
  | { kind: 'none'; isOfTab: boolean };

/** Finds the page at a path. */
export function findPage(path: string): FoundPage {
  const link = loadedApp.value?.tabs.find((one) => path === one.path || path.startsWith(`${one.path}/`));
  if (link === undefined) return { kind: 'none', isOfTab: false };
  const tab = loadedTabs.value[link.id];
  if (tab === undefined && link.page !== undefined) return { kind: 'notLoaded', link, files: link.page };
  for (const { path: pattern, component } of tab?.routes ?? []) {
    const params = matchPath(pattern, path.slice(link.path.length));
    // The parameters of a route are those that its component expects.
    if (tab !== undefined && params !== undefined)
      return { kind: 'page', Layout: tab.component, Page: component as ComponentType, params };
  }
  return { kind: 'none', isOfTab: tab !== undefined };
}
