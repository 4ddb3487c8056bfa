// `npm run docs:settings`: writes docs/operate/settings.md from the schemas of all settings, .env.example and setting-texts.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { apiKeySettings } from '../../src/extensions/api-keys/settings.ts';
import { auditSettings } from '../../src/extensions/audit/index.ts';
import { consoleSettings } from '../../src/extensions/console/settings.ts';
import { emailSignInSettings } from '../../src/extensions/email-sign-in/settings.ts';
import { emailVerificationSettings } from '../../src/extensions/email-verification/context.ts';
import { invitationSettings } from '../../src/extensions/invitations/context.ts';
import { oidcSettings } from '../../src/extensions/oidc/provider/settings.ts';
import { organisationSettings } from '../../src/extensions/organisations/membership/settings.ts';
import { passkeySettings } from '../../src/extensions/passkeys/settings.ts';
import { exportSettings } from '../../src/extensions/privacy/export/index.ts';
import { realtimeSettings } from '../../src/extensions/realtime/settings/settings.ts';
import { securityMailsSettings } from '../../src/extensions/security-mails/settings.ts';
import { signInPagesSettings } from '../../src/extensions/sign-in-pages/settings.ts';
import { softDeleteSettings } from '../../src/extensions/soft-delete/index.ts';
import { twoFactorSettings } from '../../src/extensions/two-factor/context.ts';
import { webhookSettings } from '../../src/extensions/webhooks/settings/settings.ts';
import { environmentSchema } from '../../src/platform/settings/environment.ts';
import { settingsSchema } from '../../src/platform/settings/settings.ts';
import { linkPages } from './pages.ts';
import { type SettingText, settingTexts } from './setting-texts.ts';

const root = join(import.meta.dirname, '..', '..');
const FILE = join(root, 'docs', 'operate', 'settings.md');

/** The settings of each extension, by the function that creates it, and the page about it. */
const EXTENSIONS: Record<string, readonly [schema: z.ZodType, page: string]> = {
  apiKeys: [apiKeySettings, 'api-keys.md'],
  audit: [auditSettings, 'audit.md'],
  adminConsole: [consoleSettings, 'console.md'],
  emailSignIn: [emailSignInSettings, 'email-sign-in.md'],
  emailVerification: [emailVerificationSettings, 'email-verification.md'],
  invitations: [invitationSettings, 'invitations.md'],
  oidc: [oidcSettings, 'oidc.md'],
  organisations: [organisationSettings, 'organisations.md'],
  passkeys: [passkeySettings, 'passkeys.md'],
  privacy: [exportSettings, 'privacy.md'],
  realtime: [realtimeSettings, 'realtime.md'],
  securityMails: [securityMailsSettings, 'security-mails.md'],
  signInPages: [signInPagesSettings, 'sign-in-pages.md'],
  softDelete: [softDeleteSettings, 'soft-delete.md'],
  twoFactor: [twoFactorSettings, 'two-factor.md'],
  webhooks: [webhookSettings, 'webhooks.md'],
};

type JsonSchema = z.core.JSONSchema.BaseSchema;

const UNITS: readonly [suffix: RegExp, unit: string][] = [
  [/Ms$/, 'ms'],
  [/Seconds$/, 'seconds'],
  [/Minutes$/, 'minutes'],
  [/Hours$/, 'hours'],
  [/Days$/, 'days'],
  [/Bytes(Per\w+)?$|^bodyLimit$/i, 'bytes'],
];
/** What schemas do not say, because functions check it: by the last part of a setting's name. */
const CHECKED_BY_FUNCTIONS: readonly [name: RegExp, value: string][] = [
  [/policy$/i, '[policy](resources.md#policies)'],
  [/^(createUser|legacyPassword|passwordReset)$/, 'function'],
  [/^(events|fields)$/, 'object'],
  [/^storage$/, '[storage](file-storage.md)'],
];

const group = (value: number) => value.toLocaleString('en-US');
const code = (value: unknown) => `\`${typeof value === 'string' ? `'${value}'` : formatCode(value)}\``;

