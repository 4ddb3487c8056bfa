import type { ComponentChild } from 'preact';

/**
 * Returns a text whose placeholders are replaced by elements, in the order of the language.
 *
 * @example richText('Sends {event} now.', { event: <code>webhook.test</code> })
 */
export const richText = (text: string, parts: Readonly<Record<string, ComponentChild>>): ComponentChild[] =>
  text.split(/\{(\w+)\}/).map((piece, place) => (place % 2 === 0 ? piece : parts[piece]));
