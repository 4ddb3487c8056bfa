/** Whether a key belongs to a control or to the browser, so that it is no shortcut of the page. */
export const isTyping = ({ ctrlKey, metaKey, altKey, target }: KeyboardEvent): boolean =>
  ctrlKey ||
  metaKey ||
  altKey ||
  !(target instanceof Element) ||
  target.closest('input, textarea, select, dialog, [contenteditable], .panel') !== null;
