import type { ResourceGateway } from '../declare/host.ts';
import type { AnyMail, MailRecipient } from '../declare/mail.ts';
import type { MailOutlet } from '../declare/senders.ts';
import type { CallerTransaction } from '../declare/service.ts';
import type { Database } from '../platform/data/postgres/database.ts';
import { quoteIdentifier } from '../platform/data/postgres/identifiers.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import { suggestClosestName, suggestKnownNames } from '../platform/helpers/did-you-mean.ts';
import { type ErrorDetails, validationError } from '../platform/helpers/errors.ts';
import { isId } from '../platform/helpers/ids.ts';
import { canonicalLocale, localeOfUser } from '../platform/helpers/locale.ts';
import { issuePath } from '../platform/helpers/standard-schema.ts';
import type { MailMessage } from '../platform/mail/message.ts';
import type { MailSender } from '../platform/mail/sender.ts';
import { isBuiltInMail, type MailTextRenderer, type ProjectMailTexts } from '../platform/mail/texts/index.ts';

const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 60;
const OPTIONS = ['description', 'input', 'texts', 'example'];

type Schema = AnyMail['options']['input'];

/** An e-mail of the project that is ready to be used. */
export interface ProjectMail extends ProjectMailTexts {
  schema: Schema;
}

/** Compiles the texts of an e-mail, by canonical locale. */
function compileTexts(texts: unknown, errors: ConfigErrors): ProjectMail['texts'] {
  const compiled = new Map<string, never>();
  const entries = typeof texts === 'object' && texts !== null ? Object.entries(texts) : [];
  if (entries.length === 0)
    errors.report('must be an object of functions by locale, such as { en: (about) => ({ subject, text }) }');
  for (const [locale, template] of entries) {
    const canonical = canonicalLocale(locale);
    if (canonical === undefined) errors.report(`"${locale}" is not a locale; write en or de-CH`);
    else if (typeof template !== 'function') errors.at(locale).report('must be a function');
    else compiled.set(canonical, template as never);
  }
  return compiled;
}

/** Reports an example that the schema refuses. Returns the variables for the preview. */
function checkExample(schema: Schema, example: unknown, errors: ConfigErrors): unknown {
  if (schema === undefined) return example ?? {};
  const result = schema['~standard'].validate(example);
  if (result instanceof Promise) {
    result.catch(() => undefined);
    return example;
  }
  if (result.issues === undefined) return result.value;
  const issues = result.issues
    .slice(0, 10)
    .map((issue) => `${issuePath(issue).join('.') || 'example'}: ${issue.message}`);
  errors.report(`must be variables for the preview that the schema accepts: ${issues.join('; ')}`);
  return undefined;
}

/** Compiles the option `mails` of `createApp`. E-mails with errors are reported. */
export function compileProjectMails(declared: readonly AnyMail[], errors: ConfigErrors): ProjectMail[] {
  const names = new Set<string>();
  return declared.flatMap((mail, i) => {
    if (typeof mail?.name !== 'string' || typeof mail.options !== 'object' || mail.options === null) {
      errors.at(`mails[${i}]`).report('must be an e-mail created with defineMail');
      return [];
    }
    const { name, options } = mail;
    const at = errors.at(`mail "${name}"`);
    if (!NAME.test(name) || name.length > MAX_NAME_LENGTH)
      at.report(
        `the name must be lower case with hyphens, such as "ticket-closed", and have at most ${MAX_NAME_LENGTH} characters`,
      );
    if (isBuiltInMail(name))
      at.report('Belfry has an e-mail with this name. Rename yours, or change its text with the option mailTexts');
    if (names.has(name)) at.report('it is declared twice. Rename one');
    names.add(name);
    for (const key of Object.keys(options))
      if (!OPTIONS.includes(key)) at.report(`"${key}" is not an option${suggestClosestName(key, OPTIONS)}`);
    const { input: schema, example, description = '' } = options;
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function') {
      at.at('input').report('must be a schema: zod or another Standard Schema');
      return [];
    }
    const texts = compileTexts(options.texts, at.at('texts'));
    return [{ kind: name, description, texts, schema, example: checkExample(schema, example, at.at('example')) }];
  });
}

