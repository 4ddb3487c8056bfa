import { z } from 'zod';
import { ApiError, boundedArraySchema, isId, isStorable, newCredentialCode } from '../../extension/index.ts';
import { type KeyStatus, STATUSES, toRoleWord } from './record.ts';
import type { Scopes } from './scopes.ts';
import type { ApiKeySettings } from './settings.ts';

const MAX_NAME = 100;
const MAX_SCOPES = 1000;
/** Maximum number of unknown or repeated scopes that an error message lists. */
const MAX_LISTED_SCOPES = 10;

const requiredError = (what: string) => ({
  error: (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? 'Is required' : `Must be ${what}`,
});

const name = z
  .string(requiredError('a string'))
  .trim()
  .min(1, { error: 'Is required' })
  .max(MAX_NAME, { error: `Must be at most ${MAX_NAME} characters` })
  .refine(isStorable, { error: 'Must not contain invalid characters' })
  .meta({ description: 'A name of your choice', pattern: '\\S' });

function quoteScopes(scopes: readonly string[]): string {
  return scopes
    .slice(0, MAX_LISTED_SCOPES)
    .map((scope) => JSON.stringify(scope.slice(0, 100)))
    .join(', ');
}

function scopesSchema({ all }: Scopes) {
  const valid = [...all.keys()];
  return boundedArraySchema(z.string({ error: 'Must be a string' }).meta({ enum: valid }), {
    min: 1,
    max: MAX_SCOPES,
    error: 'Must be an array of scopes',
  })
    .superRefine((list, context) => {
      const given = [...new Set(list)];
      const unknown = given.filter((scope) => !all.has(scope));
      const addError = (message: string) => context.addIssue({ code: 'custom', message });
      if (unknown.length > 0) addError(`Unknown scopes: ${quoteScopes(unknown)}. Valid scopes: ${valid.join(', ')}`);
      else if (given.length < list.length) {
        const repeated = given.filter((scope) => list.indexOf(scope) !== list.lastIndexOf(scope));
        addError(`Must not contain duplicate scopes: ${quoteScopes(repeated)}`);
      }
    })
    .meta({ uniqueItems: true });
}

function expirySchema({ maxLifetimeDays, allowNoExpiry }: ApiKeySettings) {
  const error = `Must be a whole number from 1 to ${maxLifetimeDays}${allowNoExpiry ? ', or null for a key that never expires' : ''}`;
  const days = z.int({ error }).min(1, { error }).max(maxLifetimeDays, { error });
  return allowNoExpiry ? days.nullable() : days;
}

/** The validated body of a new key. */
export interface NewKeyInput {
  name: string;
  scopes: string[];
  /** Null: the key never expires. */
  expiresInDays: number | null;
  /** A code of the caller's second factor. */
  code?: string | undefined;
}

/**
 * Creates the schema of the body of a new key.
 *
 * @param scopes called on the first request, when all routes are known
 */
export function createKeySchema(settings: ApiKeySettings, scopes: () => Scopes) {
  return z.strictObject({
    name,
    scopes: z.lazy(() => scopesSchema(scopes())).prefault(settings.defaultScopes),
    expiresInDays: expirySchema(settings).default(settings.defaultExpiryDays),
    code: newCredentialCode,
  }) satisfies z.ZodType<NewKeyInput, unknown>;
}

/** The validated body of a new key of an organisation. */
export interface NewOrganisationKeyInput extends NewKeyInput {
  /** `org:<role>`; left out: the least powerful role. */
  as?: string | undefined;
}

/**
 * Creates the schema of the body of a new key of an organisation.
 *
 * @param roles returns the roles of members; called on the first request, like `scopes`
 */
export function createOrganisationKeySchema(
  settings: ApiKeySettings,
  scopes: () => Scopes,
  roles: () => readonly string[],
): z.ZodType<NewOrganisationKeyInput, unknown> {
  const roleWord = z.lazy(() => {
    const words = roles().map(toRoleWord);
    return z.enum(words, { error: `Must be one of: ${words.join(', ')}` });
  });
  return createKeySchema(settings, scopes).extend({
    as: roleWord.optional().meta({ description: 'The role as which the key acts. Default: the least powerful role' }),
  });
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** The query parameters of the admins' list of all keys. */
export const listQueryShape = z.object({
  status: z.enum(STATUSES).optional(),
  user: z.string().meta({ description: 'The id of the owner' }).optional(),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
});

/**
 * Validates the query parameters of the admins' list of all keys.
 *
 * @throws ApiError BAD_REQUEST naming the parameter that is unknown, malformed or given twice
 */
export function parseListQuery(query: Record<string, string | string[]>): {
  status: KeyStatus | undefined;
  user: string | undefined;
  limit: number;
} {
  const unknown = Object.keys(query).find((key) => !Object.hasOwn(listQueryShape.shape, key));
  if (unknown !== undefined) {
    throw new ApiError('BAD_REQUEST', `Unknown parameter "${unknown.slice(0, 100)}"; use status, user, limit`);
  }
  const { status, user, limit = String(DEFAULT_LIMIT) } = query;
  const knownStatus = STATUSES.find((one) => one === status);
  if (status !== undefined && knownStatus === undefined) {
    throw new ApiError('BAD_REQUEST', `status must be one of ${STATUSES.join(', ')}`);
  }
  if (user !== undefined && !isId(user)) throw new ApiError('BAD_REQUEST', 'user must be the id of a user');
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MAX_LIMIT)
    throw new ApiError('BAD_REQUEST', `limit must be a whole number from 1 to ${MAX_LIMIT}`);
  return { status: knownStatus, user, limit: count };
}
