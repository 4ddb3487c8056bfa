import type { Fields } from '../declare/field.ts';
import { pluralName } from '../declare/naming.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import type { Platform } from '../platform/platform.ts';
import { findFileRules } from '../records/fields/types/file.ts';

/** The first field that holds files, as `resource.field`. */
function findFileField(resources: readonly AnyResource[]): string | undefined {
  for (const { name, fields } of resources)
    for (const [field, { spec }] of Object.entries(fields as Fields))
      if (findFileRules(spec) !== undefined) return `${name}.${field}`;
  return undefined;
}

/**
 * Reports configuration errors of an app with file fields: a resource with the path of uploads, and, in production, a missing storage. A
 * default directory would silently lose files on platforms whose disks do not survive a deployment.
 */
export function checkFiles(
  resources: readonly AnyResource[],
  { nodeEnv }: Pick<Platform['env'], 'nodeEnv'>,
  { files }: Pick<Platform['settings'], 'files'>,
  errors: ConfigErrors,
): void {
  const field = findFileField(resources);
  if (field === undefined) return;
  for (const { name, path = `/${pluralName(name)}` } of resources) {
    if (path === '/files' || path.startsWith('/files/'))
      errors
        .at(`resource "${name}"`)
        .report(
          `the path ${path} belongs to uploads, because ${field} holds files; set the option path to another one`,
        );
  }
  if (nodeEnv === 'production' && files.storage === undefined)
    errors
      .at('settings.files.storage')
      .report(
        `${field} holds files, so production needs a storage that lasts, such as s3({ bucket }) or disk({ directory: '/var/lib/my-app/files' })`,
      );
}
