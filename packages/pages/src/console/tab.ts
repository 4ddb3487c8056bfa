import type { ComponentChildren, ComponentType } from 'preact';

/** A page of a tab. */
export interface TabRoute {
  /** Below the path of the tab, with parameters such as `:id`. */
  path: string;
  /** Gets the parameters as properties. */
  component: (props: never) => ComponentChildren;
}

/** What a tab shows: the first of its pages that matches the address, within `component`. */
export interface Tab {
  component: ComponentType<{ children: ComponentChildren }>;
  routes: readonly TabRoute[];
}
