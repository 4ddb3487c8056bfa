/** The texts of the components that all pages share. */
export const en = {
  language: 'Language',
  cancel: 'Cancel',
  close: 'Close',
  closeMessage: 'Close message',
  back: 'Back',
  copy: 'Copy',
  copyLabel: (label: string) => `Copy ${label}`,
  copied: 'Copied',
  copyBlocked: 'The browser blocked copying. Select the text instead.',
  selected: 'Selected: press Ctrl+C or ⌘C',
  /** The role of a webhook endpoint of an organisation. */
  role: { label: 'Role', hint: 'The endpoint gets what members with this role may read.' },
  /** Custom headers of a webhook endpoint. */
  headers: {
    legend: 'Headers',
    hint: 'Sent with every message, for example a key that your server or gateway asks for.',
    name: (place: number) => `Name of header ${place}`,
    value: (name: string) => `Value of header ${name}`,
    example: 'X-Api-Key',
    kept: (mask: string) => `${mask} (stays)`,
    duplicate: 'Use each name once.',
    add: 'Add a header',
    remove: 'Remove',
    removeLabel: (name: string) => `Remove header ${name}`,
  },
};

export type Texts = typeof en;
