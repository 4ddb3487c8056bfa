/** Policies and rate limits in words. Nothing here depends on a browser. */
import type { RateLimit } from './document.ts';

const WORDS = new Map([
  ['public', 'everyone, also without a sign-in'],
  ['authenticated', 'any signed-in user'],
  ['verified', 'users with a verified e-mail address'],
  ['none', 'nobody'],
  ['owner', 'the owner of the record'],
  ['function', 'viewers that a function of the app allows'],
]);
const SYNONYMS = new Map([
  ['auth', 'authenticated'],
  ['user', 'authenticated'],
  ['self', 'owner'],
  ['nobody', 'none'],
]);

/** `owner` means something else where there is no record yet, or where there are many. */
const OWNER_WORDS = new Map([
  ['create', 'any signed-in user, who becomes the owner'],
  ['list', 'signed-in users, for the records that they own'],
]);

function describeToken(token: string, action: string): string {
  const word = SYNONYMS.get(token) ?? token;
  const text = (word === 'owner' ? OWNER_WORDS.get(action) : undefined) ?? WORDS.get(word);
  if (text !== undefined) return text;
  if (word.startsWith('org:')) return `members of the record’s organisation with the role ${word.slice(4)}`;
  if (/^(role:)?[a-z][\w-]*$/i.test(word)) return `users with the role ${word.replace(/^role:/, '')}`;
  return `viewers that this rule allows: ${word}`;
}

/**
 * The viewers that a policy allows, in words. Alternatives are joined by "or".
 *
 * @param text the text of the policy: `owner | admin`
 * @param action the action of a resource: `create` and `list` give `owner` another meaning
 */
export function policyInWords(text: string, action = ''): string {
  const tokens = text
    .split('|')
    .map((token) => token.trim())
    .filter((token) => token !== '');
  const words = new Set(tokens.map((token) => describeToken(token, action)));
  const joined = [...words].join(', or ') || 'nobody';
  return joined.charAt(0).toUpperCase() + joined.slice(1);
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** A duration in ms, for people: `60000` → `minute`, `900000` → `15 minutes`. */
function windowText(ms: number): string {
  const unit = UNITS.find(([, size]) => ms >= size && ms % size === 0);
  if (unit === undefined) return `${ms} ms`;
  const [name, size] = unit;
  return ms === size ? name : `${ms / size} ${name}s`;
}

/** A rate limit, for people: `300 requests per minute`. */
export const rateText = ({ limit, windowMs }: RateLimit): string =>
  `${limit.toLocaleString('en')} ${limit === 1 ? 'request' : 'requests'} per ${windowText(windowMs)}`;
