/** Code that sends the request of a form, without a client. Nothing here depends on a browser. */
import { needsSignIn, type Operation } from '../operations.ts';
import { literal, memberName, parseJson, quoteText } from './code-text.ts';
import type { FormRequest } from './request.ts';

/** Quotes a text for a shell. */
const quoteArgument = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

const formValue = (value: string | File) => (typeof value === 'string' ? value : `@${value.name}`);

/** The command that sends a request. The token is a variable of the shell. */
export function curlSample(operation: Operation, request: FormRequest, origin: string): string {
  const { method, path, headers, json, form = [], file } = request;
  const options = [
    ...(needsSignIn(operation) ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    ...headers.map(([name, value]) => `-H ${quoteArgument(`${name}: ${value}`)}`),
    ...(json === undefined ? [] : [`-d ${quoteArgument(json)}`]),
    ...form.map(([name, value]) => `-F ${quoteArgument(`${name}=${formValue(value)}`)}`),
    ...(file === undefined ? [] : [`--data-binary ${quoteArgument(`@${file.name}`)}`]),
  ];
  const command = method === 'GET' ? 'curl' : `curl -X ${method}`;
  // Without an option, curl reads brackets as ranges.
  const glob = /[[\]{}]/.test(path) ? ' -g' : '';
  return [`${command}${glob} ${quoteArgument(origin + path)}`, ...options].join(' \\\n  ');
}

/** The call of `fetch` that sends a request. */
export function fetchSample(operation: Operation, request: FormRequest, origin: string): string {
  const { method, path, headers, json, form, file } = request;
  const written = [
    ...(needsSignIn(operation) ? ["Authorization: 'Bearer ' + token"] : []),
    ...headers.map(([name, value]) => `${memberName(name)}: ${quoteText(value)}`),
  ];
  const members = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(written.length === 0 ? [] : [`headers: { ${written.join(', ')} }`]),
    ...(json === undefined ? [] : [`body: JSON.stringify(${literal(parseJson(json), '  ')})`]),
    ...(form === undefined ? [] : ['body: form']),
    ...(file === undefined ? [] : ['body: file']),
  ];
  const options = members.length === 0 ? '' : `, {\n${members.map((line) => `  ${line},\n`).join('')}}`;
  const appended = form?.map(
    ([name, value]) => `form.append(${quoteText(name)}, ${typeof value === 'string' ? quoteText(value) : 'file'});\n`,
  );
  const before = appended === undefined ? '' : `const form = new FormData();\n${appended.join('')}`;
  return `${before}const response = await fetch(${quoteText(origin + path)}${options});
const { data } = await response.json();`;
}