/** Formats a value as in TypeScript. */
function formatCode(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCode).join(', ')}]`;
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).map(([name, each]) => `${name}: ${formatCode(each)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** The bounds of a number, such as `1 to 100`. Zod always bounds whole numbers by the safe ones. */
function describeBounds({ type, minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  const least = minimum ?? (type === 'integer' && exclusiveMinimum === 0 ? 1 : undefined);
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (least !== undefined && most !== undefined) return `${group(least)} to ${group(most)}`;
  if (least !== undefined) return `${group(least)} or more`;
  return [...(exclusiveMinimum === 0 ? ['above 0'] : []), ...(most === undefined ? [] : [`up to ${group(most)}`])].join(
    ', ',
  );
}

/** Describes what a setting can be: type, unit and bounds. @param name the last part of its name */
function describeValue(name: string, schema: JsonSchema): string {
  const { type, anyOf, items, properties } = schema;
  if (schema.range !== undefined) return `duration, ${schema.range}`;
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.const !== undefined) return code(schema.const);
  if (anyOf !== undefined) return anyOf.map((each) => describeValue('', each as JsonSchema)).join(', or ');
  if (type === 'boolean') return '`true` or `false`';
  if (type === 'integer' || type === 'number') {
    const unit = UNITS.find(([suffix]) => suffix.test(name))?.[1];
    const kind = type === 'integer' ? 'whole number' : 'number';
    return [unit ?? kind, describeBounds(schema)].filter((text) => text !== '').join(', ');
  }
  if (type === 'string') {
    if (schema.format === 'uri') return 'URL';
    return schema.maxLength === undefined ? 'text' : `text, up to ${group(schema.maxLength)} characters`;
  }
  if (type === 'array') {
    const item = describeValue('', (items ?? {}) as JsonSchema);
    const least = schema.minItems === undefined ? '' : `, ${schema.minItems} or more`;
    return `list of ${item === 'text' ? 'texts' : 'values'}${schema.maxItems === undefined ? least : `, up to ${schema.maxItems}`}`;
  }
  if (properties !== undefined) return `\`{ ${Object.keys(properties).join(', ')} }\``;
  if (Array.isArray(type)) return type.join(' or ');
  return type ?? CHECKED_BY_FUNCTIONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'value';
}

/** Returns what a schema takes. A function that transforms or checks is not part of it; a duration is shown as its number. */
function toInputSchema(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema: { _zod }, jsonSchema }) {
      // Left out by Zod for what is transformed.
      if (_zod.def.type === 'default') jsonSchema.default = (_zod.def as z.core.$ZodDefaultDef).defaultValue;
      if (_zod.def.type !== 'pipe') return;
      const { in: first, out } = _zod.def as z.core.$ZodPipeDef;
      if (first._zod.def.type === 'transform') Object.assign(jsonSchema, toInputSchema(out), { $schema: undefined });
    },
  }) as JsonSchema;
}

/** Creates the rows of a section. @throws Error that names a setting without a text, or a text without a setting */
function createRows(section: string, schema: z.ZodType): string[] {
  const texts = settingTexts[section] ?? {};
  const unused = new Set(Object.keys(texts));
  const rows: string[] = [];
  function addRow(path: string, current: JsonSchema, text: SettingText): void {
    unused.delete(path);
    const [meaning, defaultText] = typeof text === 'string' ? [text, undefined] : text;
    const filled = current.default ?? undefined;
    const byDefault =
      defaultText ?? (filled === undefined ? 'none' : typeof filled === 'number' ? group(filled) : code(filled));
    const cells = [`\`${path}\``, describeValue(path.split('.').at(-1)!, current), byDefault, meaning];
    rows.push(`| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`);
  }
  function addRows(path: string, current: JsonSchema): void {
    const text = texts[path];
    if (text !== undefined) addRow(path, current, text);
    else if (current.properties === undefined)
      throw new Error(`scripts/docs/setting-texts.ts has no text for ${section}: ${path}`);
    const hasTextsOfMembers = Object.keys(texts).some((each) => each.startsWith(`${path}.`));
    if (current.properties !== undefined && (text === undefined || hasTextsOfMembers))
      for (const [name, member] of Object.entries(current.properties))
        addRows(path === '' ? name : `${path}.${name}`, member as JsonSchema);
  }
  addRows('', toInputSchema(schema));
  if (unused.size > 0) throw new Error(`There are no such settings: ${section}: ${[...unused].join(', ')}`);
  return rows;
}