/** What the outlet of e-mails needs. */
interface OutletParts {
  sender: MailSender;
  mailTexts: MailTextRenderer;
  projectMails: readonly ProjectMail[];
  database: Database;
  /** Returns the user resource; undefined in an app without accounts. */
  users: () => ResourceGateway | undefined;
}

/** Stores e-mails in a transaction; without one, on their own. The arguments are the same as for `MailOutlet.send`. */
export type SendWithin = (
  transaction: CallerTransaction | undefined,
  mail: MailMessage | AnyMail,
  about?: MailRecipient & Record<string, unknown>,
) => Promise<{ id: string }>;

const isDeclaration = (mail: MailMessage | AnyMail): mail is AnyMail =>
  mail !== null && 'name' in mail && 'options' in mail;

/** `app.mail`: sends e-mails, also in a transaction that is passed as an argument. */
export type AppMail = MailOutlet & MailSender;

/** Creates `app.mail`. */
export function createAppMail(sender: MailSender, outlet: MailOutlet): AppMail {
  const send = (mail: MailMessage | AnyMail, second?: object) =>
    isDeclaration(mail) || second === undefined
      ? outlet.send(mail as AnyMail, second as never)
      : sender.send(mail, second as CallerTransaction);
  return { ...sender, send };
}

/** Creates the function that sends e-mails with a text, and e-mails of the project. */
export function createSendWithin({ sender, mailTexts, projectMails, database, users }: OutletParts): SendWithin {
  const byName = new Map(projectMails.map((mail) => [mail.kind, mail]));

  /** Reads a user, in the caller's transaction if there is one, which may have created the user. */
  async function readUser(id: unknown, on: CallerTransaction['database']) {
    const gateway = users();
    if (gateway === undefined || !isId(id)) return undefined;
    const text = `select ${gateway.columns('u')} from ${quoteIdentifier(gateway.table)} u where u.id = $1`;
    const [row] = await on.write<unknown[]>({ text, values: [id] });
    return row && gateway.fromRow(row);
  }

  async function findRecipient(
    { to, user, locale }: MailRecipient,
    transaction: CallerTransaction | undefined,
  ): Promise<{ to: string; locale: string | undefined }> {
    if ((to === undefined) === (user === undefined))
      throw validationError({ to: 'Set either to, the address, or user, the id or record of a user' });
    if (to !== undefined) return { to, locale: canonicalLocale(locale) };
    const isRecord = typeof user === 'object' && user !== null && typeof user.email === 'string';
    const id = typeof user === 'object' && user !== null ? user.id : user;
    const record = isRecord ? (user as Record<string, unknown>) : await readUser(id, transaction?.database ?? database);
    if (record === undefined) throw validationError({ user: 'There is no user with this id' });
    return { to: String(record.email), locale: canonicalLocale(locale) ?? localeOfUser(record) };
  }

  /** @throws ApiError VALIDATION_ERROR with a message per variable */
  async function checkVariables(schema: Schema, variables: Record<string, unknown>): Promise<unknown> {
    const details: ErrorDetails = {};
    if (schema === undefined) {
      for (const name of Object.keys(variables)) details[name] = 'Unknown variable';
      if (Object.keys(details).length > 0) throw validationError(details);
      return variables;
    }
    const result = await schema['~standard'].validate(variables);
    if (result.issues === undefined) return result.value;
    for (const issue of result.issues) details[issuePath(issue).join('.') || 'variables'] ??= issue.message;
    throw validationError(details);
  }

  return async (transaction, mail, about) => {
    if (!isDeclaration(mail)) return sender.send(mail, transaction);
    const declared = byName.get(mail.name);
    if (declared === undefined)
      throw new Error(
        `there is no e-mail "${mail.name}" in createApp({ mails })${suggestKnownNames(mail.name, 'e-mails', byName.keys())}`,
      );
    const { to: givenTo, user, locale: givenLocale, ...variables } = about ?? {};
    const values = await checkVariables(declared.schema, variables);
    const { to, locale } = await findRecipient(
      { to: givenTo, user, locale: givenLocale } as MailRecipient,
      transaction,
    );
    return sender.send({ ...(await mailTexts.renderProjectMail(declared, values, locale)), to }, transaction);
  };
}
