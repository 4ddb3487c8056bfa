import type { Host, StoredRecord } from '../../declare/host.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { CannotGenerateError, generateMissingValues } from './generate-value.ts';

type Values = Readonly<Record<string, unknown>>;

/** Creates records of an app, with valid values for the fields that a test leaves out. */
export interface RecordFactory {
  /** @throws Error naming the field if no valid value can be generated */
  create(resource: string, values?: Values): Promise<StoredRecord>;
}

/** Explains which of the generated values the app refuses. Returns undefined if the test's own values are the cause. */
function explainRefusal(resource: string, error: unknown, generated: Values): Error | undefined {
  if (!(error instanceof ApiError) || error.code !== 'VALIDATION_ERROR') return undefined;
  const refused = Object.entries(error.details ?? {}).filter(([path]) => path.split('.')[0]! in generated);
  if (refused.length === 0) return undefined;
  const lines = refused.map(([path, message]) => {
    const value = JSON.stringify(generated[path.split('.')[0]!]);
    return `  - ${path}: the generated value ${value} was refused: ${message}`;
  });
  const names = [...new Set(refused.map(([path]) => path.split('.')[0]!))];
  return new Error(
    `create('${resource}') could not generate valid values:\n${lines.join('\n')}\nPass them: create('${resource}', { ${names.join(': …, ')}: … })`,
    { cause: error },
  );
}

/** Creates the factory of an app's records. */
export function createRecordFactory({ resources, service }: Pick<Host, 'resources' | 'service'>): RecordFactory {
  let sequence = 0;

  /** @param path the resources whose records are being created, from the outermost one */
  async function create(name: string, given: Values, path: readonly string[]): Promise<StoredRecord> {
    const gateway = resources.find((one) => one.name === name);
    if (gateway === undefined) {
      const names = resources.map((one) => one.name);
      throw new Error(`Unknown resource "${name}"${suggestKnownNames(name, 'resources', names)}`);
    }
    if (path.includes(name))
      throw new Error(
        `create('${path[0]}') needs an endless chain of records: ${[...path, name].join(' → ')}. Pass the id of one of the references.`,
      );
    sequence += 1;
    const createTarget = async (target: string) => (await create(target, {}, [...path, name])).id;
    let generated: Values;
    try {
      generated = await generateMissingValues(gateway.declaration.fields, given, { sequence, createTarget });
    } catch (error) {
      if (!(error instanceof CannotGenerateError)) throw error;
      throw new Error(`create('${name}') could not generate a value: ${error.message}. Pass a value for the field.`);
    }
    try {
      return (await service(name).create({ ...generated, ...given })) as StoredRecord;
    } catch (error) {
      throw explainRefusal(name, error, generated) ?? error;
    }
  }

  return { create: (resource, values = {}) => create(resource, values, []) };
}
