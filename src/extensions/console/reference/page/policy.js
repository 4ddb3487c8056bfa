/** The meaning of policies in words. Nothing here depends on a browser. */

const WORDS = {
  public: () => 'everyone, also without a sign-in',
  authenticated: () => 'any signed-in user',
  verified: () => 'users with a verified e-mail address',
  none: () => 'nobody',
};
const SYNONYMS = { auth: 'authenticated', user: 'authenticated', self: 'owner', nobody: 'none' };

/** `owner` means something else where there is no record yet, or where there are many. */
const OWNER_WORDS = {
  create: 'any signed-in user, who becomes the owner',
  list: 'signed-in users, for the records that they own',
};

function describeToken(token, action) {
  const word = SYNONYMS[token] ?? token;
  if (word === 'owner') return OWNER_WORDS[action] ?? 'the owner of the record';
  if (Object.hasOwn(WORDS, word)) return WORDS[word]();
  if (word === 'function') return 'viewers that a function of the app allows';
  if (word.startsWith('org:')) return `members of the record’s organisation with the role ${word.slice(4)}`;
  if (/^(role:)?[a-z][\w-]*$/i.test(word)) return `users with the role ${word.replace(/^role:/, '')}`;
  return `viewers that this rule allows: ${word}`;
}

/**
 * The viewers that a policy allows, in words. Alternatives are joined by "or".
 *
 * @param {string} text the text of the policy: `owner | admin`
 * @param {string} [action] the action of a resource: `create` and `list` give `owner` another meaning
 */
export function policyInWords(text, action) {
  const tokens = text
    .split('|')
    .map((token) => token.trim())
    .filter((token) => token !== '');
  const words = [...new Set(tokens.map((token) => describeToken(token, action)))];
  const [first = 'nobody', ...rest] = words;
  const joined = [first, ...rest].join(', or ');
  return joined[0].toUpperCase() + joined.slice(1);
}

/**
 * What a viewer may do by a rule of the server's map, whatever the values of the record.
 *
 * @param {{ allows: string[], owner: boolean, roles: string[], organisationRoles: string[], hasFunction: boolean } | undefined} rule undefined:
 *   the route does not exist
 * @param {string} viewer `visitor`, `signed-in`, or the name of a role
 * @param {string} [action] `owner` lets every signed-in user create
 * @returns {'missing' | 'yes' | 'verified' | 'own' | 'member' | 'function' | 'no'}
 */
export function accessOf(rule, viewer, action) {
  if (rule === undefined) return 'missing';
  if (rule.allows.includes('public')) return 'yes';
  const isSignedIn = viewer !== 'visitor';
  if (isSignedIn && (rule.allows.includes('authenticated') || rule.roles.includes(viewer))) return 'yes';
  if (isSignedIn && rule.owner && action === 'create') return 'yes';
  if (isSignedIn && rule.allows.includes('verified')) return 'verified';
  if (isSignedIn && rule.owner) return 'own';
  if (isSignedIn && rule.organisationRoles.length > 0) return 'member';
  return rule.hasFunction ? 'function' : 'no';
}

const ACTIONS = ['list', 'read', 'create', 'update', 'delete'];
/** What counts as allowed, at least for some records. */
const ALLOWING = new Set(['yes', 'own', 'verified', 'member']);

/**
 * For how many resources a viewer may perform each action. What only a function decides is counted apart.
 *
 * @param {{ access: Record<string, object> }[]} resources of the server's map
 * @returns {string} `list 2 (a function decides for 3), read 5, …`
 */
export function accessInWords(resources, viewer) {
  const texts = ACTIONS.map((action) => {
    const kinds = resources.map(({ access }) => accessOf(access[action], viewer, action));
    const allowed = kinds.filter((kind) => ALLOWING.has(kind)).length;
    const undecided = kinds.filter((kind) => kind === 'function').length;
    return `${action} ${allowed}${undecided === 0 ? '' : ` (a function decides for ${undecided})`}`;
  });
  return texts.join(', ');
}

/** A duration in ms, for people: `60000` → `minute`, `900000` → `15 minutes`. */
function windowText(ms) {
  const units = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ];
  const [name, size] = units.find(([, one]) => ms >= one && ms % one === 0) ?? ['ms', 1];
  const count = ms / size;
  if (name === 'ms') return `${count} ms`;
  return count === 1 ? name : `${count} ${name}s`;
}

/** A rate limit, for people: `300 requests per minute`. */
export const rateText = ({ limit, windowMs }) =>
  `${limit.toLocaleString('en')} ${limit === 1 ? 'request' : 'requests'} per ${windowText(windowMs)}`;
