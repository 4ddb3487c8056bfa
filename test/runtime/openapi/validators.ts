import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { Json } from './contract.ts';

/** The errors that two independent validators find in a document, one per line. */
export async function faultsOf(document: Json): Promise<string[]> {
  const byOne = await new Validator().validate(structuredClone(document));
  const config = await createConfig({
    extends: ['recommended'],
    rules: { 'info-license': 'off', 'tag-description': 'off' },
  });
  const byOther = await lintFromString({ source: JSON.stringify(document), config });
  const first = byOne.valid ? [] : [byOne.errors].flat().map((error) => JSON.stringify(error));
  return [
    ...first,
    ...byOther.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`),
  ];
}
