/** The texts of the components of the console. */
export const en = {
  leave: {
    title: 'Leave without saving?',
    text: 'Your changes are not saved.',
    action: 'Leave',
  },
  clear: 'Clear',
  tryAgain: 'Try again',
  loading: 'Loading',
  showMore: 'Show more',
  pages: 'Pages',
  newest: 'Newest',
  older: 'Older',
  actions: 'Actions',
  records: (resource: string) => `Records of ${resource}`,
  findUser: 'Name, e-mail or id',
  findRecord: (resource: string) => `Search ${resource} by label or id`,
  searching: 'Searching…',
  noRecord: 'No record found',
  secondFactor: {
    title: 'Confirm with your second factor',
    intro: 'This needs a code of your own authenticator app, or a recovery code.',
    code: 'Your code',
    confirm: 'Confirm',
  },
};

export type Texts = typeof en;
