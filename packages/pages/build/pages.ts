// What is built, and how the browser gets it.

/** A page and the module that starts it. Tabs are loaded when they are opened. */
export interface PageSource {
  /** Relative to `src`. The folder has the page's index.html. */
  entry: string;
  /** The entries of the tabs, by id. */
  tabs?: Readonly<Record<string, string>>;
  /** A module that scripts outside of this repository import by several names. */
  shared?: { module: string; names: readonly string[] };
}

const TABS = ['accounts', 'audit', 'jobs', 'mails', 'operations', 'push', 'reference', 'webhooks'];

export const PAGES: Readonly<Record<string, PageSource>> = {
  console: {
    entry: 'console/app.tsx',
    tabs: Object.fromEntries(TABS.map((id) => [id, `tabs/${id}/tab.tsx`])),
    shared: {
      module: 'console/shared-modules.ts',
      names: ['belfry/console', 'preact', 'preact/hooks', 'preact/jsx-runtime', '@preact/signals', 'htm/preact'],
    },
  },
  portal: { entry: 'portal/app.tsx' },
  reference: { entry: 'reference/app.tsx' },
  'sign-in': { entry: 'sign-in/main.tsx' },
};

/** A script that the pages of an app load by its path: a file of its own, whose name stays. */
export interface ScriptSource {
  /** Relative to `src`. */
  entry: string;
  /** `iife`: a classic script. */
  format: 'esm' | 'iife';
  /** Modules that the server creates beside it. */
  external?: string[];
}

/** By their names in the build. */
export const SCRIPTS: Readonly<Record<string, ScriptSource>> = {
  'reload.js': { entry: 'kit/reload.ts', format: 'iife' },
  'push/client.js': { entry: 'push/client.ts', format: 'esm', external: ['./key.js'] },
  'push/sw.js': { entry: 'push/sw.ts', format: 'iife' },
};
