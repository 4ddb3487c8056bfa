import { findSchemaKeys } from '../helpers/parse-settings.ts';

/** The present name of something that was renamed. */
interface RenamedSetting {
  /** The code of the warning. docs/operate/upgrading.md lists the codes. */
  code: string;
  /** The path of the setting in its section. */
  to: string;
  /** The setting was a number of this unit, and is a text such as `30m`. */
  unit?: 's' | 'm' | 'h' | 'd';
}

/**
 * The settings that were renamed, by section (`settings`, or an extension) and former path. They work until version 2.0, with a warning, and
 * `belfry codemod` renames them in the files of an app.
 */
export const renamedSettings: Readonly<Record<string, Readonly<Record<string, RenamedSetting>>>> = {
  settings: {
    'auth.recentSignInMinutes': { code: 'BELFRY_DEP0001', to: 'auth.recentSignIn', unit: 'm' },
    'files.urlTtlMinutes': { code: 'BELFRY_DEP0002', to: 'files.urlTtl', unit: 'm' },
    'files.pendingPerUser': { code: 'BELFRY_DEP0003', to: 'files.maxPendingPerUser' },
    'files.pendingBytesPerUser': { code: 'BELFRY_DEP0004', to: 'files.maxPendingBytesPerUser' },
    'files.pendingHours': { code: 'BELFRY_DEP0005', to: 'files.pendingTtl', unit: 'h' },
    'jobs.retentionDays': { code: 'BELFRY_DEP0006', to: 'jobs.keepDays' },
    'jobs.failedRetentionDays': { code: 'BELFRY_DEP0007', to: 'jobs.keepFailedDays' },
  },
  apiKeys: { requireRecentSignIn: { code: 'BELFRY_DEP0008', to: 'recentSignIn' } },
  emailSignIn: { expiresMinutes: { code: 'BELFRY_DEP0009', to: 'ttl', unit: 'm' } },
  emailVerification: {
    expiresMinutes: { code: 'BELFRY_DEP0010', to: 'ttl', unit: 'm' },
    undoDays: { code: 'BELFRY_DEP0011', to: 'undoTtl', unit: 'd' },
  },
  invitations: { expiresDays: { code: 'BELFRY_DEP0012', to: 'ttl', unit: 'd' } },
  organisations: {
    'invitations.expiresDays': { code: 'BELFRY_DEP0013', to: 'invitations.ttl', unit: 'd' },
    globalAccess: { code: 'BELFRY_DEP0014', to: 'globalPolicy' },
    maxPerUser: { code: 'BELFRY_DEP0015', to: 'maxOrganisationsPerUser' },
  },
  passkeys: {
    maxPerUser: { code: 'BELFRY_DEP0016', to: 'maxPasskeysPerUser' },
    challengeMinutes: { code: 'BELFRY_DEP0017', to: 'challengeTtl', unit: 'm' },
  },
  twoFactor: { challengeMinutes: { code: 'BELFRY_DEP0018', to: 'challengeTtl', unit: 'm' } },
  privacy: { exportHours: { code: 'BELFRY_DEP0019', to: 'exportTtl', unit: 'h' } },
  realtime: { ticketSeconds: { code: 'BELFRY_DEP0020', to: 'ticketTtl', unit: 's' } },
};

/** The exports of `belfry` and `@belfry/client` that were renamed. Types cannot warn; the editor shows them as deprecated. */
export const renamedExports: Readonly<Record<string, { to: string; code?: string }>> = {
  developerConsole: { to: 'adminConsole', code: 'BELFRY_DEP0021' },
};

/** The modules of Belfry that are packages of their own. */
export const renamedModules: Readonly<Record<string, string>> = {
  'belfry/client': '@belfry/client',
  'belfry/react': '@belfry/client/react',
  'belfry/verify-webhook': '@belfry/verify-webhook',
};

const warned = new Set<string>();

/** Warns once per process that a former name is used. @param code such as `BELFRY_DEP0001` */
export function warnOfFormerName(code: string, former: string, current: string): void {
  if (warned.has(code)) return;
  warned.add(code);
  const text = `${former} is now ${current}. The former name works until Belfry 2.0; "npx belfry codemod" renames it`;
  process.emitWarning(text, { type: 'DeprecationWarning', code });
}

type Section = Readonly<Record<string, unknown>>;

const isSection = (value: unknown): value is Section =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the section with a member moved; the section itself if it has no such member, or has the new one as well. */
function move(section: Section, from: string, to: string, convert: (value: unknown) => unknown): Section {
  if (!Object.hasOwn(section, from) || section[to] !== undefined) return section;
  const { [from]: value, ...rest } = section;
  return { ...rest, [to]: convert(value) };
}

/**
 * Moves settings with former names to their present ones, and warns of each.
 *
 * @param name the section: `settings`, or the name of an extension in camel case
 * @param schema the schema of the section: a name that it declares is no former one
 * @param input the settings as the app wrote them. They are not changed
 */
export function applyFormerNames(name: string, schema: unknown, input: unknown): unknown {
  if (!Object.hasOwn(renamedSettings, name) || !isSection(input)) return input;
  let result = input;
  for (const [former, { code, to, unit }] of Object.entries(renamedSettings[name]!)) {
    // A renamed setting stays in its object.
    const path = former.split('.');
    const [from, inner] = [path.at(-1)!, path.length === 2 ? path[0]! : undefined];
    if (findSchemaKeys(schema, path.slice(0, -1)).includes(from)) continue;
    const section = inner === undefined ? result : result[inner];
    if (!isSection(section)) continue;
    // Durations have up to six decimals.
    const convert = (value: unknown) =>
      unit !== undefined && typeof value === 'number' ? `${Number(value.toFixed(6))}${unit}` : value;
    const moved = move(section, from, to.split('.').at(-1)!, convert);
    if (moved === section) continue;
    result = inner === undefined ? moved : { ...result, [inner]: moved };
    warnOfFormerName(code, `${name}.${former}`, `${name}.${to}`);
  }
  return result;
}
