import { hrefOf } from '../router.ts';
import type { ResourceInfo } from './app-info.ts';
import { requestParams } from './list/query.ts';
import { apiPathOf } from './schema.ts';

const AUTHORIZATION = '-H "Authorization: Bearer $TOKEN"';
const JSON_BODY = "-H 'Content-Type: application/json'";

/** Quotes a text for a shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that reads a list from the app's API. @param params of the page */
export function listCommand(resource: ResourceInfo, params: URLSearchParams): string {
  const query = requestParams(params);
  query.delete('after');
  return `curl -g ${quote(hrefOf(location.origin + apiPathOf(resource), query))} \\\n  ${AUTHORIZATION}`;
}

/** The command that creates a record, with a placeholder for each required field. */
export function newRecordCommand(resource: ResourceInfo): string {
  const required = resource.fields.filter((field) => field.required && field.default === undefined);
  const example = Object.fromEntries(required.map(({ name, type }) => [name, `<${type}>`]));
  const address = quote(location.origin + apiPathOf(resource));
  return `curl ${address} \\\n  ${AUTHORIZATION} \\\n  ${JSON_BODY} \\\n  -d ${quote(JSON.stringify(example))}`;
}

/** The commands that read, change and delete a record, by action. @param values of the change */
export function recordCommands(resource: ResourceInfo, id: string, values: Readonly<Record<string, unknown>>) {
  const address = quote(`${location.origin}${apiPathOf(resource)}/${id}`);
  return {
    read: `curl ${address} \\\n  ${AUTHORIZATION}`,
    update: `curl -X PATCH ${address} \\\n  ${AUTHORIZATION} \\\n  ${JSON_BODY} \\\n  -d ${quote(JSON.stringify(values))}`,
    delete: `curl -X DELETE ${address} \\\n  ${AUTHORIZATION}`,
  };
}
