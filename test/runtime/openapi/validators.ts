import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { Json } from './contract.ts';

/** What two validators of different makers find wrong with a document, a line each. */
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
