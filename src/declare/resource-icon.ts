/** The icons that a resource can have in the console. */
export const RESOURCE_ICONS = [
  ...(['bell', 'book', 'box', 'building', 'calendar', 'card', 'cart', 'chart', 'clock', 'file', 'flag'] as const),
  ...(['folder', 'globe', 'image', 'invoice', 'key', 'list', 'lock', 'mail', 'map', 'message', 'phone'] as const),
  ...(['pin', 'settings', 'shield', 'star', 'tag', 'ticket', 'trophy', 'truck', 'user', 'users'] as const),
] as const;

/** The name of an icon. */
export type ResourceIcon = (typeof RESOURCE_ICONS)[number];
