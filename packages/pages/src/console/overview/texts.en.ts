/** The texts of the overview. */
export const en = {
  title: 'Overview',
  inDevelopment: (app: string) => `${app}, in development`,
  error: 'Error:',
  warning: 'Warning:',
  everythingWorks: 'Everything works.',
  needsAttention: 'Needs attention',
  couldNotBeRead: (part: string) => `“${part}” could not be read`,
  records: 'Records',
  signIns: 'Recent sign-ins',
  signInsUnread: 'The sign-ins could not be read.',
  noSignIns: 'Nobody has signed in yet.',
  countUnread: 'The number could not be read',
  moreThan: 'more than',
  newest: (resources: string) => `Newest ${resources}`,
  newestUnread: (resources: string) => `The newest ${resources} could not be read.`,
  none: (resources: string) => `No ${resources} yet.`,
  newRecord: (resource: string) => `New ${resource}`,
};

export type Texts = typeof en;
