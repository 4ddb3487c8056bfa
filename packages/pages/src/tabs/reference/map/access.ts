/** Which viewers may do what. Nothing here depends on a browser. */

import { texts } from '../texts.ts';

export const ACTIONS = ['list', 'read', 'create', 'update', 'delete'] as const;

export type Action = (typeof ACTIONS)[number];

/** The viewers that a policy allows. Alternatives: a viewer needs to meet only one of them. */
export interface AccessRule {
  /** The policy as written. */
  text: string;
  allows: ('public' | 'authenticated' | 'verified')[];
  /** Whether owners are allowed on their own records. */
  owner: boolean;
  roles: string[];
  /** The roles in the organisation of the record that are allowed. */
  organisationRoles: string[];
  /** Whether a function of the app also decides. */
  hasFunction: boolean;
}

/** The rules of the actions whose routes exist. */
export type Access = Partial<Record<Action, AccessRule>>;

/** `missing`: the route does not exist; `own`: on own records. */
export type Answer = 'missing' | 'yes' | 'verified' | 'own' | 'member' | 'function' | 'no';

/**
 * What a viewer may do by a rule of the server's map, whatever the values of the record.
 *
 * @param rule undefined: the route does not exist
 * @param viewer `visitor`, `signed-in`, or the name of a role
 * @param action `owner` lets every signed-in user create
 */
export function accessOf(rule: AccessRule | undefined, viewer: string, action?: Action): Answer {
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

/** What counts as allowed, at least for some records. */
const ALLOWING: ReadonlySet<Answer> = new Set<Answer>(['yes', 'own', 'verified', 'member']);

/**
 * For how many resources a viewer may perform each action. What only a function decides is counted apart.
 *
 * @returns `list 2 (a function decides for 3), read 5, …`
 */
export function accessInWords(resources: readonly { access: Access }[], viewer: string): string {
  const counts = ACTIONS.map((action) => {
    const answers = resources.map(({ access }) => accessOf(access[action], viewer, action));
    const allowed = answers.filter((answer) => ALLOWING.has(answer)).length;
    const undecided = answers.filter((answer) => answer === 'function').length;
    const text = texts.access.count(texts.actions[action], allowed);
    return undecided === 0 ? text : `${text} ${texts.access.undecided(undecided)}`;
  });
  return counts.join(', ');
}