const table = (head: readonly string[], rows: readonly string[]) =>
  [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows].join('\n');
const SETTING_COLUMNS = ['setting', 'value', 'default', 'meaning'];

/** What a variable must be, as the error for a malformed value says; empty for variables that another schema checks. */
function describeVariable(name: string): string {
  const schema = (environmentSchema.shape as Record<string, z.ZodType>)[name];
  const message = schema?.safeParse('\0').error?.issues[0]?.message ?? '';
  const [, value = ''] = /(?:must be|must consist of|should look like|should be) (?:like )?(.*)/.exec(message) ?? [];
  return value.replaceAll('<', '&lt;');
}

/** Creates the tables of the environment variables from .env.example: a comment belongs to the lines below it. */
function createEnvironment(): string {
  const [, ...parts] = readFileSync(join(root, '.env.example'), 'utf8').split(/^# --- /m);
  return parts
    .map((part) => {
      const [heading, ...lines] = part.trim().split('\n');
      const rows: string[] = [];
      let comment: string[] = [];
      let isComplete = false;
      for (const line of lines) {
        const [, name, value] = /^# ([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
        if (name === undefined) {
          comment = [...(isComplete ? [] : comment), line.replace(/^# ?/, '')];
          isComplete = false;
          continue;
        }
        const text = comment.join(' ').trim().replaceAll('<', '&lt;');
        const meaning = isComplete ? 'as above' : text.replaceAll(/docs\/(?:[\w-]+\/)+([\w-]+\.md)/g, '[$1]($1)');
        const cells = [`\`${name}\``, describeVariable(name), value === '' ? '' : `\`${value}\``, meaning];
        rows.push(`| ${cells.map((cell) => cell!.replaceAll('|', '\\|')).join(' | ')} |`);
        isComplete = true;
      }
      return `### Environment: ${heading!.replace(/ -+$/, '').toLowerCase()}\n\n${table(['variable', 'value', 'default or example', 'meaning'], rows)}`;
    })
    .join('\n\n');
}

/** Creates the text of docs/operate/settings.md. @throws Error that names a setting without a text, or a text without a setting */
export function createSettingsPage(): string {
  const groups = Map.groupBy(createRows('settings', settingsSchema), (row) => /^\| `(\w+)(\.?)/.exec(row)!);
  const sections = new Map<string, string[]>();
  for (const [match, rows] of groups) {
    const name = match![2] === '.' ? `\`settings.${match![1]}\`` : 'Further settings';
    sections.set(name, [...(sections.get(name) ?? []), ...rows]);
  }
  const further = sections.get('Further settings')!;
  sections.delete('Further settings');
  const own = [...sections, ['Further settings', further] as const].map(
    ([name, rows]) => `### ${name}\n\n${table(SETTING_COLUMNS, rows)}`,
  );
  const extensions = Object.entries(EXTENSIONS).map(
    ([name, [schema, page]]) =>
      `### \`${name}()\`\n\nAn argument of \`${name}({ … })\`. See [${page}](${page}).\n\n${table(SETTING_COLUMNS, createRows(name, schema))}`,
  );
  const text = `# Settings

All settings of Belfry with their defaults and bounds: variables of the environment, settings of the app, and settings of extensions. They are checked at start,
and all errors are listed at once. A misspelled setting is an error.

A *duration* is a text such as \`'30s'\`, \`'15m'\`, \`'12h'\` or \`'7d'\`. A setting whose name ends in a unit takes a number of that unit, or such a text.

This page is written by \`npm run docs:settings\`. Do not edit it.

## Settings of the app

They stand in \`createApp({ settings: { … } })\`: \`auth.register\` is \`settings: { auth: { register: false } }\`.

${own.join('\n\n')}

## Settings of extensions

${extensions.join('\n\n')}

## Environment variables

They are set in the environment of the processes, or in \`.env\`. Development needs none of them. The comments of [.env.example](../../.env.example) are the same texts.

${createEnvironment()}
`;
  return linkPages(text, 'operate');
}

if (import.meta.main) writeFileSync(FILE, createSettingsPage());
