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
};

export type Texts = typeof en;
