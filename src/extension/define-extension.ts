import type { z } from 'zod';
import type { Extension, ExtensionHost, FeatureParts } from '../declare/extension.ts';
import type { Fields } from '../declare/field.ts';
import { camelCase } from '../declare/naming.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import { parseSettings, reportSettingErrors } from '../platform/helpers/parse-settings.ts';
import { applyFormerNames } from '../platform/settings/former-names.ts';

/** An extension with settings: its `statements` and `setup` receive them checked and completed. */
interface ExtensionDeclaration<Name extends string, Api extends object, Schema extends z.ZodType>
  extends Omit<Extension<Name, Api>, 'statements' | 'setup' | 'resources' | '$adds'> {
  /** The schema of the extension's settings. Make it strict (`z.strictObject`), so that a misspelled setting is an error. */
  settings?: Schema;
  /** The settings as the app wrote them: the argument of the function that creates the extension. */
  options?: z.input<Schema>;
  statements?: readonly string[] | ((settings: z.output<Schema>) => readonly string[]);
  resources?(
    declared: readonly AnyResource[],
    errors: ConfigErrors,
    settings: z.output<Schema>,
  ): readonly AnyResource[];
  setup(host: ExtensionHost, settings: z.output<Schema>): FeatureParts<Api>;
}

/**
 * Declares an extension.
 *
 * @example defineExtension({ name: 'reports', settings: z.strictObject({ perDay: z.number() }), options, setup(host, { perDay }) {} })
 */
export function defineExtension<
  const Name extends string,
  Api extends object,
  Schema extends z.ZodType = z.ZodUndefined,
  UserFields extends Fields = Fields,
>(
  declaration: ExtensionDeclaration<Name, Api, Schema> & { userFields?: (user: AnyResource) => UserFields },
): Extension<Name, Api, { userFields: UserFields }> {
  const { settings: schema, options = {}, statements = [], ...extension } = declaration;
  // Untyped code may leave out some properties; `createApp` reports the missing ones.
  if (schema === undefined) return declaration as Extension<Name, Api, { userFields: UserFields }>;
  const name = camelCase(String(extension.name));
  const { data, error } = parseSettings(schema, applyFormerNames(name, schema, options));
  const settings = data as z.output<Schema>;
  const all = error === undefined && typeof statements === 'function' ? statements(settings) : statements;
  return {
    ...extension,
    statements: typeof all === 'function' ? [] : all,
    // `checkConfig` reports invalid settings.
    resources: (declared, errors) =>
      (error === undefined ? declaration.resources?.(declared, errors, settings) : undefined) ?? declared,
    checkConfig(errors) {
      if (error !== undefined) reportSettingErrors(name, schema, error, errors);
      declaration.checkConfig?.(errors);
    },
    // `createApp` does not call this after `checkConfig` has reported an error, so the settings are valid here.
    setup: (host) => declaration.setup(host, settings),
  };
}
