import { randomBytes } from 'node:crypto';
import { isId } from '../../../extension/index.ts';

/** Lower-case letters of ASCII, digits and single hyphens: two different slugs never look alike. */
export const SLUG_PATTERN = /^[a-z0-9]+(-[a-z0-9]+)*$/;
export const MIN_SLUG = 2;
export const MAX_SLUG = 48;

/** Slugs that would be mistaken for pages or routes of the app. */
const RESERVED = [
  'admin',
  'api',
  'app',
  'auth',
  'billing',
  'docs',
  'help',
  'internal',
  'invitations',
  'login',
  'logout',
  'members',
  'new',
  'organisation',
  'organisations',
  'public',
  'register',
  'settings',
  'sign-in',
  'sign-up',
  'static',
  'status',
  'support',
  'system',
  'www',
];

/** Whether a text has the form of a slug. */
export function isSlug(text: string): boolean {
  return text.length >= MIN_SLUG && text.length <= MAX_SLUG && SLUG_PATTERN.test(text);
}

/** Creates the rule that refuses slugs that look like an id, and reserved ones. Returns true or the message of the error. */
export function createSlugRule(reserved: readonly string[]): (slug: string) => true | string {
  const names = new Set([...RESERVED, ...reserved]);
  return (slug) => {
    // The header X-Organisation accepts ids and slugs.
    if (isId(slug)) return 'Must not look like an id';
    return names.has(slug) ? 'Is reserved' : true;
  };
}

/** Latin letters that Unicode does not decompose into a letter of ASCII and marks. */
const LETTERS: Record<string, string> = {
  ...{
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    ĳ: 'ij',
    ø: 'o',
    ð: 'd',
    đ: 'd',
    þ: 'th',
    ħ: 'h',
    ı: 'i',
    ł: 'l',
    ŋ: 'ng',
    ŧ: 't',
    ĸ: 'k',
  },
  ...{
    ƒ: 'f',
    ɓ: 'b',
    ɗ: 'd',
    ɖ: 'd',
    ə: 'e',
    ɛ: 'e',
    ɔ: 'o',
    ɣ: 'g',
    ɨ: 'i',
    ƙ: 'k',
    ʋ: 'v',
    ƴ: 'y',
    ƶ: 'z',
    ƀ: 'b',
    ǥ: 'g',
  },
};

/**
 * Creates a slug from a name, with a random ending so that it is free: `Łódź & Straße` becomes `lodz-strasse-3f9a2c`. Letters of other
 * scripts are left out.
 */
export function slugOfName(name: string): string {
  const words = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\p{ASCII}]/gu, (letter) => LETTERS[letter] ?? letter)
    .match(/[a-z0-9]+/g);
  const start = (words ?? ['organisation'])
    .join('-')
    .slice(0, MAX_SLUG - 7)
    .replace(/-+$/, '');
  return `${start}-${randomBytes(3).toString('hex')}`;
}
