/** Policies and rate limits in words. Nothing here depends on a browser. */
import { numberText } from '../kit/numbers.ts';
import type { RateLimit } from './document.ts';
import { texts } from './texts.ts';

const WORDS = new Map(Object.entries(texts.policy.words));
const SYNONYMS = new Map([
  ['auth', 'authenticated'],
  ['user', 'authenticated'],
  ['self', 'owner'],
  ['nobody', 'none'],
]);

const OWNER_WORDS = new Map(Object.entries(texts.policy.ownerOf));

function describeToken(token: string, action: string): string {
  const word = SYNONYMS.get(token) ?? token;
  const text = (word === 'owner' ? OWNER_WORDS.get(action) : undefined) ?? WORDS.get(word);
  if (text !== undefined) return text;
  if (word.startsWith('org:')) return texts.policy.organisationRole(word.slice(4));
  if (/^(role:)?[a-z][\w-]*$/i.test(word)) return texts.policy.role(word.replace(/^role:/, ''));
  return texts.policy.rule(word);
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
  const joined = [...words].join(texts.policy.or) || texts.policy.words.none;
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
  return texts.policy.windows[name](ms / size);
}

/** A rate limit, for people: `300 requests per minute`. */
export const rateText = ({ limit, windowMs }: RateLimit): string =>
  texts.policy.rate(limit, numberText(limit), windowText(windowMs));
