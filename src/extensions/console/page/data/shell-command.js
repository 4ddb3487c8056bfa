import { hrefOf } from '../router.js';
import { requestParams } from './list/query.js';
import { apiPathOf } from './schema.js';

const AUTHORIZATION = '-H "Authorization: Bearer $TOKEN"';
const JSON_BODY = "-H 'Content-Type: application/json'";

/** Quotes a text for a shell. */
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that reads a list from the app's API. @param {URLSearchParams} params of the page */
export function listCommand(resource, params) {
  const query = requestParams(params);
  query.delete('after');
  return `curl -g ${quote(hrefOf(location.origin + apiPathOf(resource), query))} \\\n  ${AUTHORIZATION}`;
}

/** The command that creates a record, with a placeholder for each required field. */
export function newRecordCommand(resource) {
  const required = resource.fields.filter((field) => field.required && field.default === undefined);
  const example = Object.fromEntries(required.map(({ name, type }) => [name, `<${type}>`]));
  const address = quote(location.origin + apiPathOf(resource));
  return `curl ${address} \\\n  ${AUTHORIZATION} \\\n  ${JSON_BODY} \\\n  -d ${quote(JSON.stringify(example))}`;
}

/** The commands that read, change and delete a record, by action. @param {object} values of the change */
export function recordCommands(resource, id, values) {
  const address = quote(`${location.origin}${apiPathOf(resource)}/${id}`);
  return {
    read: `curl ${address} \\\n  ${AUTHORIZATION}`,
    update: `curl -X PATCH ${address} \\\n  ${AUTHORIZATION} \\\n  ${JSON_BODY} \\\n  -d ${quote(JSON.stringify(values))}`,
    delete: `curl -X DELETE ${address} \\\n  ${AUTHORIZATION}`,
  };
}
