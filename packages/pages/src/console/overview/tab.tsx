import type { Tab } from '../tab.ts';
import { OverviewPage } from './overview.tsx';

/** The path of the page with which the console opens. */
export const OVERVIEW = '/console/overview';

/** The first page of the console. */
export const overviewTab: Tab = {
  component: ({ children }) => <>{children}</>,
  routes: [{ path: '', component: OverviewPage }],
};
