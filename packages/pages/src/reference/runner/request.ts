/** What the form of an operation holds, and the request that it describes. Nothing here depends on a browser. */

import { mediaTypes, type OpenApiDocument, type Parameter, type Schema } from '../document.ts';
import { exampleOf } from '../example.ts';
import type { Operation } from '../operations.ts';
import { texts } from '../texts.ts';

/** The values of a form. Texts are as typed; the body is JSON text, or form fields with files. */
export interface Values {
  path: Record<string, string>;
  query: Record<string, string>;
  header: Record<string, string>;
  /** The media type of the body; undefined without one. */
  type: string | undefined;
  json: string;
  form: Record<string, FormValue>;
  file: File | undefined;
  /** Further headers, one per line. */
  other: string;
}

export type FormValue = string | File | File[] | undefined;

/** A request that a form describes, without credentials. */
export interface FormRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: [name: string, value: string][];
  json: string | undefined;
  form: [name: string, value: string | File][] | undefined;
  file: File | undefined;
}

const JSON_TYPE = 'application/json';
const HEADER_LINE = /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x20-\x7e]+)$/;
const FORM_TYPE = 'multipart/form-data';

export const isJsonType = (type: string | undefined): boolean => type === JSON_TYPE || type?.endsWith('+json') === true;
export const isFormType = (type: string | undefined): boolean => type === FORM_TYPE;

/** The schema of a body with a media type. */
export const bodySchema = ({ body }: Pick<Operation, 'body'>, type: string | undefined): Schema =>
  body?.content[type ?? '']?.schema ?? {};

/** The first values of the form: what the examples suggest for required parts, and nothing else. */
export function initialValues(operation: Operation, document: OpenApiDocument): Values {
  const [type] = mediaTypes(operation.body);
  const body = isJsonType(type)
    ? exampleOf(bodySchema(operation, type), document, 'input', { onlyRequired: true })
    : {};
  const isEmpty = operation.body?.required === false && Object.keys(body ?? {}).length === 0;
  return {
    path: {},
    query: {},
    header: {},
    type,
    json: !isJsonType(type) || isEmpty ? '' : JSON.stringify(body, null, 2),
    form: {},
    file: undefined,
    other: '',
  };
}

/** Returns the path of a request with its parameters; parameters without a value stay as they are. */
function fillPath(path: string, values: Values['path']): string {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]?.trim() ?? '';
    return value === '' ? whole : encodeURIComponent(value);
  });
}

function queryText(query: Values['query']): string {
  const params = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ''));
  return params.toString().replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',');
}

const linesOf = (text = '') => text.split('\n').filter((line) => line.trim() !== '');

function checkParameter({ name, in: place, required }: Parameter, values: Values): string | undefined {
  const value = (values[place][name] ?? '').trim();
  // The browser would resolve these segments, and send the request to another route.
  if (place === 'path' && /^\.{1,2}$/.test(value)) return texts.request.errors.dots;
  return required && value === '' ? texts.request.errors.required : undefined;
}

/** Returns an error for each part of the form that keeps the request from being sent. */
export function checkValues(operation: Operation, values: Values): Record<string, string> {
  const errors: Record<string, string> = {};
  for (const parameter of operation.parameters) {
    const error = checkParameter(parameter, values);
    if (error !== undefined) errors[`${parameter.in}.${parameter.name}`] = error;
  }
  const wrong = linesOf(values.other).find((line) => !HEADER_LINE.test(line.trim()));
  if (wrong !== undefined) errors.other = texts.request.errors.header(wrong.trim());
  if (isJsonType(values.type) && values.json.trim() !== '') {
    try {
      JSON.parse(values.json);
    } catch (error) {
      errors.body = texts.request.errors.json(error instanceof Error ? error.message : String(error));
    }
  }
  return errors;
}

function readHeaders({ header, other }: Values): FormRequest['headers'] {
  const others = linesOf(other).flatMap((line): FormRequest['headers'] => {
    const [, name, value] = HEADER_LINE.exec(line.trim()) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
  return [...Object.entries(header).filter(([, value]) => value.trim() !== ''), ...others];
}

function readForm(form: Values['form']): [string, string | File][] {
  return Object.entries(form).flatMap(([name, value]) =>
    [value].flat().flatMap((one): [string, string | File][] => (one === undefined || one === '' ? [] : [[name, one]])),
  );
}

/** Returns the request that the form describes. */
export function buildRequest(operation: Operation, values: Values): FormRequest {
  const query = queryText(values.query);
  const path = fillPath(operation.path, values.path) + (query === '' ? '' : `?${query}`);
  const headers = readHeaders(values);
  const base = { method: operation.method, path, headers, json: undefined, form: undefined, file: undefined };
  const { type, json, form, file } = values;
  if (operation.body === undefined || type === undefined) return base;
  if (isFormType(type)) return { ...base, form: readForm(form) };
  if (!isJsonType(type)) {
    // With a wildcard, the browser names the type of the file.
    return { ...base, file, headers: type.includes('*') ? headers : [...headers, ['Content-Type', type]] };
  }
  return json.trim() === '' ? base : { ...base, json, headers: [...headers, ['Content-Type', JSON_TYPE]] };
}
